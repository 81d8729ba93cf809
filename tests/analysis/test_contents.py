"""Does an upload's page say what a trace holds and what it lacks?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.analysis.contents import contents_report
from explorer.trace import Trace
from tests.drawing import draw
from tests.shared import SHARED, needs_shared, shared_traces

Read = Callable[[Path], Trace]


def missing_of(trace: Trace) -> list[str]:
    """What the report says cannot be answered."""
    return list(contents_report(trace).table("missing")["what"])


def test_what_was_not_recorded_is_named_with_its_option() -> None:
    rows = (
        contents_report(
            draw("""
        host     L...
        stream 7 .KK.
    """)
        )
        .table("missing")
        .set_index("what")["option"]
    )

    assert rows["Python lines behind a gap"] == "with_stack=True"
    assert "ProfilerActivity.CPU" in rows["operators behind kernels and gaps"]
    assert "GPU time, gaps, launches" not in rows


def test_trace_of_the_cpu_lacks_the_gpu() -> None:
    trace = draw("""
        steps      00000
        operators  aa.b.
    """)

    assert "GPU time, gaps, launches" in missing_of(trace)
    assert "anything a step" not in missing_of(trace)


def test_streams_and_threads_are_listed_with_what_they_hold() -> None:
    report = contents_report(
        draw("""
        operators    aaa.....
        host         L.M.....
        host 2       ....N...
        stream 7     .LL.....
        stream 9     ...MM.NN
    """)
    )

    streams = report.table("streams")[["stream", "kernels", "busy_ns"]].to_dict("records")
    threads = report.table("threads")[["thread", "operators", "calls"]].to_dict("records")
    assert streams == [
        {"stream": "7", "kernels": 1, "busy_ns": 20_000},
        {"stream": "9", "kernels": 2, "busy_ns": 40_000},
    ]
    assert threads == [{"thread": "1", "operators": 1, "calls": 2}, {"thread": "2", "operators": 0, "calls": 1}]


@needs_shared
@pytest.mark.parametrize("path", shared_traces(), ids=lambda path: path.name.removesuffix(".json.gz"))
def test_every_event_is_in_a_category(path: Path, read: Read) -> None:
    report = contents_report(read(path))

    categories = report.table("categories")
    assert categories["count"].sum() == report.value("event_count")
    assert (categories["what"] != "not used").all()


@needs_shared
def test_options_of_a_real_trace_are_told(read: Read) -> None:
    report = contents_report(read(SHARED / "traces" / "h100_qwen1.5-0.5b_eager.json.gz"))

    options = dict(report.table("options").to_numpy().tolist())
    assert options["with_stack"] == "1"
    assert options["devices"] == "NVIDIA H100 80GB HBM3"
    assert list(report.table("missing")["what"]) == []
