// The cluster that the page shows, where the console has several: it is in every link, and in every request.

let chosen = "";

export function choose(name) {
  const other = chosen !== name;
  chosen = name;
  return other;
}

// Parameters as a query, without those that say nothing.
export function queryOf(parameters = {}) {
  const all = { cluster: chosen, ...parameters };
  return new URLSearchParams(Object.entries(all).filter(([, value]) => value !== "" && value !== null));
}
