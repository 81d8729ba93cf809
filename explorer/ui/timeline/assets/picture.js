// The view as a picture: the same painting into a canvas for PNG, or into SVG elements written as text.

import { ticksFor } from "./axis.js";
import { paintLanes } from "./paint.js";
import { GUTTER, RULER } from "./pane.js";
import { SvgContext } from "./svg.js";

const HEAD = 26;
const EDGE = 16;
const FONT = '"Source Sans", "Source Sans 3", "Helvetica Neue", Arial, sans-serif';

/** The view as the text of an SVG file. */
export function svgPicture(explorer) {
  const context = new SvgContext();
  const { width, height } = compose(explorer, context, (x, y) => context.moveTo(x, y));
  return context.file(width, height, FONT);
}

/** The view as a canvas with twice the pixels. */
export function canvasPicture(explorer) {
  const { width, height } = extent(explorer);
  const canvas = document.createElement("canvas");
  canvas.width = width * 2;
  canvas.height = height * 2;
  const context = canvas.getContext("2d");
  compose(explorer, context, (x, y) => context.setTransform(2, 0, 0, 2, 2 * x, 2 * y));
  return canvas;
}

function extent(explorer) {
  const { panes } = explorer;
  const width = Math.max(...panes.map((pane) => pane.width)) + GUTTER + 2 * EDGE;
  const height = panes.reduce((sum, pane) => sum + HEAD + RULER + pane.height + EDGE, EDGE);
  return { width, height };
}

function compose(explorer, context, moveTo) {
  const { width, height } = extent(explorer);
  const { palette, labels } = explorer;
  moveTo(0, 0);
  context.fillStyle = palette.background;
  context.fillRect(0, 0, width, height);
  let top = EDGE;
  for (const pane of explorer.panes) {
    moveTo(EDGE, top);
    words(context, `${pane.run.letter.toUpperCase()}  ${pane.run.title}`, 0, HEAD / 2, palette.ink, "600 14px");
    moveTo(EDGE + GUTTER, top + HEAD);
    ruler(context, pane, palette);
    moveTo(EDGE + GUTTER, top + HEAD + RULER);
    paintLanes(context, {
      lanes: pane.lanes,
      view: pane.view,
      detail: pane.detail,
      width: pane.width,
      palette,
      labels,
      searching: explorer.pattern !== "",
      nameOf: (row, code) => pane.api.name(row.table, code),
    });
    context.globalAlpha = 1;
    // What began before the view is cut by painting the margin over it.
    moveTo(0, top + HEAD);
    context.fillStyle = palette.background;
    context.fillRect(0, RULER, EDGE + GUTTER, pane.height);
    context.fillRect(EDGE + GUTTER + pane.width, RULER, EDGE, pane.height);
    moveTo(EDGE, top + HEAD + RULER);
    for (const lane of pane.lanes) {
      if (lane.kind === "operators" && lane.depth > 0) continue;
      words(
        context,
        lane.kind === "operators"
          ? lane.group
          : lane.kind === "stream"
            ? `${lane.group} · ${lane.row.label}`
            : lane.row.label,
        0,
        lane.top + lane.height / 2,
        palette.muted,
        "12px",
        20,
      );
    }
    top += HEAD + RULER + pane.height + EDGE;
  }
  return { width, height };
}

function ruler(context, pane, palette) {
  const { tickvals, ticktext } = ticksFor(pane.range);
  context.fillStyle = palette.rule;
  context.fillRect(0, RULER - 1, pane.width, 1);
  tickvals.forEach((value, index) => {
    const x = ((value - pane.range.start) / (pane.range.end - pane.range.start)) * pane.width;
    if (x < 0 || x > pane.width - 20) return;
    context.fillStyle = palette.rule;
    context.fillRect(x, RULER - 5, 1, 5);
    words(context, ticktext[index], x + 3, RULER - 12, palette.muted, "12px");
  });
}

function words(context, text, x, y, colour, font, most = 200) {
  context.font = `${font} ${FONT}`;
  context.textBaseline = "middle";
  context.fillStyle = colour;
  context.fillText(text.length > most ? `${text.slice(0, most - 1)}…` : text, x, y);
}
