// Who draws the time axis and the zoom box? Plotly.js, with one invisible trace; the bars lie under it on a canvas.

import { moment } from "./format.js";

let loading = null;

/** plotly.js, loaded once a page from the app's own route. */
export function loadPlotly(address) {
  if (window.Plotly) return Promise.resolve(window.Plotly);
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("plotly.js could not be loaded. Reload the page."));
    document.head.append(script);
  });
  return loading;
}

const CONFIG = {
  displayModeBar: false,
  displaylogo: false,
  showTips: false,
  scrollZoom: false,
  doubleClick: false,
  responsive: false,
  plotlyServerURL: "",
};
const WANTED_TICKS = 7;

export class Axis {
  /** `place` is `{gutter, ruler}` in pixels; `onZoom(range)` hears of the person's own zooming and panning. */
  constructor(plotly, div, place, onZoom) {
    this.plotly = plotly;
    this.div = div;
    this.place = place;
    this.onZoom = onZoom;
    this.silent = false;
    this.busy = null;
    this.pending = null;
  }

  async draw(range, size, palette, dragmode) {
    await this.plotly.newPlot(this.div, [this.trace(range)], this.layout(range, size, palette, dragmode), CONFIG);
    this.div.on("plotly_relayout", (change) => this.heard(change, true));
    this.div.on("plotly_relayouting", (change) => this.heard(change, false));
  }

  trace(range) {
    return { x: [range.start], y: [0], mode: "markers", marker: { opacity: 0 }, hoverinfo: "skip" };
  }

  layout(range, size, palette, dragmode) {
    return {
      width: size.width,
      height: size.height,
      margin: { l: this.place.gutter, r: 0, t: this.place.ruler, b: 0, pad: 0, autoexpand: false },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      dragmode,
      hovermode: false,
      showlegend: false,
      newselection: { line: { color: palette.accent } },
      font: {
        family: '"Source Sans", "Source Sans 3", "Helvetica Neue", Arial, sans-serif',
        size: 12,
        color: palette.muted,
      },
      xaxis: {
        side: "top",
        range: [range.start, range.end],
        showgrid: false,
        zeroline: false,
        showline: true,
        linecolor: palette.rule,
        ticks: "outside",
        ticklen: 4,
        tickcolor: palette.rule,
        automargin: false,
        ...ticksFor(range),
      },
      yaxis: { visible: false, fixedrange: true, range: [0, 1] },
    };
  }

  /** Plotly has moved the axis itself; its ticks are renewed once the movement has settled. */
  heard(change, settled) {
    const [start, end] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    // While a zoom box is dragged Plotly tells where it would lead; only a pan moves at once.
    if (this.silent || start === undefined || (!settled && this.div.layout.dragmode !== "pan")) return;
    this.onZoom({ start, end }, settled);
  }

  /** Shows a range; while one is being drawn only the latest of the next ones is kept. */
  async show(range) {
    this.pending = { "xaxis.range": [range.start, range.end], ...prefixed(ticksFor(range)) };
    if (this.busy) return;
    while (this.pending) {
      const change = this.pending;
      this.pending = null;
      this.busy = this.relayout(change);
      await this.busy;
    }
    this.busy = null;
  }

  async relayout(change) {
    this.silent = true;
    try {
      await this.plotly.relayout(this.div, change);
    } finally {
      this.silent = false;
    }
  }

  restyle(palette) {
    return this.relayout({
      "font.color": palette.muted,
      "xaxis.linecolor": palette.rule,
      "xaxis.tickcolor": palette.rule,
    });
  }

  async resize(size) {
    await this.relayout({ width: size.width, height: size.height });
  }

  dispose() {
    this.plotly.purge(this.div);
  }
}

/** Ticks at 1, 2 or 5 times a power of ten, over three times the range so that panning never shows a bare axis. */
export function ticksFor(range) {
  const extent = range.end - range.start;
  const rough = extent / WANTED_TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const first = Math.ceil((range.start - extent) / step);
  const last = Math.floor((range.end + extent) / step);
  const tickvals = Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
  return {
    tickmode: "array",
    tickvals,
    ticktext: tickvals.map((value) => (value === 0 ? "0" : moment(value, extent))),
  };
}

function prefixed(ticks) {
  return { "xaxis.tickvals": ticks.tickvals, "xaxis.ticktext": ticks.ticktext };
}
