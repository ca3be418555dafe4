import { change } from "/dialogs.js";
import { field, h, link, text, tiles } from "/dom.js";
import { count } from "/format.js";
import { table } from "/table.js";
import { recordSearch } from "/views/records.js";

const held = (data) => data.partitions.reduce((sum, row) => sum + ((row.end ?? 0) - (row.start ?? 0)), 0);

export function topic(parameters, { session }) {
  const name = parameters.topic ?? "";
  const figures = tiles([
    ["Partitions", (data) => count(data.total)],
    ["Offsets in its logs", (data) => count(held(data))],
  ]);
  const id = h("p", { class: "mono" });
  const partitions = table(
    "Partitions",
    [
      { title: "Partition", number: true, cell: (row) => row.partition },
      { title: "Start", number: true, cell: (row) => count(row.start) },
      { title: "End", number: true, cell: (row) => count(row.end) },
      { title: "Leader", number: true, cell: (row) => row.leader ?? "none" },
      { title: "Replicas", wide: true, cell: (row) => row.replicas.join(", ") },
      { title: "In sync", wide: true, cell: (row) => row.in_sync.join(", ") },
    ],
    (row) => row.partition,
    "No partition is known.",
  );
  const configs = table(
    "Properties",
    [
      { title: "Property", name: true, cell: (row) => row.name },
      { title: "Value", long: true, cell: (row) => (row.sensitive ? "(secret)" : row.value) },
      { title: "Set by", cell: (row) => row.source },
    ],
    (row) => row.name,
    "None is set for this topic.",
  );
  const all = h("input", { type: "checkbox" });
  const problem = h("p", { class: "error" });
  const search = recordSearch(name);
  let newest = null;
  const showConfigs = () => newest && configs.update(newest.configs.filter((row) => all.checked || row.set_here));
  all.addEventListener("change", showConfigs);
  const remove = h("button", { type: "button", class: "danger" }, "Delete the topic …");
  remove.addEventListener("click", async () => {
    const done = await change({
      title: `Delete topic ${name}`,
      text: "All its records are removed. Nothing brings them back.",
      path: "topic/delete",
      body: { topic: name },
      confirm: name,
      verb: "Delete",
      danger: true,
    });
    if (done) location.hash = link("topics").slice(1);
  });
  return {
    title: `Topic ${name}`,
    part: "topics",
    poll: "topic",
    query: { topic: name },
    element: h(
      "div",
      {},
      figures.element,
      id,
      h("h2", {}, "Records"),
      search.element,
      h("h2", {}, "Partitions"),
      partitions.element,
      h("h2", {}, "Properties"),
      h("div", { class: "fields" }, field("Those with values of the broker, too", all, "check")),
      problem,
      configs.element,
      session.may_change ? h("div", { class: "actions" }, remove) : null,
    ),
    begin: search.begin,
    update(data) {
      newest = data;
      figures.update(data);
      text(id, `id ${data.topic_id}`);
      partitions.update(data.partitions);
      text(problem, data.configs_error ?? "");
      search.partitions(data.partitions.map((row) => row.partition));
      showConfigs();
    },
  };
}
