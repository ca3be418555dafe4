import { h, link, text, tiles } from "/dom.js";
import { age, bytes, count, lag } from "/format.js";
import { table } from "/table.js";

const groups = (data, ...kinds) => count(kinds.reduce((sum, kind) => sum + (data.groups[kind] ?? 0), 0));

// Slots that a node serves, with those that it is to own and does not serve yet.
const slots = (row) => (row.awaited ? `${count(row.slots)} + ${count(row.awaited)} awaited` : count(row.slots));

export function overview() {
  const figures = tiles([
    ["Brokers", (data) => count(data.brokers.length)],
    ["Topics", (data) => count(data.topics)],
    ["Partitions", (data) => count(data.partitions)],
    ["Without a leader", (data) => count(data.without_leader)],
    ["Share groups", (data) => groups(data, "share")],
    ["Consumer groups", (data) => groups(data, "consumer", "classic")],
  ]);
  const shared = table(
    "Share groups",
    [
      { title: "Group", name: true, cell: (row) => ({ text: row.paused ? `${row.group} (paused)` : row.group, href: link("share-group", { group: row.group }), title: row.error }) },
      { title: "Members", number: true, cell: (row) => count(row.members) },
      { title: "Lag", number: true, cell: lag },
      { title: "Oldest in flight", number: true, cell: (row) => age(row.oldest_age_ms) },
      { title: "Letters", number: true, cell: (row) => count(row.letters) },
    ],
    (row) => row.group,
    "No share group exists.",
  );
  const tooMany = h("p", {}, "There are too many share groups to look at all of them: their list shows them page by page.");
  const cluster = h("p", { class: "mono" });
  const brokers = table(
    "Brokers",
    [
      { title: "Node", cell: (row) => (row.controller ? `${row.node} (controller)` : row.node) },
      { title: "Address", name: true, cell: (row) => [`${row.host}:${row.port}`, row.problem].filter(Boolean).join(": ") },
      { title: "Rack", wide: true, cell: (row) => row.rack },
      { title: "Logs", number: true, cell: (row) => bytes(row.log_bytes) },
      { title: "Free", number: true, cell: (row) => bytes(row.free_bytes) },
    ],
    (row) => row.node,
    "No broker answered.",
  );
  const nodes = table(
    "Nodes",
    [
      { title: "Node", name: true, cell: (row) => row.node },
      { title: "Address", name: true, cell: (row) => row.address },
      { title: "Slots", number: true, cell: (row) => slots(row) },
      { title: "Owns", long: true, cell: (row) => row.owns },
      { title: "Take-overs", number: true, cell: (row) => count(row.take_overs) },
      { title: "Share partitions", number: true, cell: (row) => count(row.share_partitions) },
      { title: "In flight", number: true, cell: (row) => count(row.in_flight) },
      { title: "Problem", long: true, cell: (row) => row.problem },
    ],
    (row) => row.node,
    "No node answered.",
  );
  const ofNodes = h("div", {}, h("h2", {}, "Nodes"), nodes.element);
  const features = table(
    "Features",
    [
      { title: "Feature", name: true, cell: (row) => row.name },
      { title: "Level", number: true, cell: (row) => row.level },
      { title: "Supported", number: true, cell: (row) => `${row.lowest} to ${row.highest}` },
    ],
    (row) => row.name,
    "This cluster has no features.",
  );
  return {
    title: "Overview",
    poll: "overview",
    element: h(
      "div",
      {},
      figures.element,
      h("h2", {}, "Longest lags"),
      tooMany,
      shared.element,
      ofNodes,
      h("h2", {}, "Cluster"),
      cluster,
      brokers.element,
      h("h2", {}, "Features"),
      features.element,
    ),
    update(data) {
      figures.update(data);
      tooMany.hidden = data.share_groups !== null;
      shared.element.hidden = data.share_groups === null;
      shared.update(data.share_groups ?? []);
      ofNodes.hidden = data.nodes.length === 0;
      nodes.update(data.nodes);
      text(cluster, data.cluster_id);
      brokers.update(data.brokers);
      features.update(data.features);
    },
  };
}
