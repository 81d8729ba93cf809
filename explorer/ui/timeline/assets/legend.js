// What do the colours in view mean? One line under the panes: kernel families, then the parts of idle.

import { element, fill } from "./dom.js";

export class Legend {
  constructor(explorer) {
    this.explorer = explorer;
    this.box = element("div", { class: "tl-legend" });
  }

  show() {
    const { panes, palette, labels, data } = this.explorer;
    const present = new Set(
      panes.flatMap((pane) => pane.lanes.flatMap((lane) => lane.rows.flatMap((row) => row.palette))),
    );
    const entry = (key) => {
      const swatch = element("i", { class: "tl-swatch" });
      swatch.style.background = palette.fills[key];
      return element("span", { title: data.themes.meanings[key] ?? null }, swatch, labels[key]);
    };
    const list = (title, keys) => {
      const entries = keys.filter((key) => present.has(key)).map(entry);
      return entries.length ? [element("span", { class: "tl-legend-title" }, title), ...entries] : [];
    };
    fill(this.box, ...list("kernels", data.themes.families), ...list("idle", data.themes.idle));
  }
}
