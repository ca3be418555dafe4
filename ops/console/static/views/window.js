import { field, h, link, text, tiles } from "/dom.js";
import { age, count, plural } from "/format.js";
import { legend, STATES, statesOf } from "/states.js";
import { strip } from "/strip.js";
import { table } from "/table.js";

const MOST_ROWS = 200;

export function windowView(parameters, { session }) {
  const { group = "", topic = "", partition = "0" } = parameters;
  const title = `${topic}-${partition}`;
  const go = (changed) => {
    location.hash = link("window", { ...parameters, ...changed }).slice(1);
  };
  const figures = tiles([
    ["Start offset", (data) => count(data.start_offset)],
    ["High watermark", (data) => count(data.high_watermark)],
    ["Lag", (data) => count(data.lag)],
    ["In flight", (data) => (data.known ? count((data.end_offset ?? 0) - (data.start_offset ?? 0)) : "–")],
    ["Lock", (data) => age(data.lock_ms)],
    ["Attempts, at most", (data) => count(data.delivery_limit)],
  ]);
  const band = strip({ title, large: true, select: (range) => location.assign(recordOf(topic, partition, range.first)) });
  const state = h(
    "select",
    { name: "state" },
    h("option", { value: "" }, "all"),
    statesOf(!session.windows).map((value) => h("option", { value }, value)),
  );
  state.value = parameters.state ?? "";
  const member = h("input", { type: "search", name: "member", value: parameters.member ?? "" });
  const from = h("input", { type: "text", name: "from", value: parameters.from ?? "", inputmode: "numeric" });
  const form = h(
    "form",
    { class: "fields", role: "search", "aria-label": "Ranges" },
    field("State", state),
    field("Member id", member),
    field("From offset", from),
    h("button", { type: "submit" }, "Show"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go({ state: state.value, member: member.value.trim(), from: from.value.trim() });
  });
  let newest = null;
  const rows = table(
    "Ranges",
    [
      { title: "Offsets", name: true, cell: (row) => ({ text: offsets(row), href: recordOf(topic, partition, row.first) }) },
      { title: "Records", number: true, cell: (row) => count(row.last - row.first + 1) },
      { title: "State", cell: (row) => ({ text: row.state, swatch: row.state, title: STATES[row.state] }) },
      { title: "Client", name: true, cell: (row) => client(newest, row, parameters) },
      { title: "Attempts", number: true, cell: (row) => count(row.deliveries) },
      { title: "Since", number: true, cell: (row) => (row.since_ms ? age(newest.at_ms - row.since_ms) : null) },
      { title: "Time left", number: true, cell: (row) => (row.until_ms ? age(row.until_ms - newest.at_ms) : null) },
      { title: "Behind", number: true, wide: true, cell: (row) => row.behind },
      { title: "Member", wide: true, long: true, cell: (row) => row.member },
    ],
    (row) => row.first,
    "Nothing is in flight.",
  );
  const about = h("p");
  const more = h("button", { type: "button", hidden: true }, "Ranges behind these");
  more.addEventListener("click", () => go({ from: String(following(newest)) }));
  const known = [legend(!session.windows), band.element, form, rows.element, h("div", { class: "actions" }, more)];
  return {
    title: `${group}: window of ${title}`,
    part: "share-groups",
    poll: "window",
    query: parameters,
    element: h(
      "div",
      {},
      h("p", {}, h("a", { href: link("share-group", { group }) }, `Share group ${group}`)),
      figures.element,
      about,
      known,
    ),
    update(data) {
      newest = data;
      figures.update(data);
      for (const each of known) each.hidden = !data.known;
      if (!data.known) {
        text(about, data.why);
        return;
      }
      band.update(data);
      const shown = data.ranges.slice(0, MOST_ROWS);
      rows.update(shown);
      more.hidden = following(data) === null;
      const cut = data.ranges.length > shown.length;
      const first = cut ? `The first ${count(shown.length)} of ${plural(data.ranges.length, "range")} are listed.` : "";
      text(about, `${first} ${data.why ?? ""}`.trim());
    },
  };
}

function following(data) {
  return data.ranges.length > MOST_ROWS ? data.ranges[MOST_ROWS].first : data.next;
}

function offsets(row) {
  return row.first === row.last ? `${row.first}` : `${row.first} to ${row.last}`;
}

function recordOf(topic, partition, offset) {
  return link("record", { topic, partition, offset });
}

// A member's client, with a link to what else it has here.
function client(data, row, parameters) {
  if (!row.member) return null;
  const known = data.members?.[row.member];
  const name = known?.client_id ? `${known.client_id}${known.host ? ` at ${known.host}` : ""}` : row.member;
  return { text: name, href: link("window", { ...parameters, member: row.member }), title: "What this member has" };
}
