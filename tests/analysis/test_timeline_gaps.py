"""Do the pieces of the gaps row say what `analysis.idle` says, and lie where its drawing puts them?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from explorer.analysis.idle import PARTS, gaps_of
from explorer.analysis.timeline_build import build_timeline
from explorer.analysis.timeline_gaps import gap_pieces
from explorer.analysis.windows import device_windows
from explorer.trace import Trace
from tests.drawing import CHARACTER_NS, draw
from tests.shared import needs_shared, shared_traces


def test_pieces_lie_where_the_thread_did_what_they_say() -> None:
    pieces = gap_pieces(
        draw(
            """
            operators   ....aaaaaa...
            host        A.......BB...
            stream 7    .AA........BB
            """
        ),
        "0",
    )
    drawn = [
        (PARTS[part], start // CHARACTER_NS, end // CHARACTER_NS)
        for part, start, end in zip(pieces.part, pieces.start_ns.tolist(), pieces.end_ns.tolist(), strict=True)
    ]
    assert drawn == [
        ("python_and_host", 3, 4),
        ("dispatch", 4, 8),
        ("launch_call", 8, 10),
        ("device_latency", 10, 11),
    ]


@needs_shared
@pytest.mark.parametrize("path", shared_traces(), ids=lambda path: path.name.split(".")[0])
def test_pieces_add_up_to_every_part_of_every_gap(path: Path, read: Callable[[Path], Trace]) -> None:
    trace = read(path)
    timeline = build_timeline(trace)
    for device, pieces in timeline.gaps.items():
        gaps = gaps_of(trace, device_windows(trace, device, "trace"))
        head = len(pieces.gap_start_ns) - len(gaps.start_ns)  # the wait from the first step's start, where there is one
        assert head in (0, 1)
        length = pieces.end_ns - pieces.start_ns
        assert (length > 0).all()
        assert (pieces.start_ns[1:] >= pieces.end_ns[:-1]).all()
        for part, expected in gaps.parts.items():
            chosen = pieces.part == PARTS.index(part)
            gap = np.repeat(np.arange(pieces.count), np.diff(pieces.first_piece))
            sums = np.bincount(gap[chosen], weights=length[chosen], minlength=pieces.count)
            assert sums[head:].astype(int).tolist() == expected.tolist()
