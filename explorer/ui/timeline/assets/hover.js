// What is under the pointer, in a few lines beside it? What is drawn is said at once, the rest when it has come.

import { element, fill } from "./dom.js";
import { count, duration, moment, share } from "./format.js";

const PAUSE_MS = 70;
const KEPT = 400;

export class Hover {
  constructor(explorer) {
    this.explorer = explorer;
    this.box = element("div", { class: "tl-hover", role: "tooltip" });
    this.known = new Map();
    this.shown = "";
    this.timer = 0;
    explorer.root.append(this.box);
  }

  show(pane, hit, event) {
    const key = `${pane.run.letter}:${hit.row.index}:${hit.event}:${hit.count}`;
    if (key !== this.shown) {
      this.shown = key;
      fill(this.box, ...this.lines(pane, hit, this.known.get(key)));
      this.box.classList.add("tl-open");
      clearTimeout(this.timer);
      if (hit.count === 1 && !this.known.has(key)) this.timer = setTimeout(() => this.fetch(pane, hit, key), PAUSE_MS);
    }
    this.place(event);
  }

  place(event) {
    const bounds = this.explorer.root.getBoundingClientRect();
    const [width, height] = [this.box.offsetWidth, this.box.offsetHeight];
    const x = event.clientX - bounds.left + 14;
    const y = event.clientY - bounds.top + 16;
    const left = x + width > bounds.width ? Math.max(x - width - 28, 0) : x;
    const above = event.clientY + height + 24 > window.innerHeight;
    this.box.style.transform = `translate(${left}px, ${above ? y - height - 28 : y}px)`;
  }

  hide() {
    this.shown = "";
    clearTimeout(this.timer);
    this.box.classList.remove("tl-open");
  }

  async fetch(pane, hit, key) {
    try {
      const story = await pane.api.ask("story", { row: hit.row.index, event: hit.event }, this.explorer.closing.signal);
      if (this.known.size > KEPT) this.known.clear();
      this.known.set(key, story);
      if (key === this.shown) fill(this.box, ...this.lines(pane, hit, story));
    } catch (problem) {
      if (problem.name !== "AbortError") this.explorer.failed(problem);
    }
  }

  lines(pane, hit, story) {
    const { palette, labels } = this.explorer;
    const swatch = element("i", { class: "tl-swatch" });
    swatch.style.background = palette.fills[hit.colour];
    const where = `${hit.row.group} · ${hit.row.label}`;
    if (hit.count > 1) return this.blockLines(hit, swatch, where);
    const name = story?.name ?? (hit.name === null ? "" : pane.api.name(hit.row.table, hit.name));
    const length = story ? story.place.end_ns - story.place.start_ns : hit.end - hit.start;
    const start = (story ? story.place.start_ns : hit.start) - pane.origin;
    const kind = labels[hit.colour] ?? hit.row.kind;
    return [
      element("div", { class: "tl-hover-name" }, swatch, hit.row.kind === "gaps" ? `gap: ${kind}` : name || "…"),
      element("div", {}, element("b", {}, duration(length)), hit.row.kind === "gaps" ? "" : ` · ${kind}`),
      element("div", { class: "tl-quiet" }, `starts at ${moment(start, length * 100)} · ${where}`),
      ...this.gapLines(story),
    ];
  }

  gapLines(story) {
    const entries = story?.sections[0].entries ?? [];
    const gap = entries.find((entry) => entry.label === "gap before" || entry.label === "whole gap");
    if (!gap) return [];
    const parts = entries.filter((entry) => entry.part).map((entry) => `${entry.label} ${entry.text}`);
    return [element("div", { class: "tl-quiet" }, `${gap.label} ${gap.text}: ${parts.join(", ")}`)];
  }

  blockLines(hit, swatch, where) {
    const busy = share(Math.min(hit.busy / Math.max(hit.end - hit.start, 1), 1));
    const what =
      hit.row.table === "work" ? "pieces of GPU work" : hit.row.kind === "gaps" ? "pieces of gaps" : hit.row.table;
    const most = this.explorer.labels[hit.colour];
    return [
      element("div", { class: "tl-hover-name" }, swatch, `${count(hit.count)} ${what}`),
      element("div", {}, element("b", {}, duration(hit.busy)), ` of ${duration(hit.end - hit.start)}, ${busy}`),
      element("div", { class: "tl-quiet" }, most ? `mostly ${most} · ${where}` : where),
      element("div", { class: "tl-quiet" }, "click to zoom in"),
    ];
  }
}
