import { get } from "/api.js";
import { h, link } from "/dom.js";
import { bytes, time } from "/format.js";
import { table } from "/table.js";

export function record(parameters) {
  const { topic = "", partition = "0", offset = "0" } = parameters;
  const element = h("div", {}, h("p", { class: "empty" }, "Reading …"));
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
  const headers = table(
    "Headers",
    [
      { title: "Name", name: true, cell: (row) => row.name },
      { title: "Value", long: true, cell: (row) => (row.value === null ? "null" : row.value.text) },
    ],
    (row) => row.place,
    "It has no headers.",
  );
  headers.update(found.headers.map((each, place) => ({ ...each, place })));
  return [
    h("p", {}, `Time ${time(found.timestamp)} UTC`),
    h("h2", {}, "Key"),
    value(found.key),
    h("h2", {}, "Value"),
    value(found.value),
    h("h2", {}, "Headers"),
    headers.element,
  ];
}

function value(data) {
  if (data === null) return h("p", {}, "null");
  return h("div", {}, h("p", {}, `${bytes(data.size)}, as ${data.encoding}`), h("pre", { class: "value", tabindex: "0" }, pretty(data)));
}

function pretty(data) {
  if (data.encoding !== "utf-8" || !/^\s*[[{]/.test(data.text)) return data.text;
  try {
    return JSON.stringify(JSON.parse(data.text), null, 2);
  } catch {
    return data.text;
  }
}
