"""How do half-open spans `[start, end)` lie to each other? Unions, cover, nesting, the innermost one at a time.

Plain numpy on int64 nanoseconds, so that every sum is exact. Nothing here knows what a span stands for.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]
_DEEPEST_SHORT = np.iinfo(np.int16).max
NO_ROW = -1
"""Stands for "none" in row arrays inside the program; tables hold null instead."""


def distinct_rows(rows: npt.NDArray[np.integer[Any]]) -> Rows:
    """The row numbers (or codes) that occur, in order, without NO_ROW; several times faster than np.unique."""
    named = np.zeros(int(rows.max(initial=NO_ROW)) + 2, bool)  # the last one serves NO_ROW
    named[rows.astype(np.intp, copy=False)] = True  # numpy takes other integers one by one
    return np.flatnonzero(named[:-1])


def by_start(start: Times, then: Times) -> Rows:
    """The order by start, and of those that start together by `then`; fast where starts are in order already."""
    order = np.argsort(start, kind="stable")
    tied = start[order][1:] == start[order][:-1]
    if tied.any():
        places = np.flatnonzero(np.concatenate([[False], tied]) | np.concatenate([tied, [False]]))
        rows = order[places]
        order[places] = rows[np.lexsort((then[rows], start[rows]))]
    return order


@dataclass(frozen=True)
class Cover:
    """Disjoint, sorted, non-touching spans, and how much of them lies before any time."""

    start: Times
    end: Times
    length_before: Times  # of the spans before each one, and of all of them at the end

    @property
    def total(self) -> int:
        """Length of all spans together."""
        return int(self.length_before[-1])

    def before(self, times: Times) -> Times:
        """Covered length before each time."""
        index = np.searchsorted(self.start, times, side="right")
        overhang = np.zeros(len(times), np.int64)
        inside = index > 0
        overhang[inside] = np.maximum(self.end[index[inside] - 1] - times[inside], 0)
        return np.asarray(self.length_before[index] - overhang)

    def holds(self, times: Times) -> npt.NDArray[np.bool_]:
        """Which of the times are covered."""
        if len(self.start) == 0:
            return np.zeros(len(times), bool)
        place = np.searchsorted(self.start, times, side="right") - 1
        return np.asarray((place >= 0) & (times < self.end[np.maximum(place, 0)]))

    def within(self, start: Times, end: Times) -> Times:
        """Covered length inside each `[start, end)`; an empty or reversed one holds 0."""
        inside = self.before(np.maximum(end, start)) - self.before(start)
        return np.asarray(np.maximum(inside, 0))


def union(start: Times, end: Times) -> Cover:
    """The union of spans in any order; empty and reversed ones add nothing, touching ones become one.

    ..AAAA....
    ....BBBB..   → one span of six
    """
    real = end > start
    start, end = start[real], end[real]
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    if len(start) == 0:
        empty = np.zeros(0, np.int64)
        return Cover(empty, empty, np.zeros(1, np.int64))
    reach = np.maximum.accumulate(end)
    opens = np.concatenate([[True], start[1:] > reach[:-1]])
    first = np.flatnonzero(opens)
    merged_start = start[first]
    merged_end = reach[np.concatenate([first[1:] - 1, [len(start) - 1]])]
    lengths = np.concatenate([[0], np.cumsum(merged_end - merged_start)])
    return Cover(merged_start, merged_end, lengths)


@dataclass(frozen=True)
class Nesting:
    """Depth (0 = outermost) and parent row of each span, and how many end after their parent."""

    depth: npt.NDArray[np.int32]
    parent: Rows
    crossing_count: int


def nest(start: Times, end: Times) -> Nesting:
    """The nesting of the spans of one thread, sorted by start and then by end descending.

    A span's parent is the latest one before it that is still open. Spans that cross (end after their parent) are
    legal and counted. No recursion: a stack of 1,500 frames is as good as one of 3.
    """
    depth = _open_before(start, end)
    parent = _parents_by_depth(depth)
    if _crosses(end, parent).any():  # the latest span of the depth above may have closed before
        parent = _parents_one_by_one(start, end)
    return Nesting(depth.astype(np.int32), parent, int(_crosses(end, parent).sum()))


def _crosses(end: Times, parent: Rows) -> npt.NDArray[np.bool_]:
    return np.asarray((end[parent] < end) & (parent != NO_ROW))


def innermost_at(times: Times, rows: Rows, start: Times, end: Times, parent: Rows) -> Rows:
    """The innermost of some spans that is open at each time, NO_ROW for none: the one that `innermost` tells too.

    `rows` are one thread's spans, sorted as `nest` takes them; `start`, `end` and `parent` are those of all threads.
    Whatever lies between a span and its parent is closed by the time the span starts, so climbing finds the answer.
    """
    if len(rows) == 0:
        return np.full(len(times), NO_ROW, np.int64)
    place = np.searchsorted(start[rows], times, side="right") - 1
    found = np.where(place >= 0, rows[np.maximum(place, 0)], NO_ROW)
    climbing = np.flatnonzero(place >= 0)
    while len(climbing):
        climbing = climbing[end[found[climbing]] <= times[climbing]]
        found[climbing] = parent[found[climbing]]
        climbing = climbing[found[climbing] != NO_ROW]
    return found


def _open_before(start: Times, end: Times) -> Rows:
    position = np.arange(len(start))
    is_empty = end <= start
    closed = np.searchsorted(np.sort(end[~is_empty]), start, side="right")
    empty_before: Rows = np.cumsum(is_empty) - is_empty
    return np.asarray(position - closed - empty_before)


def _parents_by_depth(depth: Rows) -> Rows:
    parent = np.full(len(depth), NO_ROW, np.int64)
    deepest = depth.max(initial=-1)
    # numpy sorts integers of 16 bits by their digits, several times as fast as larger ones
    order = np.argsort(depth.astype(np.int16) if deepest < _DEEPEST_SHORT else depth, kind="stable")
    edges = np.searchsorted(depth[order], np.arange(deepest + 2))
    for level in range(1, len(edges) - 1):
        above = order[edges[level - 1] : edges[level]]
        here = order[edges[level] : edges[level + 1]]
        parent[here] = above[np.searchsorted(above, here) - 1]
    return parent


def _parents_one_by_one(start: Times, end: Times) -> Rows:
    """Each span's parent, crossing or not: the top of a stack whose closed spans go when they are met on the top.

    Whatever closed below an open one stays until then: no later span can have it for a parent.
    """
    parent = np.full(len(start), NO_ROW, np.int64)
    ends = end.tolist()
    stack: list[int] = []
    for row, now in enumerate(start.tolist()):
        while stack and ends[stack[-1]] <= now:
            stack.pop()
        if stack:
            parent[row] = stack[-1]
        stack.append(row)
    return parent


@dataclass(frozen=True)
class Innermost:
    """A step function: from `time[i]` to `time[i + 1]` the innermost open span is `row[i]` (NO_ROW: none)."""

    time: Times
    row: Rows

    def at(self, times: Times) -> Rows:
        """The innermost span that contains each time, or NO_ROW."""
        if len(self.time) == 0:
            return np.full(len(times), NO_ROW, np.int64)
        index = np.searchsorted(self.time, times, side="right") - 1
        return np.where(index >= 0, self.row[np.maximum(index, 0)], NO_ROW)


def innermost(start: Times, end: Times) -> Innermost:
    """The innermost open span at any time: the one that started last; among equals the later row.

    Takes the spans of one thread sorted by start and then by end descending; empty ones are never open.
    """
    rows = np.flatnonzero(end > start)
    nesting = nest(start[rows], end[rows])
    if nesting.crossing_count:
        return _innermost_one_by_one(start, end, rows)
    parents = np.where(nesting.parent >= 0, rows[nesting.parent], NO_ROW)
    # At one time ends come before starts, deep ends before shallow ones (later rows lie deeper), shallow starts before
    # deep ones: so they stand here, and a stable sort keeps it. Both halves are nearly in order, which makes it fast.
    time = np.concatenate([end[rows][::-1], start[rows]])
    opened = np.concatenate([parents[::-1], rows])
    order = np.argsort(time, kind="stable")
    return _last_of_each_time(time[order], opened[order])


def _innermost_one_by_one(start: Times, end: Times, rows: Rows) -> Innermost:
    edges = sorted({*start[rows].tolist(), *end[rows].tolist()})
    waiting = list(zip(start[rows].tolist(), rows.tolist(), strict=True))
    ends = end.tolist()
    heap: list[tuple[int, int]] = []
    chosen, position = [], 0
    for now in edges:
        while position < len(waiting) and waiting[position][0] <= now:
            since, row = waiting[position]
            heapq.heappush(heap, (-since, -row))
            position += 1
        while heap and ends[-heap[0][1]] <= now:
            heapq.heappop(heap)
        chosen.append(-heap[0][1] if heap else NO_ROW)
    return Innermost(np.array(edges, np.int64), np.array(chosen, np.int64))


def _last_of_each_time(time: Times, row: Rows) -> Innermost:
    if len(time) == 0:
        return Innermost(time, row)
    is_last = np.concatenate([time[1:] != time[:-1], [True]])
    return Innermost(time[is_last], row[is_last])
