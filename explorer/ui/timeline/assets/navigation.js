// Where is the view, and where does it go? Steps, zoom, pan, jumps, and what is chosen.

import { moment } from "./format.js";

const SMALLEST_NS = 20;
const ROOM = 0.02;
const LANDING = 0.35;

export class Navigation {
  constructor() {
    this.pattern = "";
    this.linked = true;
    this.layout = "stacked";
    this.mode = "zoom";
    this.step = 0;
    this.chosen = null;
    this.interval = null;
    this.pointer = null;
    this.ranks = { kernel: -1, gap: -1 };
  }

  /** The first view: what the address says, else the first step; a compact one shows as much as the shortest has. */
  start({ step, view, pick }) {
    this.align(Math.min(step ?? 0, Math.max(this.stepCount - 1, 0)));
    this.legend.show();
    if (view) for (const pane of this.panes) pane.show(view);
    else if (this.isCompact) this.fitShortest();
    else this.fit();
    const pane = pick && this.panes.find((each) => each.run.letter === pick.letter);
    if (pane && pick.row < pane.rows.length) this.choosePlace(pane, pick);
  }

  get stepCount() {
    return Math.max(...this.panes.map((pane) => pane.trace.steps.length));
  }

  align(step) {
    this.step = step;
    for (const pane of this.panes) {
      pane.alignTo(step);
      pane.describeStep(step).catch((problem) => this.failed(problem));
    }
    this.toolbar.show();
  }

  setStep(step) {
    const lengths = this.panes.map((pane) => pane.range);
    this.align(step);
    this.panes.forEach((pane, index) => pane.show(lengths[index]));
    this.address.soon();
  }

  stepBy(by) {
    const next = this.step + by;
    if (next >= 0 && next < this.stepCount) this.setStep(next);
  }

  /** The chosen step of every run, on one scale. */
  fit() {
    this.fitSpans(this.panes.map((pane) => pane.stepSpan(this.step)));
  }

  fitShortest() {
    const spans = this.panes.map((pane) => pane.stepSpan(this.step));
    const end = Math.min(...spans.map((span) => span.end));
    this.fitSpans(spans.map(() => ({ start: 0, end })));
  }

  fitTrace() {
    this.fitSpans(
      this.panes.map((pane) => ({ start: pane.trace.start_ns - pane.origin, end: pane.trace.end_ns - pane.origin })),
    );
  }

  fitSpans(spans) {
    const start = Math.min(...spans.map((span) => span.start));
    const end = Math.max(...spans.map((span) => span.end));
    const padded = (span) => ({
      start: span.start - (span.end - span.start) * ROOM,
      end: span.end + (span.end - span.start) * ROOM,
    });
    this.panes.forEach((pane, index) => pane.show(padded(this.linked ? { start, end } : spans[index])));
    this.moved();
  }

  fitChosen() {
    if (!this.chosen) return this.fit();
    const { pane, story } = this.chosen;
    this.zoomTo(pane, story.place.start_ns, story.place.end_ns);
  }

  /** Zooms so that an event takes a third of the pane; times of the trace. */
  zoomTo(pane, start, end) {
    const length = Math.max(end - start, SMALLEST_NS) / LANDING;
    const middle = (start + end) / 2 - pane.origin;
    this.setRange(pane, { start: middle - length / 2, end: middle + length / 2 });
  }

  /** A person zoomed or panned on one pane's axis; while the drag goes on, the axis must be left alone. */
  zoomed(pane, range, settled) {
    this.setRange(pane, range, { fromAxis: !settled });
  }

  setRange(pane, range, { fromAxis = false } = {}) {
    const tooSmall = range.end - range.start < SMALLEST_NS;
    const middle = (range.start + range.end) / 2;
    const shown = tooSmall ? { start: middle - SMALLEST_NS / 2, end: middle + SMALLEST_NS / 2 } : range;
    for (const each of this.linked ? this.panes : [pane])
      each.show(shown, { fromAxis: fromAxis && each === pane && !tooSmall });
    this.moved();
  }

  moved() {
    this.ranks = { kernel: -1, gap: -1 };
    this.hover.hide();
    this.address.soon();
  }

  zoomBy(pane, factor, at) {
    const { start, end } = pane.range;
    const fixed = start + (end - start) * at;
    this.setRange(pane, { start: fixed - (fixed - start) * factor, end: fixed + (end - fixed) * factor });
  }

  panBy(pane, share) {
    const { start, end } = pane.range;
    const by = (end - start) * share;
    this.setRange(pane, { start: start + by, end: end + by });
  }

  zoomByKey(factor) {
    const pane = this.pointer?.pane ?? this.panes[0];
    const at = this.pointer ? Math.min(Math.max(this.pointer.x / pane.width, 0), 1) : 0.5;
    this.zoomBy(pane, factor, at);
  }

  panByKey(share) {
    this.panBy(this.pointer?.pane ?? this.panes[0], share);
  }

  /** A click: a block of several opens, an event is chosen, nothing lets go. */
  clicked(pane, hit) {
    this.closeMenus();
    if (!hit) return this.letGo();
    if (hit.count > 1)
      return this.setRange(pane, {
        start: hit.start - pane.origin - (hit.end - hit.start) * ROOM,
        end: hit.end - pane.origin + (hit.end - hit.start) * ROOM,
      });
    return this.choosePlace(pane, { row: hit.row.index, event: hit.event });
  }

  /** Chooses an event by its place; `reveal` moves the view so that it is seen. */
  async choosePlace(pane, place, { reveal = false } = {}) {
    try {
      const story = await pane.api.ask("story", { row: place.row, event: place.event }, this.closing.signal);
      this.interval = null;
      this.chosen = { pane, story };
      this.panel.showStory(pane, story);
      if (reveal) this.reveal(pane, story.place);
      for (const each of this.panes) this.paintOver(each);
      this.address.soon();
    } catch (problem) {
      this.failed(problem);
    }
  }

  /** Shows an event: opens its row, and moves the view there when it is outside or too narrow to be seen. */
  reveal(pane, place) {
    if (pane.openRow(place.row)) this.relaid(pane);
    const [left, right] = [pane.x(place.start_ns), pane.x(place.end_ns)];
    const isSeen = right > 0 && left < pane.width && right - left >= 4;
    if (isSeen) return;
    const ranks = this.ranks;
    if (right - left >= 4) {
      const half = (pane.range.end - pane.range.start) / 2;
      const middle = (place.start_ns + place.end_ns) / 2 - pane.origin;
      this.setRange(pane, { start: middle - half, end: middle + half });
    } else {
      this.zoomTo(
        pane,
        place.start_ns - 3 * (place.end_ns - place.start_ns),
        place.end_ns + 3 * (place.end_ns - place.start_ns),
      );
    }
    this.ranks = ranks;
  }

  chooseNeighbour(by) {
    if (!this.chosen) return this.panByKey(0.1 * by);
    const { pane, story } = this.chosen;
    const event = story.place.event + by;
    if (event >= 0 && event < pane.rows[story.place.row].count)
      this.choosePlace(pane, { row: story.place.row, event }, { reveal: true });
  }

  /** The longest kernel or gap of the step on the pane in use; asked again, the next longest. */
  async jumpToLongest(what) {
    const pane = this.chosen?.pane ?? this.pointer?.pane ?? this.panes[0];
    const span = pane.stepSpan(this.step);
    const rank = this.ranks[what] + 1;
    try {
      const answer = await pane.api.ask(
        "longest",
        { what, rank, start: Math.floor(span.start + pane.origin), end: Math.ceil(span.end + pane.origin) },
        this.closing.signal,
      );
      if (!answer.place) return this.hint(rank ? `No further ${what}` : `This step has no ${what}`);
      await this.choosePlace(pane, answer.place, { reveal: true });
      this.ranks[what] = rank;
      this.hint(
        `${ordinal(what, rank)} of the step, at ${moment(answer.place.start_ns - pane.origin, span.end - span.start)}`,
      );
    } catch (problem) {
      this.failed(problem);
    }
  }

  /** The same kernel name, at the same place among its like in the step, in the other run. */
  async findInOther(pane, other) {
    const { row, event } = this.chosen.story.place;
    const stepOf = (each) => (each.trace.steps.length ? { step: each.stepIndex(this.step) } : {});
    try {
      const wanted = await pane.api.ask("ordinal", { row, event, ...stepOf(pane) }, this.closing.signal);
      const { place } = await other.api.ask("same", { ...wanted, ...stepOf(other) }, this.closing.signal);
      if (!place) return this.hint(`${other.run.letter.toUpperCase()} runs no kernel of this name in this step`);
      return this.choosePlace(other, place, { reveal: true });
    } catch (problem) {
      return this.failed(problem);
    }
  }

  measuring(pane, from, to) {
    this.interval = { pane, start: Math.min(from, to) - pane.origin, end: Math.max(from, to) - pane.origin };
    for (const each of this.panes) this.paintOver(each);
  }

  async measured(pane) {
    const { start, end } = this.interval;
    const asked = this.linked ? this.panes : [pane];
    try {
      const answers = await Promise.all(
        asked.map((each) =>
          each.api.ask(
            "measure",
            { start: Math.round(start + each.origin), end: Math.round(end + each.origin) },
            this.closing.signal,
          ),
        ),
      );
      this.chosen = null;
      this.panel.showMeasure(
        end - start,
        asked.map((each, index) => ({ pane: each, devices: answers[index].devices })),
      );
    } catch (problem) {
      this.failed(problem);
    }
  }

  /** Closes what is open: the help, a menu, then the choice. */
  letGo() {
    if (this.help.isOpen) return this.help.toggle();
    this.closeMenus();
    this.chosen = null;
    this.interval = null;
    this.panel.close();
    for (const pane of this.panes) this.paintOver(pane);
    this.address.soon();
    return undefined;
  }
}

function ordinal(what, rank) {
  return rank === 0 ? `The longest ${what}` : `Number ${rank + 1} of the longest ${what}s`;
}
