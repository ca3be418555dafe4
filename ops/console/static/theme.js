// Light, dark, or as the system has it.

const KEY = "shareq-theme";
const NAMES = { auto: "Auto", light: "Light", dark: "Dark" };
const MEANS = { auto: "as the system has them", light: "light", dark: "dark" };
const NEXT = { auto: "light", light: "dark", dark: "auto" };

export function theme(button) {
  let chosen = NAMES[localStorage.getItem(KEY)] ? localStorage.getItem(KEY) : "auto";

  function show() {
    if (chosen === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    button.textContent = NAMES[chosen];
    button.setAttribute("aria-label", `Colours: ${MEANS[chosen]}`);
  }

  button.addEventListener("click", () => {
    chosen = NEXT[chosen];
    localStorage.setItem(KEY, chosen);
    show();
  });
  show();
}
