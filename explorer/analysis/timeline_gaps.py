"""Which stretch of each gap of a device belongs to which part, at which time? The gaps row of the timeline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from explorer import spans
from explorer.analysis.timeline_sums import Times
from explorer.trace import Trace, codes_and_words, values, values_or

IDLE_PARTS = (
    "inside_graph",
    "device_latency",
    "launch_call",
    "dispatch",
    "compile_and_guards",
    "python_and_host",
    "allocator",
    "host_sync",
    "unattributed",
)
_NO_ROW = -1


@dataclass(frozen=True)
class GapPieces:
    """The gaps of one device, cut where the part changes; sorted by time, and every gap's pieces add up to it.

    Piece i is `[start_ns[i], end_ns[i])`, of part `IDLE_PARTS[part[i]]`, in gap `gap[i]`. Gap j is
    `[gap_start_ns[j], gap_end_ns[j])` and ended by the work in row `ended_by[j]`.
    """

    start_ns: Times
    end_ns: Times
    part: npt.NDArray[np.uint8]
    gap: npt.NDArray[np.int32]
    gap_start_ns: Times
    gap_end_ns: Times
    ended_by: npt.NDArray[np.int32]

    @property
    def size_bytes(self) -> int:
        """Bytes of what the gaps row does not hold already."""
        return self.gap.nbytes + self.gap_start_ns.nbytes + self.gap_end_ns.nbytes + self.ended_by.nbytes


def gap_pieces(trace: Trace, device: str) -> GapPieces:
    """The gaps of that device over the whole trace, by their parts."""
    codes, words = codes_and_words(trace.work, "device")
    rows = np.flatnonzero(codes == words.index(device))
    start, end = values(trace.work, "start_ns")[rows], values(trace.work, "end_ns")[rows]
    cover = spans.union(start, end)
    gap_start, gap_end = cover.end[:-1], cover.start[1:]
    ended_by = rows[np.searchsorted(start, gap_end, side="left")]
    call = values_or(trace.work, "call_row", _NO_ROW)[ended_by]
    submitted = np.where(call >= 0, values(trace.calls, "end_ns")[np.maximum(call, 0)] if len(trace.calls) else 0, 0)
    cut = np.clip(submitted, gap_start, gap_end)
    position = values_or(trace.work, "position_in_launch", 0)[ended_by]
    late = IDLE_PARTS.index("dispatch")
    rest = np.where(call < 0, IDLE_PARTS.index("unattributed"), IDLE_PARTS.index("device_latency"))
    rest = np.where((call >= 0) & (position > 0), IDLE_PARTS.index("inside_graph"), rest)
    cut = np.where(rest == IDLE_PARTS.index("device_latency"), cut, gap_start)
    piece_start = np.column_stack([gap_start, cut]).ravel()
    piece_end = np.column_stack([cut, gap_end]).ravel()
    part = np.column_stack([np.full(len(rest), late), rest]).ravel()
    kept = piece_end > piece_start
    gap = np.repeat(np.arange(len(gap_start)), 2)
    return GapPieces(
        start_ns=piece_start[kept],
        end_ns=piece_end[kept],
        part=part[kept].astype(np.uint8),
        gap=gap[kept].astype(np.int32),
        gap_start_ns=gap_start,
        gap_end_ns=gap_end,
        ended_by=ended_by.astype(np.int32),
    )
