// The timelines of one or two runs as one picture: what they share is here, what each has is in its pane.

import { AddressWriter, readAddress } from "./address.js";
import { Api } from "./api.js";
import { loadPlotly } from "./axis.js";
import { element } from "./dom.js";
import { Help } from "./help.js";
import { Hover } from "./hover.js";
import { followKeys } from "./keyboard.js";
import { Legend } from "./legend.js";
import { Navigation } from "./navigation.js";
import { paintOverlay } from "./overlay.js";
import { Overview } from "./overview.js";
import { Pane } from "./pane.js";
import { Panel } from "./panel.js";
import { followPointer } from "./pointer.js";
import { Search } from "./search.js";
import { paletteFor } from "./theme.js";
import { Toolbar } from "./toolbar.js";

const HINT_MS = 1800;
const CHROME_PX = 280;
const PANE_CHROME_PX = 100;

export class Explorer extends Navigation {
  constructor(parent, data, root, onEnded) {
    super();
    this.data = data;
    this.rootPath = root;
    this.onEnded = onEnded;
    this.isCompact = data.is_compact;
    this.labels = data.themes.labels;
    this.closing = new AbortController();
    this.menus = [];
    this.root = element("div", { class: "tl-root", tabindex: "0", "aria-label": "Timeline" });
    parent.append(this.root);
    this.palette = paletteFor(this.root, data.themes);
    this.panes = data.runs.map((run) => new Pane(run, new Api(root + data.api, run.id), this));
    this.build();
    this.root.timeline = this;
  }

  build() {
    this.search = new Search(this);
    this.toolbar = new Toolbar(this);
    this.panel = new Panel(this);
    this.legend = new Legend(this);
    this.address = new AddressWriter(this);
    this.hintBox = element("div", { class: "tl-hint", role: "status" });
    this.paneBox = element("div", { class: "tl-panes" }, ...this.panes.map((pane) => pane.root));
    const left = element("div", { class: "tl-left" }, this.paneBox, this.legend.box);
    this.root.append(this.toolbar.box, element("div", { class: "tl-body" }, left, this.panel.box), this.hintBox);
    this.hover = new Hover(this);
    this.help = new Help(this);
    followKeys(this);
    document.addEventListener("pointerdown", (event) => this.leftMenus(event), { signal: this.closing.signal });
  }

  async open({ fromAddress }) {
    try {
      const plotly = loadPlotly(this.rootPath + this.data.plotly);
      await Promise.all(this.panes.map((pane) => pane.open(this.closing.signal)));
      const widths = new Map(this.panes.map((pane) => [pane, pane.width]));
      this.start(fromAddress ? readAddress() : {});
      for (const pane of this.panes) {
        followPointer(this, pane);
        pane.overview = new Overview(this, pane);
      }
      const loaded = await plotly;
      if (this.closing.signal.aborted) return;
      await Promise.all(this.panes.map((pane) => pane.drawAxis(loaded)));
      this.watchSize(widths);
      this.root.dataset.ready = "true";
      await Promise.all(this.panes.map((pane) => pane.overview.fetch()));
    } catch (problem) {
      if (problem.name !== "AbortError") this.failed(problem);
    }
  }

  /** How high one pane's rows may grow without leaving the window. */
  roomForPane() {
    if (this.isCompact) return 0;
    const rows = this.layout === "beside" ? 1 : this.panes.length;
    return (window.innerHeight - CHROME_PX) / rows - PANE_CHROME_PX;
  }

  dragmode() {
    return this.mode === "measure" ? false : this.mode;
  }

  setMode(mode) {
    this.mode = mode;
    this.root.dataset.mode = mode;
    for (const pane of this.panes) pane.axis?.relayout({ dragmode: this.dragmode() });
    this.toolbar.show();
  }

  setLinked(linked) {
    this.linked = linked;
    if (linked) this.setRange(this.panes[0], this.panes[0].range);
    this.toolbar.show();
  }

  setLayout(layout) {
    this.layout = layout;
    this.paneBox.classList.toggle("tl-beside", layout === "beside");
    for (const pane of this.panes) if (pane.lanes) this.relaid(pane);
    this.toolbar.show();
  }

  /** Rows were shown or hidden. */
  relaid(pane) {
    pane.layOut();
    pane.axis?.resize(pane.size());
    this.legend.show();
    pane.refresh();
  }

  hovered(pane, hit, event) {
    this.hover.target = hit && { pane, hit };
    if (hit) this.hover.show(pane, hit, event);
    else this.hover.hide();
    pane.stage.classList.toggle("tl-hit", hit !== null);
    this.paintOver(pane);
  }

  paintOver(pane) {
    paintOverlay(
      pane,
      {
        hover: this.hover.target?.pane === pane ? this.hover.target.hit : null,
        story: this.chosen?.pane === pane ? this.chosen.story : null,
        interval: this.interval && (this.linked || this.interval.pane === pane) ? this.interval : null,
      },
      this.palette,
    );
  }

  /** A pane has painted its bars. */
  drawn(pane) {
    this.paintOver(pane);
    pane.overview?.draw();
    if (pane.counts.detail === 1) performance.mark("timeline-first-paint");
    this.root.dataset.draws = String(this.panes.reduce((sum, each) => sum + each.counts.draw, 0));
    this.root.dataset.details = String(this.panes.reduce((sum, each) => sum + each.counts.detail, 0));
  }

  hint(sentence) {
    this.hintBox.textContent = sentence;
    this.hintBox.classList.add("tl-open");
    clearTimeout(this.hintTimer);
    this.hintTimer = setTimeout(() => this.hintBox.classList.remove("tl-open"), HINT_MS);
  }

  failed(problem) {
    if (problem.name === "AbortError") return;
    if (problem.ended) this.onEnded();
    else this.hint(problem.message);
  }

  closeMenus() {
    for (const close of this.menus) close();
  }

  leftMenus(event) {
    if (!event.target.closest?.(".tl-menu-box")) this.closeMenus();
  }

  restyle(themes) {
    this.palette = paletteFor(this.root, themes);
    this.legend.show();
    for (const pane of this.panes) {
      if (!pane.lanes) continue;
      pane.axis?.restyle(this.palette);
      pane.draw();
    }
  }

  /** Follows the panes' widths from those that the first view was asked for: what is chosen may narrow them at once. */
  watchSize(widths) {
    this.sizes = new ResizeObserver(() => {
      for (const pane of this.panes) {
        if (widths.get(pane) === pane.width) continue;
        widths.set(pane, pane.width);
        pane.axis.resize(pane.size());
        pane.refresh();
        pane.overview.fetch().catch((problem) => this.failed(problem));
      }
    });
    for (const pane of this.panes) this.sizes.observe(pane.stage);
  }

  dispose() {
    this.closing.abort();
    this.sizes?.disconnect();
    clearTimeout(this.hintTimer);
    this.address.dispose();
    for (const pane of this.panes) pane.dispose();
    this.root.remove();
  }
}
