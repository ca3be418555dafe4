// What may be done to a group: pause it, and without members set it back, delete it. Needs the token.

import { change } from "/dialogs.js";
import { h, link } from "/dom.js";

// What stands where a change would, for who may make none: how it is made.
export function needsToken(what, command, session) {
  const how = session.read_only ? `this console was started without a token file; ${command} does` : `enter the token (above)`;
  return h("p", { class: "hint" }, `To ${what}: ${how}.`);
}

export function groupActions(kind, name, session, again) {
  if (!session.may_change) {
    return needsToken("reset or delete the group", `shareq ${kind === "share-group" ? "share" : "groups"} reset, or delete,`, session);
  }
  const reset = h("button", { type: "button" }, "Reset …");
  const remove = h("button", { type: "button", class: "danger" }, "Delete …");
  reset.addEventListener("click", async () => {
    const done = await change({
      title: `Reset ${name}`,
      text: "The group must have no members. It goes on at the place in all partitions that it has begun, or in those of one topic.",
      path: `${kind}/reset`,
      body: { group: name },
      inputs: [
        ["To (earliest, latest, offset, time, age as -1h)", h("input", { type: "text", value: "earliest", required: true }), (input) => ({ to: input.value.trim() })],
        ["Topic (empty: all)", h("input", { type: "text" }), (input) => (input.value.trim() ? { topic: input.value.trim() } : {})],
      ],
      confirm: name,
      verb: "Reset",
      danger: true,
    });
    if (done) again();
  });
  remove.addEventListener("click", async () => {
    const done = await change({
      title: `Delete ${name}`,
      text: "The group must have no members. All its offsets are removed.",
      path: `${kind}/delete`,
      body: { group: name },
      confirm: name,
      verb: "Delete",
      danger: true,
    });
    if (done) location.hash = link(`${kind}s`).slice(1);
  });
  return h("div", { class: "actions" }, reset, remove);
}

// The button that pauses a share group, or resumes it; none where the cluster does not know of pauses.
export function pauseAction(name, session, again) {
  const element = h("div", { class: "actions" });
  element.hidden = true;
  if (!session.may_change) return { element, update() {} };
  const button = h("button", { type: "button" });
  let paused = false;
  button.addEventListener("click", async () => {
    const text = paused
      ? "Its records are handed out again."
      : "Nothing is handed out until it is resumed. Consumers go on with what they hold: they may acknowledge and renew it.";
    const verb = paused ? "Resume" : "Pause";
    const done = await change({ title: `${verb} ${name}`, text, path: `share-group/${verb.toLowerCase()}`, body: { group: name }, verb });
    if (done) again();
  });
  element.append(button);
  return {
    element,
    update(known) {
      element.hidden = known === null;
      paused = known === true;
      button.textContent = paused ? "Resume …" : "Pause …";
    },
  };
}
