// The states of records, in the order of a record's life, with what they mean.

import { h } from "/dom.js";

export const STATES = {
  available: "available",
  delayed: "delayed",
  waiting: "waits for its key",
  acquired: "acquired",
  acknowledged: "acknowledged",
  archiving: "archiving",
  archived: "archived",
};

export function legend() {
  return h(
    "ul",
    { class: "legend", "aria-label": "States" },
    Object.entries(STATES).map(([state, name]) =>
      h("li", {}, h("span", { class: `swatch state-${state}`, "aria-hidden": "true" }), name),
    ),
  );
}
