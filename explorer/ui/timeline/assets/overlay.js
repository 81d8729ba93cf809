// What is drawn over the bars: the step's edges, the hovered and the chosen event, the launch arrow, the measure.

import { duration } from "./format.js";
import { prepared } from "./paint.js";

const LAUNCH_LABEL_PX = 92;

/** Draws the overlay of a pane. `marks` is `{hover, chosen, story, interval}`, each may be null. */
export function paintOverlay(pane, marks, palette) {
  const context = prepared(pane.over, pane.width, pane.height);
  paintSteps(context, pane, palette);
  if (marks.interval) paintInterval(context, pane, marks.interval, palette);
  if (marks.hover) frame(context, pane, marks.hover.lane, marks.hover.start, marks.hover.end, palette.ink, 1);
  if (!marks.story) return;
  const { place, launched_by: from, launches: to } = marks.story;
  frame(context, pane, pane.laneOf(place.row), place.start_ns, place.end_ns, palette.ink, 2);
  if (from && to) paintArrow(context, pane, from, to, palette);
  else if (from) paintArrow(context, pane, from, place, palette);
  else if (to) paintArrow(context, pane, place, to, palette);
}

function paintSteps(context, pane, palette) {
  context.strokeStyle = palette.muted;
  context.globalAlpha = 0.45;
  context.setLineDash([2, 3]);
  context.lineWidth = 1;
  context.beginPath();
  for (const step of pane.trace.steps) {
    const x = Math.round(pane.x(step.start_ns)) + 0.5;
    if (x < 0 || x > pane.width) continue;
    context.moveTo(x, 0);
    context.lineTo(x, pane.height);
  }
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 1;
}

function paintInterval(context, pane, interval, palette) {
  const left = pane.x(interval.start + pane.origin);
  const right = pane.x(interval.end + pane.origin);
  context.globalAlpha = 0.16;
  context.fillStyle = palette.accent;
  context.fillRect(left, 0, right - left, pane.height);
  context.globalAlpha = 1;
  context.fillRect(left, 0, 1, pane.height);
  context.fillRect(right - 1, 0, 1, pane.height);
  const text = duration(interval.end - interval.start);
  pill(context, (left + right) / 2, 9, text, palette.accent, palette.background, pane.width);
}

function frame(context, pane, lane, start, end, colour, thickness) {
  if (!lane) return;
  const left = Math.max(pane.x(start), -4);
  const right = Math.min(Math.max(pane.x(end), left + 2), pane.width + 4);
  if (right < 0 || left > pane.width) return;
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  context.strokeRect(left - 0.5, lane.top + 0.5, right - left + 1, lane.height - 1);
}

function paintArrow(context, pane, from, to, palette) {
  const [source, target] = [pane.laneOf(from.row), pane.laneOf(to.row)];
  if (!target) return;
  const x0 = pane.x(from.end_ns);
  const x1 = pane.x(to.start_ns);
  const down = !source || source.top > target.top;
  const y0 = source ? (down ? source.top : source.top + source.height) : pane.height - 2;
  const y1 = down ? target.top + target.height : target.top;
  context.strokeStyle = palette.accent;
  context.fillStyle = palette.accent;
  context.lineWidth = 1.5;
  const begin = Math.min(Math.max(x0, 0), pane.width);
  const finish = Math.min(Math.max(x1, 0), pane.width);
  const middle = (y0 + y1) / 2;
  context.beginPath();
  context.moveTo(begin, y0);
  context.bezierCurveTo(begin, middle, finish, middle, finish, y1);
  context.stroke();
  if (x1 >= 0 && x1 <= pane.width) head(context, finish, y1, down ? 1 : -1);
  if (source && x0 >= 0 && x0 <= pane.width)
    frame(context, pane, source, from.start_ns, from.end_ns, palette.accent, 1.5);
  if (x0 < 0)
    pill(
      context,
      LAUNCH_LABEL_PX / 2,
      y0 + (down ? 8 : -8),
      `launched ${duration(to.start_ns - from.start_ns)} before`,
      palette.accent,
      palette.background,
      pane.width,
    );
}

function head(context, x, y, direction) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - 4, y + 6 * direction);
  context.lineTo(x + 4, y + 6 * direction);
  context.closePath();
  context.fill();
}

function pill(context, centre, y, text, fill, ink, room) {
  context.font = '600 11px "Source Sans", "Source Sans 3", "Helvetica Neue", Arial, sans-serif';
  context.textBaseline = "middle";
  const width = context.measureText(text).width + 10;
  const left = Math.min(Math.max(centre - width / 2, 0), room - width);
  context.fillStyle = fill;
  context.beginPath();
  context.roundRect(left, y - 8, width, 16, 4);
  context.fill();
  context.fillStyle = ink;
  context.fillText(text, left + 5, y + 0.5);
}
