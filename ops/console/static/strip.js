// The window of a share partition as a strip: colour by state, width by count. One stop for the keyboard; arrows go
// from range to range, and what a range is stands below, for the pointer and for screen readers alike.

import { h, svg, text } from "/dom.js";
import { age, count, plural } from "/format.js";

const WIDTH = 1000;
const HEIGHT = 10;
const MOST_DRAWN = 400;
const MOST_PARTED = 60;
const JUMP = 10;

export function strip({ title, href = null, large = false, select = () => {} }) {
  const marks = svg("g");
  const cursor = svg("rect", { class: "cursor", y: 0, height: HEIGHT, width: 0, x: 0 });
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    marks,
    cursor,
  );
  const band = h(
    "div",
    { class: "band", role: "slider", tabindex: "0", "aria-label": `Window of ${title}`, "aria-orientation": "horizontal" },
    picture,
  );
  const [summary, first, last, about] = [h("span"), h("span"), h("span"), h("p", { class: "about" })];
  const full = h("p", { class: "full", hidden: true });
  const element = h(
    "div",
    { class: large ? "strip large" : "strip" },
    h("div", { class: "head" }, href ? h("a", { href }, title) : h("strong", {}, title), summary),
    full,
    band,
    h("div", { class: "ends" }, first, last),
    about,
  );
  let data = null;
  let chosen = 0;
  let pointed = false;
  let drawn = "";

  function update(found) {
    const offset = data?.ranges[chosen]?.first;
    data = { ...found, heardAt: performance.now(), ...extent(found) };
    chosen = Math.max(0, offset === undefined ? 0 : data.ranges.findLastIndex((each) => each.first <= offset));
    const now = JSON.stringify(data.ranges.map((each) => [each.first, each.last, each.state]));
    if (now !== drawn) {
      marks.replaceChildren(...shapes(data));
      marks.setAttribute("class", data.ranges.length <= MOST_PARTED ? "parted" : "");
    }
    drawn = now;
    text(summary, summaryOf(data));
    text(full, whyFull(data));
    full.hidden = full.textContent === "";
    text(first, count(data.from));
    text(last, count(data.to));
    show();
  }

  function show() {
    const range = data?.ranges[chosen];
    band.setAttribute("aria-valuemin", 0);
    band.setAttribute("aria-valuemax", Math.max(0, (data?.ranges.length ?? 1) - 1));
    band.setAttribute("aria-valuenow", chosen);
    band.setAttribute("aria-valuetext", range ? describe(range, data) : "nothing in flight");
    const seen = pointed || document.activeElement === band;
    text(about, range && seen ? describe(range, data) : "");
    if (!range || !seen) {
      cursor.setAttribute("width", 0);
      return;
    }
    const scale = WIDTH / Math.max(1, data.to - data.from);
    cursor.setAttribute("x", (range.first - data.from) * scale);
    cursor.setAttribute("width", Math.max(3, (range.last - range.first + 1) * scale));
  }

  band.addEventListener("pointermove", (event) => {
    if (!data?.ranges.length) return;
    const box = band.getBoundingClientRect();
    const offset = data.from + ((event.clientX - box.left) / box.width) * (data.to - data.from);
    chosen = Math.max(0, data.ranges.findLastIndex((each) => each.first <= offset));
    pointed = true;
    show();
  });
  band.addEventListener("pointerleave", () => {
    pointed = false;
    show();
  });
  band.addEventListener("focus", show);
  band.addEventListener("blur", show);
  band.addEventListener("click", () => data?.ranges[chosen] && select(data.ranges[chosen]));
  band.addEventListener("keydown", (event) => {
    if (!data?.ranges.length) return;
    if (event.key === "Enter") {
      select(data.ranges[chosen]);
      return;
    }
    const end = data.ranges.length - 1;
    const to = {
      ArrowLeft: chosen - 1,
      ArrowDown: chosen - 1,
      ArrowRight: chosen + 1,
      ArrowUp: chosen + 1,
      PageDown: chosen - JUMP,
      PageUp: chosen + JUMP,
      Home: 0,
      End: end,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    chosen = Math.min(end, Math.max(0, to));
    show();
  });
  return { element, update };
}

function extent(found) {
  const from = found.ranges[0]?.first ?? found.start_offset ?? 0;
  const to = found.next ?? (found.ranges.at(-1)?.last ?? from - 1) + 1;
  return { from, to: Math.max(from, to) };
}

function summaryOf(data) {
  if (data.why) {
    const open = data.ranges.filter((each) => each.state === "unfinished").reduce((sum, each) => sum + size(each), 0);
    return `${count(open)} unfinished of ${count(data.to - data.from)} written down; lag ${count(data.lag)}`;
  }
  const flying = data.ranges.filter((each) => each.state === "acquired").reduce((sum, each) => sum + size(each), 0);
  const behind = data.high_watermark === null ? 0 : Math.max(0, data.high_watermark - (data.end_offset ?? 0));
  const more = data.next !== null && data.next !== undefined ? ", more behind" : "";
  const window = (data.end_offset ?? data.to) - (data.start_offset ?? data.from); // also where ranges of one member are shown
  return `${count(flying)} acquired of ${count(window)} in the window${more}; ${plural(behind, "record")} behind it`;
}

// Why nothing more is delivered though records are behind the window; "" where it takes more, or that is not known.
function whyFull(data) {
  const flying = (data.end_offset ?? 0) - (data.start_offset ?? 0);
  const behind = (data.high_watermark ?? 0) - (data.end_offset ?? 0);
  if (!data.in_flight_limit || flying < data.in_flight_limit || behind <= 0) return "";
  const limit = `${count(flying)} of ${count(data.in_flight_limit)}, share.partition.max.record.locks`;
  return `The window is full (${limit}): ${plural(behind, "record")} behind it wait for offset ${data.start_offset}${inHand(data)}.`;
}

// Who has the record that a full window waits for; "" where nobody has, or other ranges than the first are shown.
function inHand(data) {
  const range = data.ranges[0];
  if (range?.first !== data.start_offset || !range.member) return "";
  const client = data.members?.[range.member]?.client_id;
  return `, which ${client ? `${range.member} (${client})` : range.member} has`;
}

function size(range) {
  return range.last - range.first + 1;
}

// What a range is, in one sentence.
export function describe(range, data) {
  const now = data.at_ms + (performance.now() - data.heardAt);
  const where = range.first === range.last ? `offset ${range.first}` : `offsets ${range.first} to ${range.last}`;
  const parts = [`${where} (${count(size(range))}): ${range.state}`];
  if (range.member) {
    const client = data.members?.[range.member];
    parts.push(`by ${client?.client_id || range.member}${client?.host ? ` at ${client.host}` : ""}`);
  }
  if (range.deliveries) parts.push(plural(range.deliveries, "attempt"));
  if (range.since_ms) parts.push(`for ${age(now - range.since_ms)}`);
  if (range.until_ms) {
    const left = range.until_ms - now;
    parts.push(range.state === "delayed" ? `comes in ${age(left)}` : left > 0 ? `lock ends in ${age(left)}` : "lock ran out");
  }
  if (range.behind !== null && range.behind !== undefined) parts.push(`behind offset ${range.behind} of its key`);
  if (range.pending) parts.push("being written");
  return parts.join(", ");
}

// One rectangle for each range; of very many, one for each part of the width, in the state that most of it has.
function shapes(data) {
  const scale = WIDTH / Math.max(1, data.to - data.from);
  if (data.ranges.length <= MOST_DRAWN) {
    return data.ranges.map((each) =>
      rectangle((each.first - data.from) * scale, Math.max(1.5, size(each) * scale), each.state),
    );
  }
  const columns = Array.from({ length: MOST_DRAWN }, () => new Map());
  const width = (data.to - data.from) / MOST_DRAWN;
  for (const each of data.ranges) {
    let at = each.first;
    while (at <= each.last) {
      const column = Math.min(MOST_DRAWN - 1, Math.floor((at - data.from) / width));
      const end = Math.max(at, Math.min(each.last, Math.ceil(data.from + (column + 1) * width) - 1));
      columns[column].set(each.state, (columns[column].get(each.state) ?? 0) + end - at + 1);
      at = end + 1;
    }
  }
  return columns.flatMap((states, index) => {
    const [most] = [...states].sort((left, right) => right[1] - left[1]);
    return most ? [rectangle((index * WIDTH) / MOST_DRAWN, WIDTH / MOST_DRAWN, most[0])] : [];
  });
}

function rectangle(x, width, state) {
  return svg("rect", { class: `state-${state}`, x, y: 0, width, height: HEIGHT });
}
