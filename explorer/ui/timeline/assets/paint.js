// How are rectangles and blocks put on a canvas? No element a kernel: one canvas a pane, drawn from columns.

import { duration, shortName } from "./format.js";

const GAP_BOX_PX = 6;
const LABEL_PX = 30;
const CHARACTER_PX = 6.1;
const FAINT = 0.22;
const TEXTURE_PX = 7;

/** Sizes a canvas for the screen's pixels and returns its context, cleared, in CSS pixels. */
export function prepared(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/**
 * Draws every lane. `scene` is `{lanes, view, detail, width, palette, nameOf, searching}`: `view` in nanoseconds of the
 * trace, `detail` as decoded, `nameOf(row, code)` a name or an empty text while it is on its way.
 */
export function paintLanes(context, scene) {
  context.font = '11px "Source Sans", "Source Sans 3", "Helvetica Neue", Arial, sans-serif';
  context.textBaseline = "middle";
  for (const lane of scene.lanes) {
    context.globalAlpha = 1;
    if (lane.kind === "stream" || lane.kind === "copies") paintFloor(context, scene, lane);
    for (const row of lane.rows) {
      const drawn = scene.detail.rows.get(row.key);
      if (!drawn) continue;
      paintBlocks(context, scene, lane, row, drawn.blocks);
      paintRectangles(context, scene, lane, row, drawn.rectangles);
    }
  }
  context.globalAlpha = 1;
}

function paintFloor(context, scene, lane) {
  context.fillStyle = scene.palette.surface;
  context.fillRect(0, lane.top, scene.width, lane.height);
}

function paintBlocks(context, scene, lane, row, blocks) {
  const { scale, offset } = transform(scene);
  const isWork = row.table === "work";
  for (let i = 0; i < blocks.size; i += 1) {
    const left = blocks.start[i] * scale + offset;
    const width = Math.max(blocks.length[i] * scale, 1);
    if (left > scene.width || left + width < 0) continue;
    const share = Math.min(blocks.busy[i] / Math.max(blocks.length[i], 1), 1);
    const faint = scene.searching && !blocks.matched[i];
    context.fillStyle = scene.palette.fills[row.palette[blocks.colour[i]]];
    if (isWork) {
      context.globalAlpha = faint ? FAINT : 1;
      const height = Math.max(lane.height * share, Math.min(6, lane.height));
      context.fillRect(left, lane.top + lane.height - height, width, height);
    } else {
      context.globalAlpha =
        faint || (scene.searching && row.kind === "gaps") ? FAINT : row.kind === "gaps" ? 0.75 : 0.35 + 0.65 * share;
      context.fillRect(left, lane.top, width, lane.height);
    }
  }
  if (scene.searching) markMatches(context, scene, lane, blocks, scale, offset);
}

function markMatches(context, scene, lane, blocks, scale, offset) {
  context.globalAlpha = 1;
  context.fillStyle = scene.palette.ink;
  for (let i = 0; i < blocks.size; i += 1) {
    if (blocks.matched[i])
      context.fillRect(blocks.start[i] * scale + offset, lane.top, Math.max(blocks.length[i] * scale, 1), 2);
  }
}

function paintRectangles(context, scene, lane, row, rectangles) {
  const { scale, offset } = transform(scene);
  const isGap = row.kind === "gaps";
  const least = isGap ? 0 : 1.5;
  for (let i = 0; i < rectangles.size; i += 1) {
    const left = rectangles.start[i] * scale + offset;
    const right = left + Math.max(rectangles.length[i] * scale, least);
    if (left > scene.width || right < 0) continue;
    const colour = row.palette[rectangles.colour[i]];
    const x = Math.max(left, -1);
    const width = Math.min(right, scene.width + 1) - x;
    const faint = scene.searching && !rectangles.matched[i];
    context.globalAlpha = faint ? FAINT : isGap && right - left < GAP_BOX_PX ? 0.45 : 1;
    context.fillStyle = scene.palette.fills[colour];
    context.fillRect(x, lane.top, width > 5 && !isGap ? width - 1 : width, lane.height);
    if (width > TEXTURE_PX) texture(context, scene, lane, row, colour, x, width, rectangles.name[i]);
    if (rectangles.matched[i]) outline(context, scene, x, lane, width);
    if (width > LABEL_PX) label(context, scene, lane, row, colour, x, width, rectangles, i);
  }
}

/** What colour alone does not say: a fused kernel has a dashed edge, unattributed time is hatched, a sync outlined. */
function texture(context, scene, lane, row, colour, x, width, name) {
  if (row.table === "work" && /^triton_.*fused/.test(scene.nameOf(row, name))) {
    context.fillStyle = scene.palette.inks[colour];
    for (let dash = x; dash < x + width - 3; dash += 6) context.fillRect(dash, lane.top, 3, 2);
  } else if (colour === "unattributed") {
    context.fillStyle = scene.palette.muted;
    for (let line = x + 2; line < x + width - 1; line += 6) context.fillRect(line, lane.top, 1, lane.height);
  } else if (colour === "host_sync" || colour === "call_sync" || colour === "call_sync_copy") {
    context.fillStyle = scene.palette.muted;
    for (const top of [lane.top, lane.top + lane.height - 1]) context.fillRect(x, top, width, 1);
    for (const left of [x, x + width - 1]) context.fillRect(left, lane.top, 1, lane.height);
  }
}

function outline(context, scene, x, lane, width) {
  context.fillStyle = scene.palette.ink;
  context.fillRect(x, lane.top, Math.max(width - 1, 1.5), 2);
}

function label(context, scene, lane, row, colour, x, width, rectangles, i) {
  const room = Math.floor((width - 8) / CHARACTER_PX);
  const text =
    row.kind === "gaps"
      ? gapText(scene, colour, rectangles.length[i], room)
      : eventText(scene, row, rectangles.name[i], room);
  if (!text || lane.height < 12) return;
  context.fillStyle = scene.palette.inks[colour];
  context.fillText(text, Math.max(x, 0) + 4, lane.top + lane.height / 2 + 0.5);
}

function gapText(scene, part, length, room) {
  const time = duration(length);
  const named = `${scene.labels[part]} ${time}`;
  if (named.length <= room) return named;
  return time.length <= room ? time : "";
}

function eventText(scene, row, code, room) {
  const name = scene.nameOf(row, code);
  const short = row.table === "work" ? shortName(name) : name;
  if (short.length <= room) return short;
  const number = /#\d+$/.exec(short)?.[0]; // of many layers, which one says more than "layer…"
  if (number?.length <= room) return number;
  return room >= 4 ? `${short.slice(0, room - 1)}…` : "";
}

function transform(scene) {
  const scale = scene.width / (scene.view.end - scene.view.start);
  return { scale, offset: (scene.detail.start - scene.view.start) * scale };
}
