// The states of records, in the order of a record's life, with the colours of states.css.

import { h } from "/dom.js";
import { STATES } from "/state_meanings.js";

export { STATES };

const WRITTEN = ["unfinished", "acknowledged", "archiving", "archived"];

// The states that there are; `written`: as a cluster without the records API knows them.
export function statesOf(written) {
  return Object.keys(STATES).filter((state) => (written ? WRITTEN.includes(state) : state !== "unfinished"));
}

export function legend(written = false) {
  return h(
    "ul",
    { class: "legend", "aria-label": "States" },
    statesOf(written).map((state) =>
      h("li", { title: STATES[state] }, h("span", { class: `swatch state-${state}`, "aria-hidden": "true" }), state),
    ),
  );
}
