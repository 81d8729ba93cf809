"""Does work without a usable duration make the gaps of its own device uncertain, and no others?"""

from __future__ import annotations

import json

from explorer.analysis.gaps import gap_report
from tests.drawing import drawn_document
from tests.reading import trace_of_bytes, trace_of_events


def test_a_piece_dropped_from_one_rank_makes_that_ranks_gap_uncertain_only() -> None:
    rank = drawn_document("""
        host     A..B....
        stream 7 .a....b.
    """)
    kernel = rank["traceEvents"][-1]
    hurt = {**rank, "traceEvents": [*rank["traceEvents"], {**kernel, "ts": 30, "dur": -1}]}
    documents = [{**hurt, "distributedInfo": {"rank": 0}}, {**rank, "distributedInfo": {"rank": 1}}]

    report = gap_report(trace_of_bytes("\n".join(map(json.dumps, documents)).encode()), "trace")

    found = {device: child.value("uncertain_ns") for device, child in report.children.items()}
    assert found == {"rank0/0": 40_000, "rank1/0": 0}


def test_a_piece_dropped_from_one_process_makes_that_processs_gap_uncertain_only() -> None:
    kernels = [(process, start, 5) for process in (1, 2) for start in (0, 50)]
    work = {"ph": "X", "cat": "kernel", "name": "k", "tid": 7, "args": {"device": 0, "stream": 7}}
    events = [{**work, "pid": pid, "ts": ts, "dur": dur} for pid, ts, dur in [*kernels, (2, 20, -1)]]

    report = gap_report(trace_of_events(events), "trace")

    found = {device: child.value("uncertain_ns") for device, child in report.children.items()}
    assert found == {"1/0": 0, "2/0": 45_000}
