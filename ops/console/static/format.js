// Numbers, times and ages as people read them. No value is a dash.

export const DASH = "–";

export function count(value) {
  return value === null || value === undefined ? DASH : value.toLocaleString("en");
}

export function rate(value) {
  if (value === null || value === undefined) return DASH;
  return `${value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(1)}/s`;
}

export function bytes(value) {
  if (value === null || value === undefined) return DASH;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let place = 0;
  while (value >= 1024 && place < units.length - 1) {
    value /= 1024;
    place += 1;
  }
  return `${place ? value.toFixed(1) : value} ${units[place]}`;
}

export function age(ms) {
  if (ms === null || ms === undefined) return DASH;
  const sign = ms < 0 ? "-" : "";
  const seconds = Math.abs(ms) / 1000;
  if (seconds < 10) return `${sign}${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${sign}${Math.round(seconds)} s`;
  if (seconds < 7200) return `${sign}${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${sign}${Math.round(seconds / 3600)} h`;
  return `${sign}${Math.round(seconds / 86400)} days`;
}

const LAST_MS = 8.64e15; // JavaScript has no later dates; a record may have any time

export function time(ms) {
  if (ms === null || ms === undefined || ms < 0) return DASH;
  return ms > LAST_MS ? String(ms) : new Date(ms).toISOString().replace("T", " ").replace("Z", "");
}

export function partitions(assignment) {
  return Object.entries(assignment).map(([topic, numbers]) => `${topic}: ${numbers.join(", ")}`).join("; ") || DASH;
}

// The lag of a group, as a cell: with a plus where it lacks partitions whose lag is unknown.
export function lag(row) {
  if (!row.unknown) return { text: count(row.lag) };
  const title = `The lag of ${plural(row.unknown, "partition")} is unknown`;
  return { text: row.lag === null ? DASH : `${count(row.lag)}+`, title };
}

// The state of a share group, and whether nothing is handed out to it.
export function stateOf(group) {
  return group.paused ? `${group.state}, paused` : group.state;
}

export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}
