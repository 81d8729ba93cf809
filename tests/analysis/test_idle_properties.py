"""Does the fast split of idle time agree with a slow one, whatever the trace?"""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.analysis.idle import PARTS
from explorer.analysis.metrics import device_facts, metric_values
from explorer.analysis.pieces import pieces_of
from explorer.spans import union
from explorer.trace import Trace
from tests.analysis.reference import split_slowly
from tests.reading import trace_of_events

_TIMES = st.integers(0, 60)
_LENGTHS = st.integers(0, 12)
_CALL_NAMES = ("cudaLaunchKernel", "cudaMemcpyAsync", "cudaDeviceSynchronize", "cudaMalloc", "cudaEventRecord")
_WORK_NAMES = ("gemm", "Memcpy DtoH (Device -> Pageable)")
_OPERATOR_NAMES = ("aten::mm", "aten::add", "TorchDynamo Cache Lookup")


def _event(category: str, name: str, start: int, length: int, **fields: Any) -> dict[str, Any]:
    times = {"ts": f"{start / 1000:.3f}", "dur": f"{length / 1000:.3f}"}
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": fields.pop("tid", 1), **times, "args": fields}


@st.composite
def drawn_events(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Calls on two threads, operators that may cross, work on two streams with and without launches."""
    events = []
    for number in range(draw(st.integers(0, 7))):
        name = draw(st.sampled_from(_CALL_NAMES))
        thread = draw(st.integers(1, 2))
        events.append(_event("cuda_runtime", name, draw(_TIMES), draw(_LENGTHS), tid=thread, correlation=number + 1))
    for _ in range(draw(st.integers(0, 5))):
        name, thread = draw(st.sampled_from(_OPERATOR_NAMES)), draw(st.integers(1, 2))
        events.append(_event("cpu_op", name, draw(_TIMES), draw(_LENGTHS), tid=thread))
    for _ in range(draw(st.integers(1, 7))):
        name, stream = draw(st.sampled_from(_WORK_NAMES)), draw(st.integers(7, 8))
        category = "kernel" if name == "gemm" else "gpu_memcpy"
        correlation = draw(st.integers(0, 8))
        times = draw(_TIMES), draw(_LENGTHS)
        events.append(_event(category, name, *times, tid=stream, device=0, stream=stream, correlation=correlation))
    return events


def _values(trace: Trace) -> dict[str, Any]:
    return metric_values(device_facts(trace, "0", "trace"))


@given(drawn_events())
@settings(max_examples=150, deadline=None)
def test_split_agrees_with_the_slow_reference(events: list[dict[str, Any]]) -> None:
    trace = trace_of_events(events)

    found, slow = _values(trace), split_slowly(trace, "0")

    assert found["span_ns"] == slow.span_ns
    assert found["busy_ns"] == slow.busy_ns
    assert found["gap_count"] == slow.gap_count
    assert {part: found[f"{part}_ns"] for part in PARTS} == slow.parts
    assert found["after_sync_ns"] == slow.after_sync_ns


@given(drawn_events(), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_order_in_the_file_does_not_matter_to_busy_and_idle(
    events: list[dict[str, Any]], shuffler: random.Random
) -> None:
    shuffled = list(events)
    shuffler.shuffle(shuffled)

    one, other = _values(trace_of_events(events)), _values(trace_of_events(shuffled))

    for key in ("kernel_count", "span_ns", "busy_ns", "idle_ns", "gap_count"):
        assert one[key] == other[key]


@given(drawn_events())
@settings(max_examples=60, deadline=None)
def test_busy_is_the_union_and_never_more_than_the_sum(events: list[dict[str, Any]]) -> None:
    trace = trace_of_events(events)
    pieces = pieces_of(trace, "0")

    busy = _values(trace)["busy_ns"]

    assert busy == union(pieces.start_ns, pieces.end_ns).total
    assert busy <= int(np.sum(pieces.end_ns - pieces.start_ns))


@st.composite
def stepped_events(draw: st.DrawFn) -> list[dict[str, Any]]:
    """The same with up to four steps that may overlap, have no work, or stand in a gap."""
    events = draw(drawn_events())
    starts = sorted(draw(st.lists(_TIMES, min_size=1, max_size=4)))
    for index, start in enumerate(starts):
        events.append(_event("user_annotation", f"step#{index}", start, draw(st.integers(1, 25))))
    return events


@given(stepped_events())
@settings(max_examples=120, deadline=None)
def test_step_windows_are_apart_and_their_parts_add_up(events: list[dict[str, Any]]) -> None:
    trace = trace_of_events(events)
    facts = device_facts(trace, "0", "steps")
    windows, cover = facts.windows.windows, facts.windows.pieces.cover()

    for number, window in enumerate(windows):
        found = metric_values(facts, number)
        assert found["span_ns"] == window.length_ns
        assert sum(found[f"{part}_ns"] or 0 for part in PARTS) == found["idle_ns"]
        inside = cover.within(np.array([window.start_ns]), np.array([window.end_ns]))
        assert found["busy_ns"] == int(inside[0])
    if facts.windows.kind == "steps":
        assert all(sooner.end_ns <= later.start_ns for sooner, later in itertools.pairwise(windows))
        assert (
            windows[-1].end_ns - windows[0].start_ns
            == sum(window.length_ns for window in windows) + facts.windows.between_ns
        )
