import { h, link } from "/dom.js";
import { count, lag, stateOf } from "/format.js";
import { table } from "/table.js";
import { pager } from "/views/lists.js";

export function shareGroups(parameters) {
  const controls = pager("share-groups", parameters, "Name has");
  const rows = table(
    "Share groups",
    [
      { title: "Group", name: true, cell: (row) => ({ text: row.group, href: link("share-group", { group: row.group }), title: row.error }) },
      { title: "State", cell: stateOf },
      { title: "Members", number: true, cell: (row) => count(row.members) },
      { title: "Partitions", number: true, wide: true, cell: (row) => count(row.partitions) },
      { title: "Lag", number: true, cell: lag },
    ],
    (row) => row.group,
    "No share group has such a name.",
  );
  return {
    title: "Share groups",
    poll: "share-groups",
    query: { search: parameters.search ?? "", page: parameters.page ?? "" },
    element: h("div", {}, controls.form, rows.element, controls.pages),
    update(data) {
      controls.update(data);
      rows.update(data.rows);
    },
  };
}
