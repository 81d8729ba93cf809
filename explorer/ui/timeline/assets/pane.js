// One run's picture: its lanes, the part of its trace that is on screen, and the detail fetched for it.

import { Axis } from "./axis.js";
import { element, fill } from "./dom.js";
import { count } from "./format.js";
import { firstChoice, layLanes } from "./lanes.js";
import { paintLanes, prepared } from "./paint.js";

export const GUTTER = 118;
export const RULER = 26;
const PAUSE_MS = 60;
const EMPTY = { start: 0, end: 1, rows: new Map(), bytes: 0 };

export class Pane {
  /** `host` is the explorer that owns the pane: its palette, labels, search and errors. */
  constructor(run, api, host) {
    this.run = run;
    this.api = api;
    this.host = host;
    this.origin = 0;
    this.range = { start: 0, end: 1 };
    this.detail = EMPTY;
    this.detailRange = null;
    this.counts = { draw: 0, detail: 0, bytes: 0 };
    this.request = null;
    this.timer = 0;
    this.asked = 0;
    this.build();
  }

  build() {
    this.bars = element("canvas", { class: "tl-bars" });
    this.over = element("canvas", { class: "tl-over" });
    this.plot = element("div", { class: "tl-plot" });
    this.labels = element("div", { class: "tl-labels" });
    this.note = element("div", { class: "tl-note" });
    this.stage = element("div", { class: "tl-stage" }, this.bars, this.plot, this.over, this.labels);
    this.strip = element("div", { class: "tl-strip" });
    this.head = element(
      "div",
      { class: "tl-head" },
      element("span", { class: "tl-letter" }, this.run.letter.toUpperCase()),
      element("span", { class: "tl-title" }, this.run.title),
      this.note,
    );
    this.root = element(
      "section",
      { class: "tl-pane", "data-side": this.run.letter },
      this.head,
      this.strip,
      this.stage,
    );
  }

  /** Reads the rows; from then on the pane can be laid out. */
  async open(signal) {
    this.trace = await this.api.ask("rows", {}, signal);
    this.rowByKey = new Map(this.trace.rows.map((row, index) => [row.key, { ...row, index }]));
    this.rows = [...this.rowByKey.values()];
    this.choice = firstChoice(this.rows);
    this.layOut();
  }

  layOut() {
    const laid = layLanes(this.rows, this.choice, this.host.roomForPane());
    this.lanes = laid.lanes;
    this.height = laid.height;
    this.stage.style.height = `${RULER + laid.height}px`;
    fill(this.labels, ...this.lanes.map((lane) => this.labelOf(lane)));
  }

  labelOf(lane) {
    const text = lane.kind === "operators" ? (lane.depth === 0 ? lane.group : "") : lane.row.label;
    const depth = lane.kind === "operators" ? `, depth ${lane.depth}` : "";
    const title = `${lane.group}: ${lane.row.label}${depth}, ${count(lane.row.count)}`;
    const label = element("div", { class: `tl-label tl-label-${lane.kind}`, title });
    label.style.top = `${RULER + lane.top}px`;
    label.style.height = `${lane.height}px`;
    if (lane.kind === "stream" && lane.opens) label.append(element("b", {}, lane.group));
    label.append(
      lane.kind === "operators" && lane.depth === 0 ? this.caret(lane.group, text) : element("span", {}, text),
    );
    return label;
  }

  /** The thread's name as a button that closes its nested operators or opens them all. */
  caret(group, text) {
    const isOpen = this.choice.depth.get(group) > 1;
    const deepest = Math.max(...this.rows.filter((row) => row.group === group).map((row) => row.depth)) + 1;
    const toggle = () => {
      this.choice.depth.set(group, isOpen ? 1 : deepest);
      this.host.relaid(this);
    };
    const title = isOpen ? "Close the nested operators" : `Open all ${deepest} levels of operators`;
    return element(
      "button",
      { class: "tl-caret", type: "button", title, onclick: toggle },
      element("i", { class: isOpen ? "tl-down" : null }),
      element("span", {}, text),
    );
  }

  /** Says which step is shown. */
  async describeStep(step) {
    const asked = this.trace.steps.length ? { step: this.stepIndex(step) } : {};
    const { text } = await this.api.ask("step", asked, this.host.closing.signal);
    this.note.textContent = this.stepAt(step) ? `${this.stepAt(step).label}: ${text}` : text;
  }

  /** The step at that position, the last one where there are fewer, undefined where nothing marks steps. */
  stepAt(index) {
    return this.trace.steps[this.stepIndex(index)];
  }

  stepIndex(index) {
    return Math.min(index, this.trace.steps.length - 1);
  }

  alignTo(step) {
    this.origin = this.stepAt(step)?.start_ns ?? this.trace.start_ns;
  }

  /** The step's span from its own start; the whole trace where nothing marks steps. */
  stepSpan(index) {
    const step = this.stepAt(index);
    return { start: 0, end: (step?.end_ns ?? this.trace.end_ns) - (step?.start_ns ?? this.trace.start_ns) };
  }

  laneOf(rowIndex) {
    return this.lanes.find((lane) => lane.rows.some((row) => row.index === rowIndex)) ?? null;
  }

  /** Makes a row visible; true when it was not. */
  openRow(rowIndex) {
    if (this.laneOf(rowIndex)) return false;
    const row = this.rows[rowIndex];
    this.choice.hidden.delete(row.key);
    if (row.kind === "operators")
      this.choice.depth.set(row.group, Math.max(this.choice.depth.get(row.group) ?? 0, row.depth + 1));
    return true;
  }

  get width() {
    return Math.max(this.stage.clientWidth - GUTTER, 50);
  }

  /** The part of the trace on screen, in the trace's own nanoseconds. */
  get view() {
    return { start: this.range.start + this.origin, end: this.range.end + this.origin };
  }

  /** Where a time of the trace lies on the plot, in pixels from its left edge. */
  x(time) {
    const { start, end } = this.view;
    return ((time - start) / (end - start)) * this.width;
  }

  /** The time of the trace at a pixel from the plot's left edge. */
  time(x) {
    const { start, end } = this.view;
    return start + (x / this.width) * (end - start);
  }

  async drawAxis(plotly) {
    this.axis = new Axis(plotly, this.plot, { gutter: GUTTER, ruler: RULER }, (range, settled) =>
      this.host.zoomed(this, range, settled),
    );
    await this.axis.draw(this.range, this.size(), this.host.palette, this.host.dragmode());
  }

  size() {
    return { width: GUTTER + this.width, height: RULER + this.height };
  }

  /** Shows a range at once from what is there, and asks for detail. */
  show(range, { fromAxis = false } = {}) {
    this.range = range;
    this.askSoon();
    this.draw();
    if (this.axis && !fromAxis) this.axis.show(range);
  }

  draw() {
    const context = prepared(this.bars, this.width, this.height);
    this.bars.style.left = `${GUTTER}px`;
    this.bars.style.top = `${RULER}px`;
    paintLanes(context, {
      lanes: this.lanes,
      view: this.view,
      detail: this.detail,
      width: this.width,
      palette: this.host.palette,
      labels: this.host.labels,
      searching: this.host.pattern !== "",
      nameOf: (row, code) => this.api.name(row.table, code),
    });
    this.counts.draw += 1;
    this.host.drawn(this);
  }

  /** Detail is asked for at once after a pause, else when the movement pauses. */
  askSoon() {
    clearTimeout(this.timer);
    if (this.isCovered()) return this.request?.abort();
    const wait = performance.now() - this.asked > 2 * PAUSE_MS ? 0 : PAUSE_MS;
    this.asked = performance.now();
    if (wait === 0) this.askNow();
    else this.timer = setTimeout(() => this.askNow(), wait);
    return undefined;
  }

  /** Whether the fetched detail still serves: same scale, and the view well inside of it. */
  isCovered() {
    if (!this.detailRange) return false;
    const { start, end, scale, pattern } = this.detailRange;
    const view = this.view;
    const margin = (view.end - view.start) * 0.1;
    const inside = view.start - margin >= start && view.end + margin <= end;
    const sameScale = Math.abs((view.end - view.start) / this.width / scale - 1) < 0.02;
    return inside && sameScale && pattern === this.host.pattern;
  }

  async askNow() {
    this.request?.abort();
    const request = new AbortController();
    this.request = request;
    const { view, width } = this;
    const half = (view.end - view.start) / 2;
    const wanted = { start: Math.floor(view.start - half), end: Math.ceil(view.end + half) };
    const shown = this.lanes.flatMap((lane) => lane.rows.map((row) => row.index));
    const pattern = this.host.pattern;
    try {
      const parameters = { ...wanted, width: 2 * Math.round(width), rows: shown.join(","), pattern };
      this.detail = await this.api.view(parameters, request.signal);
      this.detailRange = { ...wanted, scale: (view.end - view.start) / width, pattern };
      this.counts.detail += 1;
      this.counts.bytes = this.detail.bytes;
      this.draw();
      if (await this.api.fetchNames(request.signal)) this.draw();
    } catch (problem) {
      if (problem.name !== "AbortError") this.host.failed(problem);
    }
  }

  refresh() {
    this.detailRange = null;
    this.draw();
    this.askSoon();
  }

  dispose() {
    this.request?.abort();
    clearTimeout(this.timer);
    this.axis?.dispose();
  }
}
