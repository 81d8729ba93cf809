"""Which of the marks in a trace are its steps?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from explorer.analysis.gaps import gap_report
from explorer.trace import Trace
from tests.reading import trace_of_events
from tests.shared import SHARED, needs_shared


def test_a_mark_inside_another_one_of_its_thread_is_a_phase_and_is_not_counted() -> None:
    marks = [
        ("execute_new_0_cached_32", 0, 100, 1),
        ("step[DECODE bs=32]", 0, 100, 1),
        ("step[DECODE bs=32]", 10, 50, 2),
        ("execute_new_0_cached_32", 100, 50, 1),
    ]
    place = {"ph": "X", "cat": "user_annotation", "pid": 1}
    events = [{**place, "name": name, "ts": ts, "dur": dur, "tid": tid} for name, ts, dur, tid in marks]

    annotations = trace_of_events(events).annotations

    assert annotations["kind"].to_pylist() == ["step", "phase", "step", "step"]
    assert annotations["index"].to_pylist() == [0, None, 1, 2]


@needs_shared
def test_a_real_step_marked_at_two_depths_keeps_its_work(read: Callable[[Path], Trace]) -> None:
    trace = read(SHARED / "traces" / "mi300_sglang_qwen3-8b_decode_hipgraph.json.gz")

    report = gap_report(trace, "steps")

    assert report.value("step_count") == 1
    assert report.value("kernel_count") == gap_report(trace, "trace").value("kernel_count") == 555
