// The view as a picture: the same painting into a canvas for PNG, or into SVG elements written as text.

import { ticksFor } from "./axis.js";
import { paintLanes } from "./paint.js";
import { GUTTER, RULER } from "./pane.js";

const HEAD = 26;
const EDGE = 16;
const FONT = '"Source Sans", "Source Sans 3", "Helvetica Neue", Arial, sans-serif';

/** A canvas context's few calls that `paintLanes` uses, written as SVG. */
class SvgContext {
  constructor() {
    this.parts = [];
    this.fillStyle = "#000";
    this.globalAlpha = 1;
    this.font = "11px sans-serif";
    this.shift = { x: 0, y: 0 };
  }

  fillRect(x, y, width, height) {
    if (width <= 0) return;
    this.parts.push(`<rect x="${round(x + this.shift.x)}" y="${round(y + this.shift.y)}" width="${round(width)}" height="${round(height)}" fill="${this.fillStyle}"${this.opacity()}/>`);
  }

  fillText(text, x, y) {
    const [, weight, size] = this.font.match(/^(\d+ )?([\d.]+)px/) ?? [null, "", "11"];
    this.parts.push(`<text x="${round(x + this.shift.x)}" y="${round(y + this.shift.y)}" font-size="${size}" font-weight="${(weight ?? "").trim() || 400}" dominant-baseline="central" fill="${this.fillStyle}"${this.opacity()}>${escaped(text)}</text>`);
  }

  opacity() {
    return this.globalAlpha < 1 ? ` fill-opacity="${round(this.globalAlpha)}"` : "";
  }

  moveTo(x, y) {
    this.shift = { x, y };
  }
}

/** The view as the text of an SVG file. */
export function svgPicture(explorer) {
  const context = new SvgContext();
  const { width, height } = compose(explorer, context, (x, y) => context.moveTo(x, y));
  const clip = `<clipPath id="plot"><rect x="0" y="0" width="${width}" height="${height}"/></clipPath>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${escaped(FONT)}"><defs>${clip}</defs><g clip-path="url(#plot)">${context.parts.join("")}</g></svg>`;
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
    paintLanes(context, { lanes: pane.lanes, view: pane.view, detail: pane.detail, width: pane.width, palette, labels, searching: explorer.pattern !== "", nameOf: (row, code) => pane.api.name(row.table, code) });
    context.globalAlpha = 1;
    // What began before the view is cut by painting the margin over it.
    moveTo(0, top + HEAD);
    context.fillStyle = palette.background;
    context.fillRect(0, RULER, EDGE + GUTTER, pane.height);
    context.fillRect(EDGE + GUTTER + pane.width, RULER, EDGE, pane.height);
    moveTo(EDGE, top + HEAD + RULER);
    for (const lane of pane.lanes) {
      if (lane.kind === "operators" && lane.depth > 0) continue;
      words(context, lane.kind === "operators" ? lane.group : lane.kind === "stream" ? `${lane.group} · ${lane.row.label}` : lane.row.label, 0, lane.top + lane.height / 2, palette.muted, "12px", 20);
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

function escaped(text) {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

function round(value) {
  return Math.round(value * 100) / 100;
}
