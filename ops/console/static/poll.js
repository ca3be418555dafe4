// One view's data, each second while the page is looked at; slower while something is wrong.

import { get } from "/api.js";

const EVERY_MS = 1000;
const LONGEST_MS = 15000;

export function poll(name, parameters, { update, failed }) {
  const ended = new AbortController();
  let timer = null;
  let failures = 0;
  let asking = false;

  async function ask() {
    timer = null;
    if (document.hidden || asking || ended.signal.aborted) return;
    asking = true;
    try {
      const seen = await get(name, parameters, ended.signal);
      failures = 0;
      if (!ended.signal.aborted) update(seen);
    } catch (error) {
      if (ended.signal.aborted) return;
      failures += 1;
      failed(error);
    } finally {
      asking = false;
    }
    if (!ended.signal.aborted && timer === null) {
      timer = setTimeout(ask, Math.min(EVERY_MS * 2 ** Math.min(failures, 4), LONGEST_MS));
    }
  }

  function shown() {
    if (document.hidden) return;
    clearTimeout(timer);
    ask();
  }

  document.addEventListener("visibilitychange", shown);
  ask();
  return {
    soon: shown,
    stop() {
      ended.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
    },
  };
}
