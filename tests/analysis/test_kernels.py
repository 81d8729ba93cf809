"""Are kernels, launches and operator calls counted as a person would by hand?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from explorer.analysis.gaps import gap_report
from explorer.analysis.kernels import kernel_report
from explorer.trace import Trace
from tests.drawing import draw, drawn_ranks
from tests.reading import trace_of_events
from tests.shared import SHARED, needs_shared


def test_kernels_by_name_have_count_total_share_and_mean() -> None:
    report = kernel_report(
        draw("""
        host     ABABB.........
        stream 7 .aabbb.aa.b.bb
    """),
        "trace",
    )

    rows = report.table("kernels")[["name", "count", "total_ns", "mean_ns", "share_ratio"]].to_numpy().tolist()
    assert rows == [["kernel_b", 3, 60_000, 20_000, 0.6], ["kernel_a", 2, 40_000, 20_000, 0.4]]


def test_kernels_belong_to_the_step_that_launched_them() -> None:
    report = kernel_report(
        draw("""
        steps    0000....1111....
        host     A.B.....C.......
        stream 7 .aa..bb..cc.....
    """),
        "steps",
    )

    assert report.value("kernels_per_step") == 1.5
    assert report.value("host_launches_per_step") == 1.5
    assert report.window.startswith("2 steps")


def test_graph_is_one_launch_of_many_kernels() -> None:
    report = kernel_report(
        draw("""
        host     GG.........
        stream 7 ..g.gg.ggg.
    """),
        "trace",
    )

    assert report.value("kernel_count") == 3
    assert report.value("host_launch_count") == report.value("graph_launch_count") == 1


def test_operators_of_another_rank_are_not_counted() -> None:
    report = kernel_report(
        drawn_ranks(
            """
            steps     000000
            operators aa.bb.
            host      A.....
            stream 7  .aa...
            """,
            """
            operators .c.d..
            host      .C....
            stream 7  ..c...
            """,
        ),
        "steps",
    )

    first, other = report.children["rank0/0"], report.children["rank1/0"]
    assert (first.value("operator_calls_per_step"), first.value("launching_calls_per_step")) == (2, 1)
    assert (other.value("operator_calls_per_step"), other.value("launching_calls_per_step")) == (2, 1)


def test_launch_latency_is_from_the_launch_to_its_first_piece() -> None:
    report = kernel_report(
        draw("""
        host     AA.BB......
        stream 7 ...aa.....b
    """),
        "trace",
    )

    assert report.value("launch_latency_p50_ns") == 50_000
    assert report.value("launch_latency_min_ns") == 30_000
    assert report.value("queue_time_p50_ns") == 30_000


def test_outermost_operator_calls_are_those_that_a_model_makes() -> None:
    report = kernel_report(
        draw("""
        compile    cccccccccccc
        operators  .aaaa.bb.dd.
        operators  ..ee........
        host       ..L.........
        stream 7   ...K........
    """),
        "trace",
    )

    assert report.value("operator_calls_per_step") == 3
    assert report.value("launching_calls_per_step") == 1
    assert report.value("view_calls_per_step") == 2


def test_on_the_cpu_an_operator_counts_once_and_its_self_time_is_its_own() -> None:
    report = kernel_report(
        draw("""
        operators  aaaaaaaa.b
        operators  ..cc.cc...
    """),
        "trace",
    )

    rows = report.table("kernels")[["name", "count", "total_ns"]].to_numpy().tolist()
    assert rows == [["aten::a", 1, 40_000], ["aten::c", 2, 40_000], ["aten::b", 1, 10_000]]
    assert report.value("kernel_count") == 4
    assert report.value("host_launch_count") is None


@needs_shared
def test_plain_eager_decode_makes_about_1900_operator_calls_a_step(read: Callable[[Path], Trace]) -> None:
    report = kernel_report(read(SHARED / "traces" / "h200_qwen3-0.6b_eager_b1.json.gz"), "trace")

    assert report.value("operator_calls_per_step") == 3 * 1868  # nothing marks this trace's three steps
    assert report.value("launching_calls_per_step") == 3 * 1586


def test_on_the_cpu_compiling_is_idle_and_compiled_code_is_not() -> None:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": length}
        for name, start, length in (
            ("inductor_compile (dynamo_timed)", 0, 50),
            ("aten::mm", 60, 10),
            ("Torch-Compiled Region: 0/0", 80, 20),
            ("TorchDynamo Cache Lookup", 70, 5),
        )
    ]

    report = kernel_report(trace_of_events(events), "trace")
    gaps = gap_report(trace_of_events(events), "trace")

    assert report.table("kernels")["name"].tolist() == ["Torch-Compiled Region: 0/0", "aten::mm"]
    assert gaps.value("compile_and_guards_ns") == 5_000
