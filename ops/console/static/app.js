// The page: which view the address names, its data, the token, and what is wrong.

import { get, token } from "/api.js";
import { choose } from "/cluster.js";
import { askForToken } from "/dialogs.js";
import { h, link, text } from "/dom.js";
import { poll } from "/poll.js";
import { theme } from "/theme.js";
import { consumerGroup, consumerGroups } from "/views/consumer_groups.js";
import { deadLetters, letters } from "/views/dead_letters.js";
import { overview } from "/views/overview.js";
import { record } from "/views/record.js";
import { shareGroup } from "/views/share_group.js";
import { shareGroups } from "/views/share_groups.js";
import { topic } from "/views/topic.js";
import { topics } from "/views/topics.js";
import { windowView } from "/views/window.js";

const VIEWS = {
  overview,
  topics,
  topic,
  record,
  "share-groups": shareGroups,
  "share-group": shareGroup,
  window: windowView,
  "consumer-groups": consumerGroups,
  "consumer-group": consumerGroup,
  "dead-letters": deadLetters,
  letters,
};
const BAR = [
  ["overview", "Overview"],
  ["topics", "Topics"],
  ["share-groups", "Share groups"],
  ["consumer-groups", "Consumer groups"],
  ["dead-letters", "Dead letters"],
];

const main = document.getElementById("main");
const status = document.getElementById("status");
const clusters = document.getElementById("clusters");
const tokenButton = document.getElementById("token");
let session = null;
let polling = null;
let asking = null;
let shows = 0;

function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { name: VIEWS[path] ? path : "overview", parameters: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

function wrong(message) {
  text(status, message ?? "");
}

async function open() {
  const number = shows;
  const found = await get("session");
  if (number !== shows) return found;
  session = found;
  showClusters();
  tokenButton.hidden = session.read_only;
  text(tokenButton, session.may_change ? "Token: in use" : "Token");
  return session;
}

function showClusters() {
  const one = document.getElementById("cluster");
  const { address } = session.clusters.find((each) => each.name === session.cluster);
  text(one, address);
  one.hidden = session.clusters.length > 1;
  clusters.hidden = !one.hidden;
  clusters.replaceChildren(
    ...session.clusters.map((each) => h("option", { value: each.name, selected: each.name === session.cluster, title: each.address }, each.name)),
  );
}

async function ensureSession() {
  try {
    await open();
    return true;
  } catch (error) {
    wrong(error.message);
    if (error.status !== 401) return false;
    tokenButton.hidden = false;
    asking ??= askForToken(open).finally(() => (asking = null));
    if ((await asking) === null) return false;
    wrong(null);
    return true;
  }
}

// Each call ends those before it: a session that comes after its address was left opens no view.
async function show() {
  const number = (shows += 1);
  polling?.stop();
  polling = null;
  if (choose(place().parameters.cluster ?? "")) {
    session = null;
    main.replaceChildren();
  }
  for (const each of document.querySelectorAll("#views a")) each.href = link(each.dataset.view);
  if (session === null) {
    const opened = await ensureSession();
    if (number !== shows) return;
    if (!opened) {
      setTimeout(() => number === shows && asking === null && show(), 3000);
      return;
    }
  }
  wrong(null);
  const { name, parameters: { cluster, ...parameters } } = place();
  const view = VIEWS[name](parameters, { session, again: () => polling?.soon() });
  for (const each of document.querySelectorAll("#views a")) {
    const here = each.dataset.view === (view.part ?? name);
    if (here) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  main.setAttribute("aria-label", view.title);
  document.title = `${view.title} · shareq console`;
  const waiting = view.poll ? [h("p", { class: "empty waiting" }, "Asking the cluster …")] : [];
  main.replaceChildren(h("h1", {}, view.title), ...waiting, view.element);
  view.element.hidden = waiting.length > 0;
  if (view.poll) polling = poll(view.poll, view.query ?? {}, { update: (seen) => update(view, waiting, seen), failed });
  view.begin?.();
}

function update(view, waiting, seen) {
  const stale = seen.error && seen.made_ms ? ` What is shown is of ${new Date(seen.made_ms).toLocaleTimeString()}.` : "";
  wrong(seen.error ? `${seen.error}.${stale}` : null);
  if (seen.data === null) return;
  for (const each of waiting.splice(0)) each.remove();
  view.element.hidden = false;
  view.update(seen.data, seen.history);
}

function failed(error) {
  wrong(error.message);
  if (error.status === 401) {
    session = null;
    show();
  }
}

document.getElementById("views").append(
  ...BAR.map(([name, label]) => h("li", {}, h("a", { href: link(name), "data-view": name }, label))),
);
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
tokenButton.addEventListener("click", async () => {
  await askForToken(async () => {
    const found = await open();
    if (!found.may_change) throw new Error("the token is wrong");
    return found;
  });
  if (token() === null) await ensureSession();
  show();
});
clusters.addEventListener("change", () => {
  location.hash = link("overview", { cluster: clusters.value }).slice(1);
});
theme(document.getElementById("theme"));
window.addEventListener("hashchange", () => {
  show();
  main.focus({ preventScroll: false });
});
show();
