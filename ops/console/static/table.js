// Tables that change in place: a row stays the same element while its key does, so focus and selection stay, too.

import { h } from "/dom.js";
import { DASH } from "/format.js";

// A column: { title, cell(row), number, wide, long }. A cell is a text, or { text, href, title, swatch, button, press }.
export function table(caption, columns, key, empty) {
  const rows = new Map();
  const body = h("tbody");
  const nothing = h("p", { class: "empty", hidden: true }, empty);
  const head = h("tr", {}, columns.map((each) => h("th", { scope: "col", class: classes(each) }, each.title)));
  const element = h(
    "div",
    { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" },
    h("table", {}, h("caption", {}, caption), h("thead", {}, head), body),
    nothing,
  );

  function update(data) {
    const seen = new Set();
    let before = null;
    for (const row of data) {
      const name = key(row);
      seen.add(name);
      let known = rows.get(name);
      if (!known) {
        known = { element: h("tr", {}, columns.map((each) => h("td", { class: classes(each) }))), shown: [] };
        rows.set(name, known);
      }
      columns.forEach((each, index) => fill(known, index, each.cell(row)));
      const next = before ? before.nextSibling : body.firstChild;
      if (next !== known.element) body.insertBefore(known.element, next);
      before = known.element;
    }
    for (const [name, known] of rows) {
      if (!seen.has(name)) {
        known.element.remove();
        rows.delete(name);
      }
    }
    nothing.hidden = rows.size > 0;
  }

  return { element, update };
}

function classes(column) {
  const names = [column.number && "number", column.wide && "wide", column.long && "long", column.name && "name"];
  return names.filter(Boolean).join(" ");
}

function fill(row, index, value) {
  const cell = value !== null && typeof value === "object" ? value : { text: value };
  const shown = JSON.stringify(cell);
  if (row.shown[index] === shown) {
    if (cell.press) row.element.children[index].firstChild.onclick = cell.press;
    return;
  }
  row.shown[index] = shown;
  row.element.children[index].replaceChildren(...content(cell));
}

function content(cell) {
  const label = cell.text === null || cell.text === undefined || cell.text === "" ? DASH : String(cell.text);
  if (cell.press) {
    const button = h("button", { type: "button", "aria-label": cell.title }, label);
    button.onclick = cell.press;
    return [button];
  }
  const inside = cell.href ? h("a", { href: cell.href, title: cell.title }, label) : h("span", { title: cell.title }, label);
  return cell.swatch ? [h("span", { class: `swatch state-${cell.swatch}`, "aria-hidden": "true" }), inside] : [inside];
}
