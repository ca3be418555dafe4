// What lists have in common: a search, pages, and the address that keeps both.

import { field, h, link, text } from "/dom.js";
import { count } from "/format.js";

const SIZE = 50;

// The controls above and below a list. The address changes, and with it the view.
export function pager(view, parameters, label, more = []) {
  const input = h("input", { type: "search", value: parameters.search ?? "", name: "search", maxlength: "200" });
  const page = Number(parameters.page ?? 0);
  const go = (changed) => {
    location.hash = link(view, { ...parameters, ...changed }).slice(1);
  };
  const form = h("form", { class: "fields", role: "search" }, field(label, input), more.map((each) => each(go)));
  form.append(h("button", { type: "submit" }, "Search"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go({ search: input.value.trim(), page: "" });
  });
  const before = h("button", { type: "button" }, "Previous");
  const after = h("button", { type: "button" }, "Next");
  before.addEventListener("click", () => go({ page: page - 1 || "" }));
  after.addEventListener("click", () => go({ page: page + 1 }));
  const where = h("span");
  const without = h("span", { class: "error" });
  const pages = h("div", { class: "pages" }, before, where, after, without);

  // Missing: why some brokers did not list what they have.
  function update({ total, missing = [] }) {
    text(without, missing.length ? `Some are missing: ${missing.join("; ")}` : "");
    const first = page * SIZE;
    text(where, total ? `${count(first + 1)} to ${count(Math.min(total, first + SIZE))} of ${count(total)}` : "none");
    before.disabled = page === 0;
    after.disabled = first + SIZE >= total;
    before.hidden = after.hidden = total <= SIZE && page === 0;
  }

  return { form, pages, update };
}
