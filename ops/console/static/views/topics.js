import { field, h, link } from "/dom.js";
import { count } from "/format.js";
import { table } from "/table.js";
import { pager } from "/views/lists.js";

export function topics(parameters) {
  const internal = (go) => {
    const box = h("input", { type: "checkbox", name: "internal" });
    box.checked = parameters.internal === "true";
    box.addEventListener("change", () => go({ internal: box.checked ? "true" : "", page: "" }));
    return field("Internal topics, too", box, "check");
  };
  const controls = pager("topics", parameters, "Name has", [internal]);
  const rows = table(
    "Topics",
    [
      { title: "Topic", name: true, cell: (row) => ({ text: row.topic, href: link("topic", { topic: row.topic }) }) },
      { title: "Partitions", number: true, cell: (row) => count(row.partitions) },
      { title: "Replicas", number: true, wide: true, cell: (row) => row.replicas },
      { title: "Under-replicated", number: true, wide: true, cell: (row) => count(row.under_replicated) },
      { title: "Leaderless", number: true, cell: (row) => count(row.without_leader) },
    ],
    (row) => row.topic,
    "No topic has such a name.",
  );
  return {
    title: "Topics",
    poll: "topics",
    query: { search: parameters.search ?? "", page: parameters.page ?? "", internal: parameters.internal ?? "" },
    element: h("div", {}, controls.form, rows.element, controls.pages),
    update(data) {
      controls.update(data);
      rows.update(data.rows);
    },
  };
}
