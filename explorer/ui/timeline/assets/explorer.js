// The timelines of one or two runs as one picture: what they share is here, what each has is in its pane.

import { Api } from "./api.js";
import { loadPlotly } from "./axis.js";
import { element } from "./dom.js";
import { Pane } from "./pane.js";
import { paletteFor } from "./theme.js";

const SMALLEST_NS = 20;
const HEAD_ROOM = 0.01;

export class Explorer {
  constructor(parent, data, root, onEnded) {
    this.data = data;
    this.base = root + data.api;
    this.root_path = root;
    this.onEnded = onEnded;
    this.pattern = "";
    this.linked = true;
    this.mode = "zoom";
    this.labels = data.themes.labels;
    this.closing = new AbortController();
    this.root = element("div", { class: "tl-root", tabindex: "0" });
    parent.append(this.root);
    this.palette = paletteFor(this.root, data.themes);
    this.panes = data.runs.map((run) => new Pane(run, new Api(this.base, run.id), this));
    this.root.append(...this.panes.map((pane) => pane.root));
    this.root.timeline = this;
  }

  async open() {
    try {
      const plotly = loadPlotly(this.root_path + this.data.plotly);
      await Promise.all(this.panes.map((pane) => pane.open(this.closing.signal)));
      this.fit();
      const loaded = await plotly;
      if (this.closing.signal.aborted) return;
      await Promise.all(this.panes.map((pane) => pane.drawAxis(loaded)));
      this.watchSize();
      this.root.dataset.ready = "true";
    } catch (problem) {
      if (problem.name !== "AbortError") this.failed(problem);
    }
  }

  /** The whole of every trace. */
  fit() {
    const spans = this.panes.map((pane) => pane.trace.end_ns - pane.origin);
    const starts = this.panes.map((pane) => pane.trace.start_ns - pane.origin);
    const [start, end] = [Math.min(...starts), Math.max(...spans)];
    const room = (end - start) * HEAD_ROOM;
    for (const pane of this.panes) pane.show({ start: start - room, end: end + room });
  }

  dragmode() {
    return this.mode === "measure" ? false : this.mode;
  }

  /** A person zoomed or panned on one pane's axis. */
  zoomed(pane, range) {
    const wide = range.end - range.start < SMALLEST_NS ? { start: range.start, end: range.start + SMALLEST_NS } : range;
    for (const each of this.linked ? this.panes : [pane]) each.show(wide, { fromAxis: each === pane && wide === range });
  }

  drawn() {
    this.root.dataset.draws = String(this.panes.reduce((sum, pane) => sum + pane.counts.draw, 0));
  }

  failed(problem) {
    if (problem.ended) this.onEnded();
    else throw problem;
  }

  restyle(themes) {
    this.palette = paletteFor(this.root, themes);
    for (const pane of this.panes) if (pane.lanes) pane.draw();
  }

  watchSize() {
    this.sizes = new ResizeObserver(() => {
      for (const pane of this.panes) {
        pane.axis.resize(pane.size());
        pane.refresh();
      }
    });
    this.sizes.observe(this.root);
  }

  dispose() {
    this.closing.abort();
    this.sizes?.disconnect();
    for (const pane of this.panes) pane.dispose();
    this.root.remove();
  }
}
