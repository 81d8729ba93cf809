"""Which stretch of each gap of a device belongs to which part, at which time? The gaps row of the timeline.

`analysis.idle` says how long each part of a gap is; to draw it the timeline needs to know when it is.

    host     .PPDDLLLL......
    stream 7 K.........KKK
    pieces    PPDDLLLL=          python_and_host, dispatch, launch_call, device_latency
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from explorer.analysis.idle import HOST_PARTS, PARTS, Gaps, gaps_of, host_covers, launching_threads
from explorer.analysis.timeline_sums import distinct
from explorer.analysis.windows import DeviceWindows, device_windows
from explorer.spans import NO_ROW, Cover, Rows, Times
from explorer.trace import Trace, codes_and_words, values

Parts = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class GapPieces:
    """The gaps of one device, cut where the part changes; sorted by time, and every gap's pieces add up to it.

    Piece i is `[start_ns[i], end_ns[i])`, of part `PARTS[part[i]]`. Gap j has the pieces `first_piece[j]` up to
    `first_piece[j + 1]` and was ended by the work in row `ended_by[j]`; `drained_by` has the row of the blocking call
    after which the host started from nothing, for those gaps that have one.
    """

    start_ns: Times
    end_ns: Times
    part: Parts
    first_piece: npt.NDArray[np.int32]
    ended_by: npt.NDArray[np.int32]
    drained_by: Mapping[int, int]

    @property
    def size_bytes(self) -> int:
        """Bytes of what the gaps row does not hold already."""
        return self.first_piece.nbytes + self.ended_by.nbytes

    @property
    def count(self) -> int:
        """Number of gaps."""
        return len(self.ended_by)

    @property
    def gap_start_ns(self) -> Times:
        """Start of every gap."""
        return self.start_ns[self.first_piece[:-1]]

    @property
    def gap_end_ns(self) -> Times:
        """End of every gap."""
        return self.end_ns[self.first_piece[1:] - 1]

    def gap_of(self, piece: int) -> int:
        """The gap that a piece belongs to."""
        return int(np.searchsorted(self.first_piece, piece, side="right")) - 1

    def span(self, gap: int) -> tuple[int, int]:
        """(start, end) of one gap."""
        return int(self.start_ns[self.first_piece[gap]]), int(self.end_ns[self.first_piece[gap + 1] - 1])

    def parts_of(self, gap: int) -> dict[str, int]:
        """Nanoseconds of each part of a gap; parts that it does not have are left out."""
        pieces = slice(int(self.first_piece[gap]), int(self.first_piece[gap + 1]))
        length = self.end_ns[pieces] - self.start_ns[pieces]
        sums = np.bincount(self.part[pieces], weights=length, minlength=len(PARTS)).astype(np.int64)
        return {part: int(total) for part, total in zip(PARTS, sums, strict=True) if total}

    def gap_before(self, time_ns: int) -> int | None:
        """The gap that ends at that time, or None."""
        piece = int(np.searchsorted(self.start_ns, time_ns, side="left")) - 1
        if piece < 0 or int(self.end_ns[piece]) != time_ns:
            return None
        return self.gap_of(piece)


def gap_pieces(trace: Trace, device: str) -> GapPieces:
    """The gaps of that device from the first step's start, or its first work, to its last work, by their parts."""
    windows = _from_first_step(trace, device_windows(trace, device, "trace"))
    gaps = gaps_of(trace, windows)
    columns = [np.concatenate(parts) for parts in zip(*_cut(trace, windows, gaps), strict=True)]
    order = np.argsort(columns[0], kind="stable")
    start, end, part, gap = (column[order] for column in columns)
    return GapPieces(
        start_ns=start,
        end_ns=end,
        part=part.astype(np.uint8),
        first_piece=np.searchsorted(gap, np.arange(len(gaps.start_ns) + 1)).astype(np.int32),
        ended_by=windows.pieces.row[gaps.ending].astype(np.int32),
        drained_by={int(gap): int(gaps.drained_by[gap]) for gap in np.flatnonzero(gaps.drained_by != NO_ROW)},
    )


def _from_first_step(trace: Trace, windows: DeviceWindows) -> DeviceWindows:
    """The whole trace as one window; the wait between the first step's start and the first work is a gap too."""
    codes, words = codes_and_words(trace.annotations, "kind")
    steps = values(trace.annotations, "start_ns")[codes == words.index("step")] if "step" in words else ()
    if len(steps) == 0 or not windows.windows:
        return windows
    whole = windows.windows[0]
    return replace(windows, windows=(replace(whole, start_ns=min(whole.start_ns, int(min(steps)))),))


def _cut(trace: Trace, windows: DeviceWindows, gaps: Gaps) -> Iterator[tuple[Times, Times, Rows, Rows]]:
    """(start, end, part, gap) of every piece, those of one kind together."""
    number = np.arange(len(gaps.start_ns))
    late_ns = gaps.late_host_ns
    for part in ("inside_graph", "unattributed", "device_latency"):
        length = gaps.parts[part]
        chosen = number[length > 0]
        end = gaps.end_ns[chosen]
        yield end - length[chosen], end, np.full(len(chosen), PARTS.index(part)), chosen
    late = number[late_ns > 0]
    for thread, members in launching_threads(trace, windows.pieces, gaps.launch_row[late]).items():
        mine = late[members]
        times, parts = _thread_parts(host_covers(trace, thread))
        start = gaps.start_ns[mine]
        yield _crossed(times, parts, start, start + late_ns[mine], mine)


def _thread_parts(covers: Sequence[Cover]) -> tuple[Times, Rows]:
    """What a thread does from each time on, as a position in PARTS: that of the first cover around the time."""
    before_all = np.iinfo(np.int64).min
    edges = distinct(np.concatenate([[before_all], *(time for cover in covers for time in (cover.start, cover.end))]))
    parts = np.full(len(edges), PARTS.index("python_and_host"))
    for name, cover in reversed(list(zip(HOST_PARTS, covers, strict=False))):
        if len(cover.start):
            place = np.searchsorted(cover.start, edges, side="right") - 1
            parts[(place >= 0) & (cover.end[np.maximum(place, 0)] > edges)] = PARTS.index(name)
    changes = np.concatenate([[True], parts[1:] != parts[:-1]])
    return edges[changes], parts[changes]


def _crossed(times: Times, parts: Rows, start: Times, end: Times, gap: Rows) -> tuple[Times, Times, Rows, Rows]:
    """Every `[start, end)` cut at the times inside of it."""
    first = np.searchsorted(times, start, side="right")
    last = np.searchsorted(times, end, side="left")
    count = last - first + 1
    owner = np.repeat(np.arange(len(start)), count)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    step = first[owner] + place
    padded = np.append(times, np.iinfo(np.int64).max)
    begin = np.where(place == 0, start[owner], padded[step - 1])
    until = np.where(place == count[owner] - 1, end[owner], padded[step])
    return begin, until, parts[step - 1], gap[owner]
