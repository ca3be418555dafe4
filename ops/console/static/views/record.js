import { get } from "/api.js";
import { h, link } from "/dom.js";
import { bytes, plural, time } from "/format.js";
import { inLines, isStructure } from "/json.js";
import { table } from "/table.js";

export function record(parameters) {
  const { topic = "", partition = "0", offset = "0" } = parameters;
  const element = h("div", {}, h("p", { class: "empty waiting" }, "Reading …"));
  return {
    title: `${topic}-${partition}: record ${offset}`,
    part: "topics",
    element,
    async begin() {
      try {
        element.replaceChildren(...shown(await get("record", { topic, partition, offset })));
      } catch (error) {
        element.replaceChildren(h("p", { class: "error", role: "alert" }, error.message));
      }
      element.append(h("p", {}, h("a", { href: link("topic", { topic }) }, `Topic ${topic}`)));
    },
  };
}

function shown(found) {
  return [
    h("p", {}, `Time ${time(found.timestamp)} UTC`),
    ...sentBack(found.sent_back),
    h("h2", {}, "Key"),
    value("Key", found.key),
    h("h2", {}, "Value"),
    value("Value", found.value),
    h("h2", {}, "Headers"),
    ...headers(found),
  ];
}

// The headers of a record: a table, and how many there are beyond those it has.
export function headers(found) {
  const rows = table(
    "Headers",
    [
      { title: "Name", name: true, cell: (row) => row.name },
      { title: "Value", long: true, cell: (row) => shortened(row.value) },
    ],
    (row) => row.place,
    "It has no headers.",
  );
  rows.update(found.headers.map((each, place) => ({ ...each, place })));
  const left = found.headers_total - found.headers.length;
  return [rows.element, ...(left ? [h("p", {}, `${plural(left, "header")} more`)] : [])];
}

// Of a record that a redrive made of a letter: which letter, how often, where it died.
function sentBack(said) {
  if (said === null) return [];
  const letter = link("record", { topic: said.queue, partition: said.partition, offset: said.offset });
  const from = h("a", { href: letter, title: "The letter" }, said.text[0].toUpperCase() + said.text.slice(1));
  const died = said.group === null ? "" : `; it died in the share group ${said.group}`;
  return [h("p", { class: "sent-back" }, from, died, said.name === null ? "" : `; redrive ${said.name}`)];
}

// A key or a value: its size, how it is shown, and itself.
export function value(name, data) {
  if (data === null) return h("p", {}, "null");
  const json = data.encoding === "utf-8" && isStructure(data.text);
  const attributes = { class: "value", role: "region", "aria-label": name, tabindex: "0" };
  const shown = h("pre", attributes, json ? inLines(data.text) : data.text);
  const size = data.shown < data.size ? `The first ${bytes(data.shown)} of ${bytes(data.size)}` : bytes(data.size);
  return h("div", {}, h("p", {}, `${size}, as ${json ? "JSON" : data.encoding}`), shown);
}

// A key or a value in a table.
export function shortened(data) {
  if (data === null) return "null";
  return data.text + (data.shown < data.size ? " …" : "");
}
