"""Where to look next? The longest kernels and gaps, the next match, and the same kernel in the other run."""

from __future__ import annotations

import numpy as np

from explorer.analysis.timeline_build import Step, Timeline
from explorer.analysis.timeline_places import Place, place_at, place_of
from explorer.analysis.timeline_rows import Row
from explorer.analysis.timeline_search import Matches
from explorer.spans import Rows
from explorer.trace import values


def longest_work(timeline: Timeline, rank: int, start_ns: int, end_ns: int) -> Place | None:
    """The work with the rank-th longest duration (0 = the longest) of that which starts in a window."""
    found = [
        (int(row.end_ns[event] - row.start_ns[event]), index, event)
        for index, row in enumerate(timeline.rows)
        if row.table == "work"
        for event in _longest_events(row, rank + 1, start_ns, end_ns)
    ]
    found.sort(key=lambda each: (-each[0], each[1], each[2]))
    return place_at(timeline, found[rank][1], found[rank][2]) if rank < len(found) else None


def _longest_events(row: Row, count: int, start_ns: int, end_ns: int) -> list[int]:
    first, last = np.searchsorted(row.start_ns, [start_ns, end_ns])
    length = row.end_ns[first:last] - row.start_ns[first:last]
    count = min(count, len(length))
    if count == 0:
        return []
    chosen = np.argpartition(-length, count - 1)[:count] + first
    return [int(event) for event in chosen]


def longest_gap(timeline: Timeline, rank: int, start_ns: int, end_ns: int) -> Place | None:
    """The first piece of the rank-th longest gap that starts in a window; its place spans the whole gap."""
    found = []
    for device, pieces in timeline.gaps.items():
        gap_start, gap_end = pieces.gap_start_ns, pieces.gap_end_ns
        first, last = np.searchsorted(gap_start, [start_ns, end_ns])
        length = gap_end[first:last] - gap_start[first:last]
        order = np.argsort(-length, kind="stable")[: rank + 1]
        found += [(int(length[place]), device, int(place + first)) for place in order]
    found.sort(key=lambda each: (-each[0], each[2]))
    if rank >= len(found):
        return None
    _, device, gap = found[rank]
    pieces = timeline.gaps[device]
    index = next(i for i, row in enumerate(timeline.rows) if row.name.key == f"gaps/{device}")
    return Place(index, int(pieces.first_piece[gap]), *pieces.span(gap))


def next_match(timeline: Timeline, matches: Matches, time_ns: int, *, forward: bool) -> Place | None:
    """The match that starts next after a time, or last before it, over all rows."""
    found = [
        place_at(timeline, index, event)
        for index, row in enumerate(timeline.rows)
        if row.table in matches.is_word and (event := matches.nearest(row, time_ns, forward=forward)) is not None
    ]
    if not found:
        return None
    return min(found, key=lambda place: place.start_ns) if forward else max(found, key=lambda place: place.start_ns)


def ordinal_in_step(timeline: Timeline, work_row: int, step: Step | None) -> tuple[str, int]:
    """A piece of work's name, and how many of that name were launched before it in the step (or in the trace)."""
    name = timeline.trace.work["name"][work_row].as_py()
    rows = _named(timeline, name, step)
    return name, int(np.searchsorted(rows, work_row))


def same_work(timeline: Timeline, name: str, ordinal: int, step: Step | None) -> Place | None:
    """The work of that name at that place in the step, the last one where there are fewer, None where there is none."""
    rows = _named(timeline, name, step)
    return place_of(timeline, "work", int(rows[min(ordinal, len(rows) - 1)])) if len(rows) else None


def _named(timeline: Timeline, name: str, step: Step | None) -> Rows:
    """Rows of the work of that name that starts in a step, in order."""
    table = next((row for row in timeline.rows if row.table == "work"), None)
    if table is None or name not in table.names.words:
        return np.zeros(0, np.int64)
    rows = np.flatnonzero(table.names.code == table.names.words.index(name))
    if step is None:
        return rows
    start = values(timeline.trace.work, "start_ns")[rows]
    return np.asarray(rows[(start >= step.start_ns) & (start < step.end_ns)])
