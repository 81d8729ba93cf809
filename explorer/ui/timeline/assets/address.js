// What of the view is in the page's address? Step, time range and the chosen event, written without a rerun.

const PAUSE_MS = 300;

/** What the address says: `{step, view: {start, end}, pick: {letter, row, event}}`, each null where it says nothing. */
export function readAddress() {
  const given = new URLSearchParams(window.location.search);
  const step = Number.parseInt(given.get("step") ?? "", 10);
  const view = (given.get("view") ?? "").split("~").map(Number);
  const pick = (given.get("pick") ?? "").split("~");
  const [row, event] = [Number(pick[1]), Number(pick[2])];
  return {
    step: Number.isInteger(step) && step >= 0 ? step : null,
    view:
      view.length === 2 && view.every(Number.isFinite) && view[1] > view[0] ? { start: view[0], end: view[1] } : null,
    pick:
      pick.length === 3 && Number.isInteger(row) && Number.isInteger(event) ? { letter: pick[0], row, event } : null,
  };
}

export class AddressWriter {
  constructor(explorer) {
    this.explorer = explorer;
    this.timer = 0;
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), PAUSE_MS);
  }

  write() {
    const { explorer } = this;
    const given = new URLSearchParams(window.location.search);
    const { start, end } = explorer.panes[0].range;
    given.set("step", String(explorer.step));
    given.set("view", `${Math.round(start)}~${Math.round(end)}`);
    const place = explorer.chosen?.story.place;
    if (place) given.set("pick", `${explorer.chosen.pane.run.letter}~${place.row}~${place.event}`);
    else given.delete("pick");
    window.history.replaceState(window.history.state, "", `${window.location.pathname}?${given}`);
  }

  dispose() {
    clearTimeout(this.timer);
  }
}
