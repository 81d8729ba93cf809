"""Do replayed kernels get their operators back by order, and is it said for how many?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.analysis.replay import plain_step_of, replay_report
from explorer.trace import Trace
from tests.drawing import draw, drawn_ranks
from tests.reading import trace_of_events
from tests.shared import SHARED, needs_shared

Read = Callable[[Path], Trace]
SAMPLES = Path(__file__).parents[2] / "traces" / "samples"

EAGER = """
    steps      000000000000000
    layers     ..0000..1111...
    operators  aa.bb.cc.dd....
    host       A..B..C..D.....
    stream 7   .a..b..c..d....
"""


def event(category: str, name: str, start: int, length: int, thread: int = 1, **arguments: Any) -> dict[str, Any]:
    place = {"pid": 1, "tid": thread}
    return {"ph": "X", "cat": category, "name": name, "ts": start, "dur": length, "args": arguments, **place}


def kernel(name: str, start: int, correlation: int) -> dict[str, Any]:
    return event("kernel", name, start, 5, 7, device=0, stream=7, correlation=correlation)


def operator_of(place: int) -> dict[str, Any]:
    return {"External id": place + 1, "Input Dims": [[place]]}


def replayed_trace(plain: str = "abbc", replay: str = "iabbc") -> Trace:
    """`plain` called kernel by kernel inside plain#0 and layer#0, then `replay`: its first launched alone, then one
    graph."""
    events = [event("user_annotation", "plain#0", 0, 1000), event("user_annotation", "layer#0", 100, 150)]
    for place, letter in enumerate(plain):
        at = 100 * place
        events += [
            event("cpu_op", f"aten::{letter}", at, 50, **operator_of(place)),
            event("cuda_runtime", "cudaLaunchKernel", at + 10, 5, correlation=place + 1, **{"External id": place + 1}),
            kernel(letter, at + 20, place + 1),
        ]
    events.append(event("user_annotation", "step#0", 2000, 1000))
    events.append(event("cuda_runtime", "cudaLaunchKernel", 2010, 5, correlation=100))
    events.append(event("cuda_runtime", "cudaGraphLaunch", 2020, 5, correlation=101))
    events += [kernel(letter, 2100 + 10 * place, 100 if place == 0 else 101) for place, letter in enumerate(replay)]
    return trace_of_events(events)


def test_a_step_holds_what_its_own_rank_launched_in_its_own_layers() -> None:
    other = """
        steps      000000000000000
        layers     ....0000.......
        operators  .ee............
        host       .E.............
        stream 7   ..e............
    """

    frame = replay_report(drawn_ranks(EAGER, other)).table("kernels")

    assert frame["kernel"].tolist() == ["kernel_a", "kernel_b", "kernel_c", "kernel_d"]
    assert frame["layer"].tolist() == ["", "layer#0", "", "layer#1"]


def test_kernels_of_a_replay_get_operator_shapes_and_layer_by_order() -> None:
    report = replay_report(replayed_trace())
    frame = report.table("kernels")
    assert frame["operator"].tolist() == ["", "aten::a", "aten::b", "aten::b", "aten::c"]
    assert frame["input_dims"].tolist() == ["", "[[0]]", "[[1]]", "[[2]]", "[[3]]"]
    assert frame["layer"].tolist() == ["", "", "layer#0", "layer#0", ""]
    assert frame["submitted_by"].tolist() == ["a launch of its own", *["graph 1"] * 4]
    assert report.value("coverage_ratio") == 4 / 5
    assert report.window == "step#0, by plain#0"


def test_launches_are_counted_apart_from_what_they_submit() -> None:
    report = replay_report(replayed_trace())
    keys = ("launch_count", "graph_launch_count", "work_in_graphs_count", "work_count")
    assert [report.value(key) for key in keys] == [2, 1, 4, 5]


def test_a_kernel_that_the_plain_step_has_not_gets_no_operator() -> None:
    frame = replay_report(replayed_trace(replay="iabxbc")).table("kernels")
    assert frame["operator"].tolist() == ["", "aten::a", "aten::b", "", "aten::b", "aten::c"]


def test_an_eager_recording_names_another_trace_s_replay() -> None:
    events = [
        event("user_annotation", "step#0", 0, 1000),
        event("cuda_runtime", "cudaGraphLaunch", 10, 5, correlation=1),
        *(kernel(f"kernel_{letter}", 100 + 10 * place, 1) for place, letter in enumerate("abcd")),
    ]
    report = replay_report(trace_of_events(events), draw(EAGER))
    frame = report.table("kernels")
    assert frame["operator"].tolist() == ["aten::a", "aten::b", "aten::c", "aten::d"]
    assert frame["layer"].tolist() == ["", "layer#0", "", "layer#1"]
    assert report.value("coverage_ratio") == 1


def test_without_any_plain_step_coverage_is_nothing_and_the_note_says_what_to_do() -> None:
    events = [
        event("user_annotation", "step#0", 0, 1000),
        event("cuda_runtime", "cudaGraphLaunch", 10, 5, correlation=1),
        kernel("a", 100, 1),
        kernel("b", 110, 1),
    ]
    report = replay_report(trace_of_events(events))
    assert report.value("coverage_ratio") == 0
    assert "explorer run" in report.notes[0]


def test_a_trace_without_work_has_no_step() -> None:
    report = replay_report(trace_of_events([event("user_annotation", "step#0", 0, 10)]))
    assert report.metrics == ()
    assert plain_step_of(trace_of_events([event("user_annotation", "step#0", 0, 10)])) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "graph_count"),
    [("h200-cuda-graph", 1), ("h200-best", 1), ("h200-piecewise", 29), ("h200-compile-piecewise", 29)],
)
def test_bundled_graphs_are_covered_but_for_the_copy_of_inputs(read: Read, name: str, graph_count: int) -> None:
    report = replay_report(read(SAMPLES / name / "trace.json.gz"))
    work, matched = report.value("work_count"), report.value("matched_count")
    assert work is not None
    assert matched == work - 1
    assert report.value("graph_launch_count") == graph_count


@needs_shared
@pytest.mark.slow
def test_a_shared_graph_trace_is_named_by_the_eager_trace_beside_it(read: Read) -> None:
    folder = SHARED / "traces"
    report = replay_report(
        read(folder / "h200_qwen3-0.6b_graph_b1.json.gz"), read(folder / "h200_qwen3-0.6b_eager_b1.json.gz")
    )
    coverage = report.value("coverage_ratio")
    assert coverage is not None
    assert coverage > 0.9
