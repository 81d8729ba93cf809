"""Do the pieces of the gaps row say what `analysis.idle` says, and lie where its drawing puts them?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from explorer.analysis.idle import PARTS, gaps_of
from explorer.analysis.timeline_build import build_timeline
from explorer.analysis.windows import device_windows
from explorer.ingest import read_trace

SHARED = Path(__file__).parents[3] / "shared"
TRACES = sorted((SHARED / "traces").glob("*.json.gz"))


@pytest.mark.skipif(not TRACES, reason="the shared traces are not beside this checkout")
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.split(".")[0])
def test_pieces_add_up_to_every_part_of_every_gap(path: Path) -> None:
    trace = read_trace(path)
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
            sums = np.bincount(pieces.gap[chosen], weights=length[chosen], minlength=len(pieces.gap_start_ns))
            assert sums[head:].astype(int).tolist() == expected.tolist()
