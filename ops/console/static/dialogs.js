// Questions to the user: the token, and what is to be changed. What destroys has to be typed out.

import { keepToken, post } from "/api.js";
import { h } from "/dom.js";

function ask(title, fields, verb, danger, act) {
  return new Promise((done) => {
    const problem = h("p", { class: "error", role: "alert" });
    const button = h("button", { type: "submit", class: danger ? "danger" : "main" }, verb);
    const cancel = h("button", { type: "button" }, "Cancel");
    const heading = h("h2", { id: "dialog-title" }, title);
    const form = h("form", {}, heading, fields, problem, h("div", { class: "actions" }, button, cancel));
    const dialog = h("dialog", { "aria-labelledby": "dialog-title" }, form);
    let result = null;
    cancel.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => {
      dialog.remove();
      done(result);
    });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      problem.textContent = "";
      button.disabled = true;
      try {
        result = await act();
        dialog.close();
      } catch (error) {
        problem.textContent = error.message;
      } finally {
        button.disabled = false;
      }
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

export function askForToken(check) {
  const input = h("input", { type: "password", autocomplete: "off", required: true, name: "token" });
  const fields = [
    h("p", {}, "The token is in the file that the console was started with. This tab keeps it until it is closed."),
    h("label", {}, "Token", input),
  ];
  return ask("Token", fields, "Use it", false, async () => {
    keepToken(input.value.trim());
    try {
      return await check();
    } catch (error) {
      keepToken(null);
      throw error;
    }
  });
}

// A change of something of a name: `inputs` are [label, element, read(element) -> part of the body].
export function change({ title, text, path, body, inputs = [], confirm = null, verb, danger = false }) {
  const typed = h("input", { type: "text", autocomplete: "off", name: "confirm" });
  const fields = [
    h("p", {}, text),
    inputs.map(([label, element]) =>
      h("label", { class: element.type === "checkbox" ? "check" : "" }, element.type === "checkbox" ? [element, label] : [label, element]),
    ),
    confirm === null ? [] : [h("label", {}, `Type ${confirm} to confirm`, typed)],
  ].flat();
  return ask(title, fields, verb, danger, () => {
    const all = { ...body };
    for (const [, element, read] of inputs) Object.assign(all, read(element));
    if (confirm !== null) all.confirm = typed.value;
    return post(path, all);
  });
}
