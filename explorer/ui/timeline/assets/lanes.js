// Which rows are shown, in which lane, and how high is each? Rows of a device or a thread stand together.

const HEIGHTS = { step: 20, layer: 18, annotation: 16, stream: 36, copies: 22, operators: 17, calls: 13, gaps: 22 };
const SPACE_BETWEEN_GROUPS = 8;
const MOST_GROWTH = 1.5;
const SHOWN_STREAMS = 6;
const SHOWN_DEPTH = { first: 4, other: 2, cpuOnly: 8 };

/** What is shown at first: the busiest streams, the thread that launches most, the marks; the rest can be chosen. */
export function firstChoice(rows) {
  const hasWork = rows.some((row) => row.table === "work");
  const threads = [
    ...new Set(rows.filter((row) => row.table === "operators" || row.table === "calls").map((row) => row.group)),
  ];
  const busiest = [...rows].filter((row) => row.kind === "stream").sort((a, b) => b.count - a.count);
  const shownStreams = new Set(busiest.slice(0, SHOWN_STREAMS).map((row) => row.key));
  const depth = new Map(threads.map((group, index) => [group, openDepth(index, hasWork)]));
  const hidden = new Set();
  const hasMarks = rows.some((row) => row.kind === "step" || row.kind === "layer");
  for (const row of rows) {
    if (row.kind === "stream" && !shownStreams.has(row.key)) hidden.add(row.key);
    if (row.kind === "calls" && threads.indexOf(row.group) > 0) hidden.add(row.key);
    if (row.kind === "annotation" && (hasMarks || row.depth > 1 || threads.indexOf(row.group) > 0)) hidden.add(row.key);
  }
  return { hidden, depth };
}

function openDepth(index, hasWork) {
  if (!hasWork) return index === 0 ? SHOWN_DEPTH.cpuOnly : SHOWN_DEPTH.first;
  if (index === 0) return SHOWN_DEPTH.first;
  return index < 3 ? SHOWN_DEPTH.other : 0;
}

/**
 * `{lanes, height}`: each lane `{top, height, rows, row, kind, group, opens, depth}`, top to bottom. Lanes grow up to
 * half again to use the `room` in pixels.
 */
export function layLanes(rows, choice, room) {
  const plain = stacked(rows, choice, 1);
  const growth = Math.min(Math.max(room / plain.height, 1), MOST_GROWTH);
  return growth > 1.05 ? stacked(rows, choice, growth) : plain;
}

function stacked(rows, choice, growth) {
  const lanes = [];
  let top = 0;
  let group = null;
  const busiest = busiestStreams(rows, choice);
  for (const row of rows) {
    if (!isShown(row, choice) || row.kind === "gaps") continue;
    if (group !== null && row.group !== group) top += SPACE_BETWEEN_GROUPS;
    const opens = row.group !== group;
    group = row.group;
    const gaps = busiest.get(row.key);
    const height = Math.round(HEIGHTS[row.kind] * growth);
    lanes.push({ top, height, rows: gaps ? [gaps, row] : [row], kind: row.kind, group, opens, depth: row.depth, row });
    top += height + (row.kind === "operators" ? 0 : 2);
  }
  return { lanes, height: Math.max(top, 24) };
}

/** The gaps of a device lie in the lane of its busiest shown stream: no stream works during a gap. */
function busiestStreams(rows, choice) {
  const found = new Map();
  for (const gaps of rows.filter((row) => row.kind === "gaps" && !choice.hidden.has(row.key))) {
    const streams = rows.filter((row) => row.table === "work" && row.group === gaps.group && isShown(row, choice));
    const most = streams.sort((a, b) => b.count - a.count)[0];
    if (most) found.set(most.key, gaps);
  }
  return found;
}

/** Whether a row is to be drawn: not hidden, and not deeper than its thread is opened. */
export function isShown(row, choice) {
  if (choice.hidden.has(row.key)) return false;
  return row.kind !== "operators" || row.depth < (choice.depth.get(row.group) ?? 0);
}

/** The lane at a height, or null between lanes. */
export function laneAt(lanes, y) {
  return lanes.find((lane) => y >= lane.top && y < lane.top + lane.height) ?? null;
}
