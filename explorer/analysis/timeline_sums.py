"""How much busy time, of which colour, lies before the i-th event of a row? Exact, in a byte or two an event.

    event      0 1 2 3 | 4 5 6 7 | 8 9          sums are kept at every bar, the rest is added when asked

A prefix sum a colour would cost 8 bytes an event and colour; at every 32nd event it costs a quarter of a byte.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int64]
Colours = npt.NDArray[np.uint8]

CHUNK = 32


@dataclass(frozen=True)
class ColourSums:
    """Busy time by colour up to every 32nd event: `at_chunk[i, c]` is that of colour c in the first 32·i events."""

    at_chunk: npt.NDArray[np.int64]

    @property
    def size_bytes(self) -> int:
        return self.at_chunk.nbytes


def distinct(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The distinct values in ascending order; for long columns many times faster than `np.unique`'s hashing."""
    ordered = np.sort(values)
    if len(ordered) == 0:
        return ordered
    kept: npt.NDArray[np.int64] = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])]
    return kept


def own_time(start_ns: Times, end_ns: Times, reach_before_ns: Times) -> Times:
    """What each event adds to the union of those before it; sorted by start, so that the sum is the union's length.

    `reach_before_ns` is the latest end among the events before each one.
    """
    return np.maximum(end_ns - np.maximum(start_ns, reach_before_ns), 0)


def reach_before(reach_ns: Times, first: int, last: int) -> Times:
    """The latest end before each of the events `first` to `last` (exclusive), given the running maximum of ends."""
    before = np.empty(last - first, np.int64)
    if last > first:
        before[1:] = reach_ns[first : last - 1]
        before[0] = reach_ns[first - 1] if first > 0 else np.iinfo(np.int64).min
    return before


def sum_by_colour(own_ns: Times, colour: Colours, colour_count: int) -> ColourSums:
    """The sums of a row, built once."""
    chunk_count = -(-len(own_ns) // CHUNK)
    totals = np.zeros((chunk_count + 1, colour_count), np.int64)
    edges = np.arange(0, len(own_ns), CHUNK)
    for code in range(colour_count):
        if len(edges):
            totals[1:, code] = np.add.reduceat(np.where(colour == code, own_ns, 0), edges)
    return ColourSums(np.cumsum(totals, axis=0))


def between(
    sums: ColourSums, start_ns: Times, end_ns: Times, reach_ns: Times, colour: Colours, *, edges: Indices
) -> npt.NDArray[np.int64]:
    """Busy time by colour of the events between consecutive `edges` (ascending event indices): one row an interval.

    Looks at every event in view when they are few, at up to 32 an edge when they are many.
    """
    first, last = int(edges[0]), int(edges[-1])
    colour_count = sums.at_chunk.shape[1]
    if last - first <= CHUNK * len(edges):
        own = own_time(start_ns[first:last], end_ns[first:last], reach_before(reach_ns, first, last))
        interval = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        return _binned(interval, colour[first:last], own, len(edges) - 1, colour_count)
    return np.diff(_before(sums, start_ns, end_ns, reach_ns, colour, edges=edges), axis=0)


def _before(
    sums: ColourSums, start_ns: Times, end_ns: Times, reach_ns: Times, colour: Colours, *, edges: Indices
) -> npt.NDArray[np.int64]:
    chunk = edges // CHUNK
    position = (chunk * CHUNK)[:, None] + np.arange(CHUNK)[None, :]
    edge_of, offset = np.nonzero(position < edges[:, None])
    event = position[edge_of, offset]
    earlier = np.where(event > 0, reach_ns[np.maximum(event - 1, 0)], np.iinfo(np.int64).min)
    own = own_time(start_ns[event], end_ns[event], earlier)
    tail = _binned(edge_of, colour[event], own, len(edges), sums.at_chunk.shape[1])
    totals: npt.NDArray[np.int64] = sums.at_chunk[chunk] + tail
    return totals


def _binned(
    bin_of: Indices, colour: Colours, own_ns: Times, bin_count: int, colour_count: int
) -> npt.NDArray[np.int64]:
    # Float64 weights are exact here: no interval of events is longer than 2**53 ns, 104 days.
    flat = np.bincount(bin_of * colour_count + colour, weights=own_ns, minlength=bin_count * colour_count)
    return flat.astype(np.int64).reshape(bin_count, colour_count)
