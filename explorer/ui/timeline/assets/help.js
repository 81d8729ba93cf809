// The list of keys over the timeline.

import { element } from "./dom.js";
import { KEYS } from "./keyboard.js";

const NAMES = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc", N: "Shift n" };

export class Help {
  constructor(explorer) {
    const rows = KEYS.map(([keys, meaning]) =>
      element(
        "tr",
        {},
        element("td", {}, ...keys.map((key) => element("kbd", {}, NAMES[key] ?? key))),
        element("td", {}, meaning),
      ),
    );
    const more = [
      ["drag", "zoom to what is dragged over, or pan, as chosen above"],
      ["Ctrl wheel", "zoom"],
      ["Shift wheel", "earlier and later"],
      ["click", "the event's story; on a block, zoom into it"],
    ].map(([what, meaning]) => element("tr", {}, element("td", {}, what), element("td", {}, meaning)));
    const close = element("button", { class: "tl-button", type: "button", onclick: () => this.toggle() }, "Close");
    this.box = element(
      "div",
      { class: "tl-help", role: "dialog", "aria-label": "Keys" },
      element("div", { class: "tl-help-title" }, element("b", {}, "Keys and mouse"), close),
      element("table", {}, element("tbody", {}, ...rows, ...more)),
    );
    explorer.root.append(this.box);
  }

  get isOpen() {
    return this.box.classList.contains("tl-open");
  }

  toggle() {
    this.box.classList.toggle("tl-open");
  }
}
