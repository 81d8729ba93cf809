// A button that opens a small list below itself; one list is open at a time.

import { element } from "./dom.js";

/** `build()` is called at every opening and returns the list's children. */
export function menu(explorer, label, title, build) {
  const list = element("div", { class: "tl-menu", role: "menu" });
  const button = element(
    "button",
    { class: "tl-button", type: "button", title, "aria-haspopup": "menu", "aria-expanded": "false" },
    label,
  );
  const box = element("div", { class: "tl-menu-box" }, button, list);
  const close = () => {
    list.classList.remove("tl-open");
    button.setAttribute("aria-expanded", "false");
  };
  button.addEventListener("click", () => {
    const opens = !list.classList.contains("tl-open");
    explorer.closeMenus();
    if (!opens) return;
    list.replaceChildren(...build());
    list.classList.add("tl-open");
    button.setAttribute("aria-expanded", "true");
  });
  list.addEventListener("click", (event) => {
    if (event.target.closest("[role=menuitem]")) close();
  });
  explorer.menus.push(close);
  return box;
}

/** One action of a menu. */
export function action(text, onclick, title) {
  return element("button", { class: "tl-item", type: "button", role: "menuitem", title, onclick }, text);
}
