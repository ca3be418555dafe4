// Records of a topic: from a place on, by key and text, a page at a time. A search ends at its bounds, and goes on.

import { get } from "/api.js";
import { field, h, link, text } from "/dom.js";
import { count, plural, time } from "/format.js";
import { table } from "/table.js";
import { shortened } from "/views/record.js";

const times = ({ times, queue }) => `${times === null ? "" : `${times} × `}from ${queue}`;

export function recordSearch(topic) {
  const from = h("input", { type: "text", value: "latest", name: "from", list: "places" });
  const places = h("datalist", { id: "places" }, ["latest", "earliest", "-1h"].map((value) => h("option", { value })));
  const partition = h("select", { name: "partition" }, h("option", { value: "" }, "all"));
  const key = h("input", { type: "search", name: "key", maxlength: "200" });
  const words = h("input", { type: "search", name: "text", maxlength: "200" });
  const said = h("p", { role: "status" });
  const problem = h("p", { class: "error", role: "alert" });
  const more = h("button", { type: "button", hidden: true }, "Search on");
  const rows = table(
    "Records",
    [
      { title: "Partition", number: true, cell: (row) => row.partition },
      {
        title: "Offset",
        number: true,
        cell: (row) => ({ text: row.offset, href: link("record", { topic, partition: row.partition, offset: row.offset }) }),
      },
      { title: "Time (UTC)", wide: true, cell: (row) => time(row.timestamp) },
      { title: "Key", name: true, cell: (row) => shortened(row.key) },
      { title: "Value", long: true, cell: (row) => shortened(row.value) },
      { title: "Sent back", wide: true, cell: (row) => row.sent_back && { text: times(row.sent_back), title: row.sent_back.text } },
    ],
    (row) => `${row.partition}:${row.offset}`,
    "No record was found.",
  );
  let following = "";
  let known = 0;

  async function search(on) {
    problem.textContent = "";
    more.disabled = true;
    text(said, "Searching …");
    const query = { topic, partition: partition.value, from: from.value.trim(), key: key.value, text: words.value };
    try {
      const found = await get("records", { ...query, following: on ? following : "" });
      rows.update(found.records);
      following = found.following;
      more.hidden = found.left === 0;
      const left = found.left ? `; ${plural(found.left, "offset")} left to look at` : "";
      text(said, `${plural(found.records.length, "record")} of ${count(found.scanned)} looked at${left}`);
    } catch (error) {
      text(said, "");
      problem.textContent = error.message;
    } finally {
      more.disabled = false;
    }
  }

  const form = h(
    "form",
    { class: "fields", role: "search", "aria-label": "Records" },
    field("From (offset, time, age)", from),
    places,
    field("Partition", partition),
    field("Key has", key),
    field("Value or header has", words),
    h("button", { type: "submit", class: "main" }, "Show"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    search(false);
  });
  more.addEventListener("click", () => search(true));
  return {
    element: h("div", {}, form, problem, said, rows.element, h("div", { class: "actions" }, more)),
    begin: () => search(false),
    partitions(numbers) {
      if (numbers.length === known) return;
      known = numbers.length;
      const chosen = partition.value;
      partition.replaceChildren(h("option", { value: "" }, "all"), ...numbers.map((each) => h("option", { value: each }, each)));
      partition.value = chosen;
    },
  };
}
