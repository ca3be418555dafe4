import { chart, rateOf } from "/chart.js";
import { h, link, text, tiles } from "/dom.js";
import { age, count, lag, partitions as assigned, rate, stateOf } from "/format.js";
import { legend } from "/states.js";
import { strip } from "/strip.js";
import { table } from "/table.js";
import { groupActions, pauseAction } from "/views/group_actions.js";

export function shareGroup(parameters, { session, again }) {
  const name = parameters.group ?? "";
  const page = Number(parameters.page ?? 0);
  const figures = tiles([
    ["State", stateOf],
    ["Members", (data) => count(data.total_members)],
    ["Lag", lag],
    ["In flight", (data) => count(data.in_flight)],
    ["Acquired", (data) => count(data.held)],
    ["Oldest in flight", (data) => age(data.oldest_age_ms)],
    ["Epoch", (data) => count(data.epoch)],
  ]);
  const line = (title, from) => ({ name: title, values: (history) => history[from] ?? [] });
  const speed = (title, from) => ({ name: title, values: (history) => rateOf(history, from) });
  const charts = [
    chart("Lag", [line("lag", "lag")], count),
    chart("Records a second", [speed("written", "end"), speed("finished", "done")], rate),
    chart("In flight", [line("in flight", "in_flight"), line("acquired", "held")], count),
    chart("Deliveries a second", [speed("delivered", "deliveries"), speed("redelivered", "redeliveries")], rate),
  ];
  const members = table(
    "Members",
    [
      { title: "Client", name: true, cell: (row) => row.client },
      { title: "Host", cell: (row) => row.host },
      { title: "Acquired", number: true, cell: (row) => (row.most ? { text: count(row.has), href: heldBy(name, row), title: "What this member has" } : count(row.has)) },
      { title: "Partitions", long: true, cell: (row) => assigned(row.assignment) },
      { title: "Member", wide: true, long: true, cell: (row) => row.member },
    ],
    (row) => row.member,
    "The group has no members.",
  );
  const rows = table(
    "Partitions",
    [
      { title: "Partition", name: true, cell: (row) => ({ text: `${row.topic}-${row.partition}`, href: windowOf(name, row), title: row.error }) },
      { title: "Start", number: true, wide: true, cell: (row) => count(row.start) },
      { title: "End", number: true, wide: true, cell: (row) => count(row.end) },
      { title: "Lag", number: true, cell: (row) => count(row.lag) },
      { title: "In flight", number: true, cell: (row) => count(row.in_flight) },
      { title: "Acquired", number: true, wide: true, cell: (row) => count(heldOf(row)) },
      { title: "Oldest", number: true, cell: (row) => age(row.oldest_age_ms) },
      { title: "Redelivered", number: true, wide: true, cell: (row) => count(row.redeliveries) },
    ],
    (row) => `${row.topic}:${row.partition}`,
    "The group has not begun anywhere.",
  );
  const pause = pauseAction(name, session, again);
  const strips = new Map();
  const stripList = h("div", { class: "strips" });
  const about = h("p");
  const go = (to) => {
    location.hash = link("share-group", { group: name, page: to || "" }).slice(1);
  };
  const before = h("button", { type: "button" }, "Previous partitions");
  const after = h("button", { type: "button" }, "Next partitions");
  before.addEventListener("click", () => go(page - 1));
  after.addEventListener("click", () => go(page + 1));
  const pages = h("div", { class: "pages" }, before, after);

  function showStrips(data) {
    const seen = new Set();
    for (const each of data.strips.filter((one) => one.known)) {
      const title = `${each.topic}-${each.partition}`;
      seen.add(title);
      if (!strips.has(title)) {
        strips.set(title, strip({ title, href: windowOf(name, each) }));
        stripList.append(strips.get(title).element);
      }
      strips.get(title).update(each);
    }
    for (const [title, each] of strips) {
      if (!seen.has(title)) {
        each.element.remove();
        strips.delete(title);
      }
    }
    before.disabled = page === 0;
    after.disabled = (page + 1) * data.strips_each >= data.partitions.length;
    pages.hidden = data.partitions.length <= data.strips_each;
    text(about, note(data));
  }

  return {
    title: `Share group ${name}`,
    part: "share-groups",
    poll: "share-group",
    query: { group: name, page: parameters.page ?? "" },
    element: h(
      "div",
      {},
      figures.element,
      h("h2", {}, "In flight"),
      legend(!session.windows),
      about,
      stripList,
      pages,
      h("h2", {}, "Over time"),
      h("div", { class: "charts" }, charts.map((each) => each.element)),
      h("h2", {}, "Members"),
      members.element,
      h("h2", {}, "Partitions"),
      rows.element,
      pause.element,
      groupActions("share-group", name, session, again),
    ),
    update(data, history) {
      figures.update(data);
      charts.forEach((each) => each.update(history));
      members.update(data.members.map((each) => ({ ...each, has: held(data, each.member), most: mostHeld(data, each.member) })));
      rows.update(data.partitions);
      pause.update(data.paused);
      showStrips(data);
    },
  };
}

function windowOf(group, row) {
  return link("window", { group, topic: row.topic, partition: row.partition });
}

// How many records members have of a partition; null where that is not known.
function heldOf(row) {
  return row.held ? Object.values(row.held).reduce((sum, each) => sum + each, 0) : null;
}

// The partition of which a member has most; null where it has none, or that is not known.
function mostHeld(data, member) {
  const has = (row) => row.held?.[member] ?? 0;
  return data.partitions.reduce((most, row) => (has(row) > (most ? has(most) : 0) ? row : most), null);
}

function heldBy(group, { most, member }) {
  return link("window", { group, topic: most.topic, partition: most.partition, member });
}

// How many records a member has; null where that cannot be known.
function held(data, member) {
  if (!data.windows || data.windows_error) return null;
  return data.partitions.reduce((sum, row) => sum + (row.held?.[member] ?? 0), 0);
}

function note(data) {
  if (data.windows_error) return data.windows_error;
  const whys = [...data.missing, ...data.strips.filter((each) => each.why).map((each) => each.why)];
  return whys[0] ?? "";
}
