import { chart, rateOf } from "/chart.js";
import { h, link, tiles } from "/dom.js";
import { count, lag, partitions as assigned, rate } from "/format.js";
import { table } from "/table.js";
import { groupActions } from "/views/group_actions.js";
import { pager } from "/views/lists.js";

export function consumerGroups(parameters) {
  const controls = pager("consumer-groups", parameters, "Name has");
  const rows = table(
    "Consumer groups",
    [
      { title: "Group", name: true, cell: (row) => ({ text: row.group, href: link("consumer-group", { group: row.group }), title: row.error }) },
      { title: "State", cell: (row) => row.state },
      { title: "Protocol", wide: true, cell: (row) => row.kind },
      { title: "Members", number: true, cell: (row) => count(row.members) },
      { title: "Partitions", number: true, wide: true, cell: (row) => count(row.partitions) },
      { title: "Lag", number: true, cell: lag },
    ],
    (row) => row.group,
    "No consumer group has such a name.",
  );
  return {
    title: "Consumer groups",
    poll: "consumer-groups",
    query: { search: parameters.search ?? "", page: parameters.page ?? "" },
    element: h("div", {}, controls.form, rows.element, controls.pages),
    update(data) {
      controls.update(data);
      rows.update(data.rows);
    },
  };
}

export function consumerGroup(parameters, { session, again }) {
  const name = parameters.group ?? "";
  const figures = tiles([
    ["State", (data) => data.state],
    ["Protocol", (data) => data.kind],
    ["Members", (data) => count(data.total_members)],
    ["Lag", lag],
    ["Assignor", (data) => data.assignor],
  ]);
  const charts = [
    chart("Lag", [{ name: "lag", values: (history) => history.lag ?? [] }], count),
    chart(
      "Records a second",
      [
        { name: "written", values: (history) => rateOf(history, "end") },
        { name: "finished", values: (history) => rateOf(history, "done") },
      ],
      rate,
    ),
  ];
  const members = table(
    "Members",
    [
      { title: "Client", name: true, cell: (row) => row.client },
      { title: "Host", cell: (row) => row.host.replace(/^\//, "") },
      { title: "Partitions", long: true, cell: (row) => assigned(row.assignment) },
      { title: "Instance", wide: true, cell: (row) => row.instance },
      { title: "Member", wide: true, long: true, cell: (row) => row.member },
    ],
    (row) => row.member,
    "The group has no members.",
  );
  const rows = table(
    "Partitions",
    [
      { title: "Partition", name: true, cell: (row) => ({ text: `${row.topic}-${row.partition}`, href: link("topic", { topic: row.topic }) }) },
      { title: "Offset", number: true, cell: (row) => count(row.offset) },
      { title: "End", number: true, wide: true, cell: (row) => count(row.end) },
      { title: "Lag", number: true, cell: (row) => count(row.lag) },
      { title: "Member", wide: true, long: true, cell: (row) => row.member },
    ],
    (row) => `${row.topic}:${row.partition}`,
    "The group has committed nothing.",
  );
  return {
    title: `Consumer group ${name}`,
    part: "consumer-groups",
    poll: "consumer-group",
    query: { group: name },
    element: h(
      "div",
      {},
      figures.element,
      h("h2", {}, "Over time"),
      h("div", { class: "charts" }, charts.map((each) => each.element)),
      h("h2", {}, "Members"),
      members.element,
      h("h2", {}, "Partitions"),
      rows.element,
      groupActions("consumer-group", name, session, again),
    ),
    update(data, history) {
      figures.update(data);
      charts.forEach((each) => each.update(history));
      members.update(data.members);
      rows.update(data.partitions);
    },
  };
}
