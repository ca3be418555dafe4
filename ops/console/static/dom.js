// Elements without a framework. Texts are always text: nothing that a cluster says is ever read as HTML.

import { queryOf } from "/cluster.js";

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export function svg(tag, properties = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Changes an element's text only when it is another: selections and screen readers are left alone.
export function text(element, value) {
  if (element.textContent !== String(value)) element.textContent = value;
}

export function link(view, parameters = {}) {
  const query = queryOf(parameters);
  return `#/${view}${query.size ? `?${query}` : ""}`;
}

export function tiles(pairs) {
  const values = pairs.map(() => h("dd"));
  const list = h("dl", { class: "tiles" }, pairs.map(([name], index) => h("div", {}, h("dt", {}, name), values[index])));
  return { element: list, update: (data) => pairs.forEach(([, read], index) => fillTile(values[index], read(data))) };
}

// What is shown is a text, or { text, title }.
function fillTile(tile, value) {
  const shown = value !== null && typeof value === "object" ? value : { text: value };
  text(tile, shown.text);
  tile.title = shown.title ?? "";
}

export function field(label, input, className = "") {
  return h("label", { class: className }, className === "check" ? [input, ` ${label}`] : [label, input]);
}
