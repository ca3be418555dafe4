// Lines over time, as SVG: one or two series, from zero up to the highest value.

import { h, svg, text } from "/dom.js";
import { age, DASH } from "/format.js";
import { FIGURES } from "/state_meanings.js";

const WIDTH = 300;
const HEIGHT = 80;

// `lines`: [{ name, values(history) }], at most two, of the names in FIGURES, which have colours; `show` makes a text of
// a value.
export function chart(title, lines, show) {
  const paths = lines.map((each, index) => svg("path", { class: `line-${index + 1} ${colourOf(each)}` }));
  const base = svg("path", { class: "base", d: `M0 ${HEIGHT - 1}H${WIDTH}` });
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": title },
    base,
    ...paths,
  );
  const now = lines.map((each, index) =>
    h("span", { class: lines.length > 1 ? `key-${index + 1} ${colourOf(each)}` : "", title: FIGURES[each.name] }),
  );
  const [from, highest] = [h("span"), h("span")];
  const element = h(
    "figure",
    { class: "chart" },
    h("figcaption", {}, h("strong", {}, title), h("span", {}, now.flatMap((each) => [each, " "]))),
    picture,
    h("div", { class: "scale" }, from, highest),
  );

  function update(history) {
    const at = history?.at_ms ?? [];
    const series = lines.map((each) => each.values(history ?? { at_ms: [] }));
    const known = series.flat().filter((value) => value !== null && value !== undefined);
    const top = Math.max(0, ...known);
    series.forEach((values, index) => paths[index].setAttribute("d", path(at, values, top)));
    const last = series.map((values) => values.at(-1) ?? null);
    last.forEach((value, index) => {
      text(now[index], lines.length > 1 ? `${lines[index].name} ${show(value)}` : show(value));
    });
    text(from, at.length > 1 ? `${age(at.at(-1) - at[0])} ago` : "since now");
    text(highest, known.length ? `highest ${show(top)}` : DASH);
    const said = last.map((value, index) => `${lines[index].name} ${show(value)}`).join(", ");
    picture.setAttribute("aria-label", `${title}: now ${said}; highest ${known.length ? show(top) : "unknown"}`);
  }

  return { element, update };
}

function colourOf({ name }) {
  if (!(name in FIGURES)) throw new Error(`no colour for ${name}`);
  return `figure-${name.replaceAll(" ", "-")}`;
}

function path(at, values, top) {
  if (at.length < 2) return "";
  const span = at.at(-1) - at[0] || 1;
  let drawn = "";
  let pen = "M";
  values.forEach((value, index) => {
    if (value === null || value === undefined) {
      pen = "M";
      return;
    }
    const x = ((at[index] - at[0]) / span) * WIDTH;
    const y = HEIGHT - 2 - (top ? value / top : 0) * (HEIGHT - 6);
    drawn += `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = "L";
  });
  return drawn;
}

// How fast a total grows, over the last points: a series as long as the history.
export function rateOf(history, name, over = 5) {
  const at = history.at_ms;
  const totals = history[name] ?? [];
  return at.map((now, index) => {
    const before = Math.max(0, index - over);
    const [first, last] = [totals[before], totals[index]];
    if (before === index || first === null || first === undefined || last === null || last === undefined) return null;
    return Math.max(0, ((last - first) * 1000) / (now - at[before] || 1));
  });
}
