import { get, post } from "/api.js";
import { change } from "/dialogs.js";
import { field, h, link, text } from "/dom.js";
import { count, plural, time } from "/format.js";
import { table } from "/table.js";
import { needsToken } from "/views/group_actions.js";
import { headers, shortened, value } from "/views/record.js";

export function deadLetters(_, { session, again }) {
  const queues = table(
    "Queues",
    [
      { title: "Queue", name: true, cell: (row) => ({ text: row.topic, href: row.exists ? link("letters", { queue: row.topic }) : null }) },
      { title: "Letters", number: true, cell: (row) => count(row.letters) },
      { title: "Groups", long: true, cell: (row) => row.groups.join(", ") },
      { title: "Enabled", cell: (row) => (row.enabled ? "yes" : "no") },
    ],
    (row) => row.topic,
    "No topic is a dead-letter queue.",
  );
  const problem = h("p", { class: "error", role: "alert" });
  const cancel = async (name) => {
    problem.textContent = "";
    try {
      await post("redrive/cancel", { name });
      again();
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  const redrives = table(
    "Redrives",
    [
      { title: "Redrive", name: true, cell: (row) => row.name },
      { title: "State", cell: (row) => row.state },
      { title: "Queue", cell: (row) => row.queue },
      { title: "To", wide: true, cell: (row) => row.target },
      { title: "Left", number: true, cell: (row) => count(row.left) },
      { title: "Others", long: true, cell: (row) => Object.entries(row.counts).map(([what, number]) => `${what} ${number}`).join(", ") },
      { title: "Trouble", wide: true, long: true, cell: (row) => row.trouble },
      ...(session.may_change
        ? [{ title: "End it", cell: (row) => (row.state === "RUNNING" ? { text: "Cancel", title: `Cancel redrive ${row.name}`, press: () => cancel(row.name) } : "") }]
        : []),
    ],
    (row) => row.name,
    "Nothing was sent back yet.",
  );
  const none = h("p", {}, "This cluster cannot send letters back: redrives are shareq's own.");
  return {
    title: "Dead letters",
    poll: "dead-letters",
    element: h("div", {}, queues.element, h("h2", {}, "Redrives"), problem, none, redrives.element),
    update(data) {
      queues.update(data.queues);
      none.hidden = data.redrives !== null;
      redrives.element.hidden = data.redrives === null;
      redrives.update(data.redrives ?? []);
    },
  };
}

export function letters(parameters, { session }) {
  const queue = parameters.queue ?? "";
  const from = h("input", { type: "text", value: "earliest", name: "from" });
  const group = h("input", { type: "search", name: "group" });
  const reason = h("input", { type: "search", name: "reason" });
  const said = h("p", { role: "status" });
  const problem = h("p", { class: "error", role: "alert" });
  const more = h("button", { type: "button", hidden: true }, "Search on");
  const detail = h("section", { "aria-label": "Letter", tabindex: "-1", hidden: true });
  const rows = table(
    "Letters",
    [
      { title: "Letter", cell: (row) => ({ text: `${row.partition}:${row.offset}`, title: "Show this letter", press: () => showLetter(detail, row) }) },
      { title: "Died (UTC)", wide: true, cell: (row) => time(row.letter.died_ms ?? row.timestamp) },
      { title: "Record", name: true, cell: (row) => sourceOf(row) },
      { title: "Group", name: true, cell: (row) => row.letter.group },
      { title: "Value", wide: true, long: true, cell: (row) => shortened(row.value) },
      { title: "Attempts", number: true, cell: (row) => count(row.letter.deliveries) },
      { title: "Sent back", cell: (row) => (row.sent ? "yes" : "") },
      { title: "Why", long: true, cell: (row) => [row.letter.reason, row.letter.error].filter(Boolean).join(" ") || null },
      ...(session.may_change
        ? [{ title: "Send back", cell: (row) => ({ text: "Redrive …", title: `Redrive letter ${row.partition}:${row.offset}`, press: () => redrive(queue, said, row) }) }]
        : []),
    ],
    (row) => `${row.partition}:${row.offset}`,
    "No letter was found.",
  );
  let following = "";

  async function search(on) {
    problem.textContent = "";
    text(said, "Reading …");
    try {
      const query = { queue, from: from.value.trim(), group: group.value, reason: reason.value };
      const found = await get("letters", { ...query, following: on ? following : "" });
      rows.update(found.letters);
      following = found.following;
      more.hidden = found.left === 0;
      text(said, `${plural(found.letters.length, "letter")} of ${count(found.scanned)} looked at`);
    } catch (error) {
      text(said, "");
      problem.textContent = error.message;
    }
  }

  const form = h(
    "form",
    { class: "fields", role: "search", "aria-label": "Letters" },
    field("From (offset, time, age)", from),
    field("Group has", group),
    field("Reason has", reason),
    h("button", { type: "submit", class: "main" }, "Show"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    search(false);
  });
  more.addEventListener("click", () => search(true));
  const all = h("button", { type: "button" }, "Send letters back …");
  all.addEventListener("click", () => redrive(queue, said, null));
  return {
    title: `Dead letters of ${queue}`,
    part: "dead-letters",
    element: h(
      "div",
      {},
      session.may_change ? h("div", { class: "actions" }, all) : needsToken("send letters back", "shareq dlq redrive", session),
      form,
      problem,
      said,
      rows.element,
      h("div", { class: "actions" }, more),
      detail,
    ),
    begin: () => search(false),
  };
}

function sourceOf(row) {
  const { topic, partition, offset } = row.letter;
  return topic === null ? null : { text: `${topic}-${partition}:${offset}`, href: link("record", { topic, partition, offset }) };
}

function showLetter(detail, row) {
  detail.replaceChildren(
    h("h2", {}, `Letter ${row.partition}:${row.offset}`),
    ...headers(row),
    h("h3", {}, "Value"),
    row.value === null ? h("p", {}, "null: the letter has no copy of the record") : value("Value", row.value),
  );
  detail.hidden = false;
  detail.focus();
}

async function redrive(queue, said, row) {
  const name = h("input", { type: "text", required: true, value: `console-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}` });
  const perSecond = h("input", { type: "number", min: "1", max: "1000000", value: "100" });
  const group = h("input", { type: "text", value: row?.letter.group ?? "" });
  const toGroup = h("input", { type: "checkbox" });
  const done = await change({
    title: row ? `Send letter ${row.partition}:${row.offset} back` : `Send letters of ${queue} back`,
    text: "Each record goes back to the topic it is from, once; letters stay in the queue.",
    path: "redrive",
    body: row ? { queue, partition: row.partition, offset: row.offset } : { queue },
    inputs: [
      ["Name of the redrive", name, (input) => ({ name: input.value.trim() })],
      ["Only letters of this group (empty: all)", group, (input) => (input.value.trim() ? { group: input.value.trim() } : {})],
      ["Only this group gets them", toGroup, (input) => ({ to_group: input.checked })],
      ["At most so many a second", perSecond, (input) => ({ per_second: Number(input.value) })],
    ],
    verb: "Send back",
  });
  if (done) text(said, `Redrive ${done.redrive} has begun: Dead letters shows how far it is.`);
}
