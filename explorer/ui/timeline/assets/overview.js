// The whole trace in one strip, with the part on screen marked in it; a drag moves there.

import { element } from "./dom.js";
import { paintLanes, prepared } from "./paint.js";
import { GUTTER } from "./pane.js";

const HEIGHT = 22;

export class Overview {
  constructor(explorer, pane) {
    this.explorer = explorer;
    this.pane = pane;
    this.canvas = element("canvas", { class: "tl-overview", title: "The whole trace; drag to move the view" });
    pane.strip.append(this.canvas);
    pane.strip.style.paddingLeft = `${GUTTER}px`;
    this.detail = null;
    this.follow();
  }

  get rows() {
    const work = this.pane.rows.filter((row) => row.table === "work");
    return work.length ? work : this.pane.rows.filter((row) => row.kind === "operators" && row.depth === 0).slice(0, 1);
  }

  async fetch() {
    const { start_ns: start, end_ns: end } = this.pane.trace;
    const rows = this.rows.map((row) => row.index).join(",");
    this.detail = await this.pane.api.view(
      { start, end, width: Math.round(this.pane.width), rows },
      this.explorer.closing.signal,
    );
    this.draw();
  }

  draw() {
    if (!this.detail) return;
    const { pane, explorer } = this;
    const context = prepared(this.canvas, pane.width, HEIGHT);
    const { start_ns: start, end_ns: end } = pane.trace;
    const lane = { top: 0, height: HEIGHT, rows: this.rows, kind: "stream" };
    paintLanes(context, {
      lanes: [lane],
      view: { start, end },
      detail: this.detail,
      width: pane.width,
      palette: explorer.palette,
      labels: explorer.labels,
      searching: false,
      nameOf: () => "",
    });
    const x = (time) => ((time - start) / (end - start)) * pane.width;
    const left = Math.min(Math.max(x(pane.view.start), 0), pane.width);
    const right = Math.max(Math.min(x(pane.view.end), pane.width), left + 2);
    context.fillStyle = explorer.palette.background;
    context.globalAlpha = 0.72;
    context.fillRect(0, 0, left, HEIGHT);
    context.fillRect(right, 0, pane.width - right, HEIGHT);
    context.globalAlpha = 1;
    context.strokeStyle = explorer.palette.accent;
    context.lineWidth = 1.5;
    context.strokeRect(left + 0.75, 0.75, Math.max(right - left - 1.5, 1), HEIGHT - 1.5);
  }

  follow() {
    const { signal } = this.explorer.closing;
    const move = (event) => {
      const { start_ns: start, end_ns: end } = this.pane.trace;
      const at =
        start +
        ((event.clientX - this.canvas.getBoundingClientRect().left) / this.pane.width) * (end - start) -
        this.pane.origin;
      const half = (this.pane.range.end - this.pane.range.start) / 2;
      this.explorer.setRange(this.pane, { start: at - half, end: at + half });
    };
    this.canvas.addEventListener(
      "pointerdown",
      (event) => {
        this.canvas.setPointerCapture(event.pointerId);
        move(event);
      },
      { signal },
    );
    this.canvas.addEventListener(
      "pointermove",
      (event) => {
        if (event.buttons & 1) move(event);
      },
      { signal },
    );
  }
}
