"""Are launch latencies and queue lengths those that a drawing shows?"""

from __future__ import annotations

from explorer.analysis.launches import launch_report
from tests.drawing import draw


def test_queue_grows_with_a_launch_and_shrinks_when_its_work_starts() -> None:
    report = launch_report(
        draw("""
        host     A.B..C........
        stream 7 ....aa.bb..cc.
    """),
        "trace",
    )

    rows = report.table("queue")[["time_ns", "length"]].to_numpy().tolist()
    assert rows == [[0, 1], [20_000, 2], [40_000, 1], [50_000, 2], [70_000, 1], [110_000, 0]]
    assert report.value("longest_queue_count") == 2


def test_streams_queue_on_their_own() -> None:
    report = launch_report(
        draw("""
        host     A.B.......
        stream 7 ....aa....
        stream 9 .....bb...
    """),
        "trace",
    )

    assert report.value("longest_queue_count") == 1


def test_latency_is_told_since_the_steps_start() -> None:
    report = launch_report(
        draw("""
        steps    .00000000..
        host     ..AA.BB....
        stream 7 .....a...b.
    """),
        "steps",
    )

    rows = report.table("latency")[["window", "since_step_ns", "latency_ns", "queue_time_ns"]].to_numpy().tolist()
    assert rows == [["step#0", 10_000, 30_000, 10_000], ["step#0", 40_000, 40_000, 20_000]]


def test_graph_counts_as_one_launch() -> None:
    report = launch_report(
        draw("""
        host     G.........
        stream 7 ..g.gg.gg.
    """),
        "trace",
    )

    assert report.value("launch_count") == 1


def test_launches_are_summed_by_stream_and_the_slowest_named() -> None:
    report = launch_report(
        draw("""
        operators  aaaaaa......
        host       A.B.C.......
        stream 7   ....aa..cc..
        stream 9   .bb.........
    """),
        "trace",
    )

    streams = report.table("streams")[["stream", "launch_count", "latency_p50_ns", "negative_count"]]
    assert streams.to_numpy().tolist() == [["7", 2, 40_000.0, 0], ["9", 1, -10_000.0, 1]]
    slowest = report.table("slowest")[["work", "operator", "latency_ns"]].to_numpy().tolist()
    assert slowest[0] == ["kernel_a", "aten::a", 40_000]
    assert slowest[-1] == ["kernel_b", "aten::a", -10_000]


def test_trace_without_launches_says_so() -> None:
    assert launch_report(draw("operators  aa.bb")).notes == (
        "No launch of this trace is known; on the CPU nothing is launched.",
    )


def test_a_trace_of_the_cpu_is_not_called_an_empty_one() -> None:
    assert launch_report(draw("operators aaa..b")).window == "no GPU work"
