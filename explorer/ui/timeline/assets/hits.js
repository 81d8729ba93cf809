// What lies under the pointer? A rectangle, a block, or nothing; a narrow one can be hit from a few pixels away.

import { laneAt } from "./lanes.js";

const REACH_PX = 3;

/**
 * `{lane, row, event, count, start, end, busy, colour}` in the trace's nanoseconds, or null. `event` is the first event
 * of a block of several; `name` is the name's code, unknown for a block.
 */
export function hitAt(pane, x, y) {
  const lane = laneAt(pane.lanes, y);
  if (!lane) return null;
  const at = pane.time(x) - pane.detail.start;
  const reach = (REACH_PX / pane.width) * (pane.range.end - pane.range.start);
  let best = null;
  for (const row of lane.rows) {
    const drawn = pane.detail.rows.get(row.key);
    if (!drawn) continue;
    best = closer(best, nearest(drawn.rectangles, at, reach), lane, row, drawn.rectangles);
    best = closer(best, nearest(drawn.blocks, at, reach), lane, row, drawn.blocks);
  }
  return best && described(best, pane.detail.start);
}

function nearest(columns, at, reach) {
  let found = { index: -1, distance: Infinity, length: Infinity };
  for (let i = 0; i < columns.size; i += 1) {
    const start = columns.start[i];
    if (start > at + reach) break;
    const distance = Math.max(start - at, at - start - columns.length[i], 0);
    const better = distance < found.distance || (distance === found.distance && columns.length[i] < found.length);
    if (distance <= reach && better) found = { index: i, distance, length: columns.length[i] };
  }
  return found;
}

function closer(best, found, lane, row, columns) {
  if (found.index < 0) return best;
  // Work wins over the gap beside it, so that a kernel of one pixel can be hit.
  const rank = row.kind === "gaps" ? 1 : 0;
  if (best && (best.rank < rank || (best.rank === rank && best.distance <= found.distance))) return best;
  return { ...found, rank, lane, row, columns };
}

function described({ index, lane, row, columns }, origin) {
  const isBlock = columns.count !== undefined;
  const start = columns.start[index] + origin;
  return {
    lane,
    row,
    event: isBlock ? columns.first[index] : columns.event[index],
    count: isBlock ? columns.count[index] : 1,
    start,
    end: start + columns.length[index],
    busy: isBlock ? columns.busy[index] : columns.length[index],
    name: isBlock ? null : columns.name[index],
    colour: row.palette[columns.colour[index]],
  };
}
