// The states of records, in the order of a record's life, with the colours of states.css.

import { h } from "/dom.js";
import { STATES } from "/state_meanings.js";

export { STATES };

export function legend() {
  return h(
    "ul",
    { class: "legend", "aria-label": "States" },
    Object.entries(STATES)
      .filter(([state]) => state !== "unfinished")
      .map(([state, meaning]) =>
        h("li", { title: meaning }, h("span", { class: `swatch state-${state}`, "aria-hidden": "true" }), state),
      ),
  );
}
