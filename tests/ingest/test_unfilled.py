"""Are records that were never filled in left out, and is what really begins at 0 kept?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.analysis.trust import trust_report
from explorer.ingest.fast import read_documents_fast
from explorer.ingest.open import open_source
from explorer.ingest.reading import trace_of_documents
from explorer.ingest.tolerant import read_documents
from explorer.trace import Trace
from tests.reading import trace_of_events

EPOCH_US = 1_615_207_264_505_000


def event(category: str, start_us: float, duration_us: float = 0, name: str = "k") -> dict[str, Any]:
    """An event of that category; its process and thread serve both sides."""
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": start_us, "dur": duration_us}


def unfilled_count(trace: Trace) -> int:
    """How many events were noted as never filled in."""
    return sum(note.count for note in trace.notes if note.kind == "unfilled")


def test_work_of_zeros_beside_an_epoch_is_no_work_of_fifty_years() -> None:
    kernels = [event("kernel", EPOCH_US), event("kernel", 0), event("kernel", EPOCH_US + 70, 20)]

    trace = trace_of_events(kernels)

    assert trace.work["start_ns"].to_pylist() == [0, 70_000]
    assert unfilled_count(trace) == 1


def test_a_length_does_not_help_where_all_others_begin_far_away() -> None:
    trace = trace_of_events([event("kernel", 0.0, 15.0), event("kernel", 5e12, 20.0)], baseTimeNanoseconds=10**18)

    assert len(trace.work) == 1
    assert trace.source.base_time_ns == 10**18 + 5 * 10**15


def test_host_events_of_zeros_are_left_out_too() -> None:
    filled = [event("cuda_runtime", 5000, 6), event("kernel", 5010, 20)]
    unfilled = [event(category, 0) for category in ("user_annotation", "cpu_op", "cuda_runtime", "kernel")]

    trace = trace_of_events([*filled, *unfilled], baseTimeNanoseconds=10**18)

    assert [len(table) for table in (trace.annotations, trace.operators, trace.calls, trace.work)] == [0, 0, 1, 1]
    assert unfilled_count(trace) == 4


@pytest.mark.parametrize(
    "events",
    [
        [event("kernel", 0, 10), event("kernel", 20, 10)],
        [event("kernel", 0, 10), event("kernel", 5_000_000, 10)],
        [event("cuda_runtime", 0), event("kernel", 5, 10)],
        [event("kernel", 0), event("kernel", 0)],
        [event("kernel", 0), event("kernel", 10**10, 10), event("kernel", 3 * 10**10, 10)],
    ],
    ids=["close", "one late", "no length, but close", "nothing else", "no further than the rest is long"],
)
def test_what_really_begins_at_0_stays(events: list[dict[str, Any]]) -> None:
    trace = trace_of_events(events)

    assert len(trace.work) + len(trace.calls) == len(events)
    assert not trace.notes


def test_the_trust_card_counts_them_as_dropped() -> None:
    trace = trace_of_events([event("kernel", 0), event("kernel", EPOCH_US, 20)])

    (dropped,) = (metric for metric in trust_report(trace).metrics if metric.key == "dropped_count")

    assert dropped.value == 1


@pytest.mark.usefixtures("compiled_scanner")
def test_both_readers_leave_them_out(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([event("kernel", 0), event("kernel", EPOCH_US, 20), event("cpu_op", 0)]))

    fast, tolerant = (
        trace_of_documents(path, reader(open_source(path)), "") for reader in (read_documents_fast, read_documents)
    )

    assert fast.notes == tolerant.notes
    assert len(fast.work) == len(tolerant.work) == 1
    assert unfilled_count(fast) == 2
