"""What is drawn of a row between two times at a given width? Exact rectangles where they are wide enough, else blocks.

    events   |a||b|c|d|e|        |----f----|  |g|h|i|
    drawn    [ 5, 80 % ]         [----f----]  [ 3, 95 % ]

A block stands for neighbouring events that are each narrower than the threshold: their number, their busy time, and
the colour that most of that time has. Nothing is sampled: every event is in exactly one rectangle or block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from explorer.analysis.timeline_rows import Row
from explorer.analysis.timeline_sums import CHUNK, Indices, Times, between, distinct

EXACT_PX = 2
"""Events at least this wide are drawn as they are."""
BLOCK_PX = 2
"""A block gathers events that start within this many pixels."""
EVERYTHING = 3000
"""Up to this many events in view are all drawn exactly."""
_ALIKE_BLOCKS = 12  # neighbouring blocks that look the same become one, up to this many
_SHADES = 12  # busy shares that can be told apart


@dataclass(frozen=True)
class Window:
    """The times `[start_ns, end_ns)` drawn over `width_px` pixels."""

    start_ns: int
    end_ns: int
    width_px: int

    @property
    def ns_per_px(self) -> float:
        return (self.end_ns - self.start_ns) / self.width_px


@dataclass(frozen=True)
class Detail:
    """What to draw of one row.

    `event` are the indices of the exact rectangles in the row. A block i holds the events `block_first[i]` to
    `block_last[i]` (exclusive); it spans `[block_start_ns[i], block_end_ns[i])`, of which `block_busy_ns[i]` are
    covered by them, most of it in the palette's colour `block_colour[i]`.
    """

    row: Row
    event: Indices
    block_first: Indices
    block_last: Indices
    block_start_ns: Times
    block_end_ns: Times
    block_busy_ns: Times
    block_colour: npt.NDArray[np.uint8]


def details(rows: list[Row], window: Window) -> list[Detail]:
    """What to draw of each row; everything exactly when few events are in view of all rows together."""
    in_view = [row.window(window.start_ns, window.end_ns) for row in rows]
    all_exact = sum(last - first for first, last in in_view) <= EVERYTHING
    return [detail(row, window, all_exact=all_exact) for row in rows]


def detail(row: Row, window: Window, *, all_exact: bool = False) -> Detail:
    """What to draw of one row."""
    first, last = row.window(window.start_ns, window.end_ns)
    if all_exact:
        return _blocks(row, np.arange(first, last), np.zeros(0, np.int64), np.zeros(0, np.int64))
    wide = _wide_events(row, first, last, window.ns_per_px * EXACT_PX)
    block_first, block_last = _runs(row, window, first, last, wide)
    return _merged(_blocks(row, wide, block_first, block_last), window)


def _wide_events(row: Row, first: int, last: int, threshold_ns: float) -> Indices:
    """Indices of the events of at least that length; looks only into chunks that hold one."""
    if last <= first:
        return np.zeros(0, np.int64)
    chunks = np.flatnonzero(row.longest_ns[first // CHUNK : (last - 1) // CHUNK + 1] >= threshold_ns) + first // CHUNK
    event = (chunks[:, None] * CHUNK + np.arange(CHUNK)[None, :]).ravel()
    event = event[(event >= first) & (event < last)]
    kept: Indices = event[row.end_ns[event] - row.start_ns[event] >= threshold_ns]
    return kept


def _runs(row: Row, window: Window, first: int, last: int, wide: Indices) -> tuple[Indices, Indices]:
    """Index ranges of the narrow events between wide ones, cut where a bin of the pixel grid begins."""
    if last <= first:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    bin_ns = max(window.ns_per_px * BLOCK_PX, 1.0)
    # Bins lie on a grid that starts at time 0, so that blocks keep their shape while the view moves.
    edge_times = np.arange(np.floor(window.start_ns / bin_ns), np.ceil(window.end_ns / bin_ns) + 1) * bin_ns
    cuts = np.searchsorted(row.start_ns[first:last], edge_times.astype(np.int64), side="left") + first
    edges = distinct(np.concatenate([[first, last], cuts, wide, wide + 1]))
    edges = edges[(edges >= first) & (edges <= last)]
    is_wide = np.isin(edges[:-1], wide, assume_unique=True)
    return edges[:-1][~is_wide], edges[1:][~is_wide]


def _blocks(row: Row, wide: Indices, first: Indices, last: Indices) -> Detail:
    if len(first) == 0:
        empty = np.zeros(0, np.int64)
        return Detail(row, wide, empty, empty, empty, empty, empty, np.zeros(0, np.uint8))
    edges = distinct(np.concatenate([first, last]))
    by_colour = between(row.sums, row.start_ns, row.end_ns, row.reach_ns, row.colour, edges=edges)
    by_colour = by_colour[np.searchsorted(edges, first)]
    return Detail(
        row=row,
        event=wide,
        block_first=first,
        block_last=last,
        block_start_ns=row.start_ns[first],
        block_end_ns=_latest_ends(row, first, last),
        block_busy_ns=by_colour.sum(axis=1),
        block_colour=by_colour.argmax(axis=1).astype(np.uint8),
    )


def _latest_ends(row: Row, first: Indices, last: Indices) -> Times:
    if row.reach_ns is row.end_ns:
        return row.end_ns[last - 1]
    low = int(first[0])
    pairs = np.column_stack([first, last]).ravel() - low
    ends: Times = np.maximum.reduceat(np.append(row.end_ns[low : int(last[-1])], np.iinfo(np.int64).min), pairs)[::2]
    return ends


def _merged(blocks: Detail, window: Window) -> Detail:
    """Neighbouring blocks of one colour and shade, with no visible space between them, become one."""
    count = len(blocks.block_first)
    if count < 2:
        return blocks
    length = np.maximum(blocks.block_end_ns - blocks.block_start_ns, 1)
    shade = np.minimum(blocks.block_busy_ns * _SHADES // length, _SHADES)
    apart = np.maximum(blocks.block_start_ns[1:] - blocks.block_end_ns[:-1], 0) >= window.ns_per_px * BLOCK_PX
    differs = (
        apart
        | (blocks.block_first[1:] != blocks.block_last[:-1])
        | (blocks.block_colour[1:] != blocks.block_colour[:-1])
        | (shade[1:] != shade[:-1])
    )
    run_start = np.concatenate([[0], np.flatnonzero(differs) + 1])
    place = np.arange(count) - np.repeat(run_start, np.diff(np.append(run_start, count)))
    begins = np.flatnonzero(place % _ALIKE_BLOCKS == 0)
    return Detail(
        row=blocks.row,
        event=blocks.event,
        block_first=blocks.block_first[begins],
        block_last=blocks.block_last[np.append(begins[1:], count) - 1],
        block_start_ns=blocks.block_start_ns[begins],
        block_end_ns=np.maximum.reduceat(blocks.block_end_ns, begins),
        block_busy_ns=np.add.reduceat(blocks.block_busy_ns, begins),
        block_colour=blocks.block_colour[begins],
    )
