"""Is every gap split as definitions.md says? Drawn traces, one character 10 us."""

from __future__ import annotations

import pytest

from explorer.analysis.gaps import gap_report
from explorer.analysis.idle import PARTS
from explorer.analysis.kernels import kernel_report
from explorer.analysis.windows import WindowKind
from explorer.trace import Trace
from tests.drawing import draw


def parts_us(trace: Trace, window: WindowKind = "trace") -> dict[str, int]:
    """The parts of idle that are not empty, in microseconds."""
    report = gap_report(trace, window)
    found = {part: int(report.value(f"{part}_ns") or 0) // 1000 for part in PARTS}
    return {part: amount for part, amount in found.items() if amount}


def test_one_gap_between_two_kernels() -> None:
    trace = draw("""
        host     LL..LL......
        stream 7 ..KKKK..KK..
    """)

    report = gap_report(trace, "trace")

    assert report.value("gap_count") == 1
    assert report.value("idle_ns") == 20_000
    assert parts_us(trace) == {"device_latency": 20}


def test_gap_between_streams_is_not_idle() -> None:
    trace = draw("""
        host     AA.BB.CC....
        stream 7 ..aa....cc..
        stream 9 ....bbbb....
    """)

    assert gap_report(trace, "trace").value("idle_ns") == 0


def test_late_host_is_split_by_what_the_launching_thread_did() -> None:
    trace = draw("""
        operators  ........oooooooo...
        host       A.......~~...BBB...
        stream 7   .aaaa............bb
    """)

    assert parts_us(trace) == {"python_and_host": 30, "launch_call": 50, "dispatch": 30, "device_latency": 10}


def test_synchronisation_and_allocation_come_before_launch_calls() -> None:
    trace = draw("""
        host       A.!!!!$$~~BB..
        stream 7   .aa..........b
    """)

    assert parts_us(trace) == {
        "host_sync": 30,
        "allocator": 20,
        "launch_call": 40,
        "device_latency": 10,
    }


def test_only_the_innermost_compile_event_counts_as_compiling() -> None:
    trace = draw("""
        compile    ....cccccccc....
        operators  ......oooo......
        host       A...........BB..
        stream 7   .aaa.........bb.
    """)

    assert parts_us(trace) == {"compile_and_guards": 40, "dispatch": 40, "launch_call": 10}


def test_what_another_thread_does_is_no_excuse() -> None:
    trace = draw("""
        operators 2  ..oooooooo..
        host 2       ..~~~~~~~~..
        host         A.........BB
        stream 7     .a.........b
    """)

    assert parts_us(trace) == {"python_and_host": 80, "launch_call": 10}


def test_gap_inside_a_graph_belongs_to_the_graph() -> None:
    trace = draw("""
        host       GGG............
        stream 7   ...gg..ggg.gg..
    """)

    assert parts_us(trace) == {"inside_graph": 30}
    assert gap_report(trace, "trace").value("graph_launch_count") == 1


def test_gap_before_work_without_a_launch_is_unattributed() -> None:
    trace = draw("""
        host       A..........
        stream 7   .aaa...??..
    """)

    assert parts_us(trace) == {"unattributed": 30}


def test_gap_whose_launch_ended_before_it_is_all_device_latency() -> None:
    trace = draw("""
        host       AABB.........
        stream 7   ..aaaa...bb..
    """)

    report = gap_report(trace, "trace")

    assert parts_us(trace) == {"device_latency": 30}
    assert report.value("label_queued_ns") == 30_000
    assert report.value("label_host_wait_ns") == 0


def test_whole_gap_label_goes_by_the_start_of_the_launch() -> None:
    trace = draw("""
        host       A.....BB.....
        stream 7   .aaaa.....bb.
    """)

    assert gap_report(trace, "trace").value("label_host_wait_ns") == 50_000


@pytest.mark.parametrize(
    ("host", "after_sync_us"),
    [
        ("A...!!..BB..", 60),  # the blocking call ended between the two launches
        ("!!A.....BB..", 0),  # it ended before the launch before
        ("A.....~~BB..", 0),  # the call between does not block
        ("A.......BB!!", 0),  # it ended after the launch
    ],
)
def test_gap_is_drained_when_a_blocking_call_ended_between_its_launches(host: str, after_sync_us: int) -> None:
    trace = draw(f"""
        host       {host}
        stream 7   ...a......bb
    """)

    assert gap_report(trace, "trace").value("after_sync_ns") == after_sync_us * 1000


def test_copy_of_pageable_memory_drains_the_device() -> None:
    copied = draw("""
        host        AAAAA...BB..
        pageable 7  ..aaa.......
        stream 7    ..........bb
    """)
    pinned = draw("""
        host        AAAAA...BB..
        copies 7    ..aaa.......
        stream 7    ..........bb
    """)

    assert gap_report(copied, "trace").value("after_sync_ns") == 50_000
    assert gap_report(pinned, "trace").value("after_sync_ns") == 0


def test_blocking_calls_are_blamed_with_the_operator_around_them() -> None:
    trace = draw("""
        operators  ...iiii........
        host       A...!!....BB...
        stream 7   .aa.........bb.
    """)

    rows = gap_report(trace, "trace").table("calls").to_dict("records")

    assert rows == [{"call": "cudaDeviceSynchronize", "operator": "aten::i", "gap_count": 1, "after_sync_ns": 90_000}]


def test_late_host_time_is_blamed_on_the_operator_that_launched() -> None:
    trace = draw("""
        operators  aa...bbbb....
        host       A.....BB.....
        stream 7   .aa.......bb.
    """)

    rows = gap_report(trace, "trace").table("operators").to_dict("records")

    assert rows == [{"operator": "aten::b", "gap_count": 1, "late_host_ns": 50_000, "after_sync_ns": 0}]


def test_empty_piece_of_work_ends_a_gap_and_adds_no_time() -> None:
    trace = draw("""
        host       AA..BBCC....
        stream 7   ..aa....cc..
    """)
    whole = gap_report(trace, "trace")

    assert whole.value("gap_count") == 1
    assert whole.value("busy_ns") == 40_000


def test_a_step_begins_at_its_host_start_and_ends_with_its_own_last_work() -> None:
    trace = draw("""
        steps      .00000000...111111111.
        host       ...A..B.......C.......
        stream 7   .....a..bbb.....cc....
    """)

    report = gap_report(trace, "steps")
    device = report.children["0"]

    assert [(name, step.value("span_ns")) for name, step in device.children.items()] == [
        ("step#0", 100_000),
        ("step#1", 60_000),
    ]
    assert device.children["step#0"].value("idle_ns") == 60_000
    assert report.value("between_steps_ns") == 10_000


def test_a_step_whose_work_runs_behind_starts_where_the_step_before_ended() -> None:
    trace = draw("""
        steps      0000111111......
        host       AB..C...........
        stream 7   .aaabbbbb.ccc...
    """)

    steps = gap_report(trace, "steps").children["0"].children

    assert steps["step#0"].value("span_ns") == 90_000
    assert steps["step#1"].value("span_ns") == 40_000
    assert steps["step#1"].value("idle_ns") == 10_000


def test_the_stretch_before_a_steps_first_work_is_split_like_any_gap() -> None:
    trace = draw("""
        steps      000000000000
        host       ..GGGGGGG...
        stream 7   .......gg.gg
    """)

    assert parts_us(trace, "steps") == {"python_and_host": 20, "launch_call": 50, "inside_graph": 10}


def test_work_of_another_device_does_not_fill_a_gap() -> None:
    trace = draw("""
        host           AABBCC......
        stream 7       ..aa....cc..
        gpu1 stream 7  ....bbbb....
    """)

    report = gap_report(trace, "trace")

    assert report.children["0"].value("idle_ns") == 40_000
    assert report.children["1"].value("idle_ns") == 0
    assert report.value("idle_ns") == 40_000


def test_trace_without_steps_says_so() -> None:
    trace = draw("""
        host     L.L.
        stream 7 .K.K
    """)

    assert gap_report(trace, "steps").notes == (
        "Nothing marks steps in this trace; the whole of it is taken as one step.",
    )


def test_on_the_cpu_operators_stand_in_for_kernels_with_their_self_time() -> None:
    trace = draw("""
        steps        0000000000000
        operators    .aaaaaa..bb..
        operators    ...cc........
    """)

    report = gap_report(trace, "steps")

    assert report.value("busy_ns") == 80_000
    assert parts_us(trace, "steps") == {"python_and_host": 50}
    assert any("no GPU work" in note for note in report.notes)


def test_a_cpus_report_speaks_of_no_gpu() -> None:
    trace = draw("""
        steps      0000000000
        operators  aa....bbb.
    """)

    for report in (gap_report(trace), kernel_report(trace)):
        labels = {metric.key: metric.label for metric in report.metrics}
        assert "GPU" not in report.question
        assert labels["kernel_count"] == "operators"
        assert not [table.label for table in report.tables if "GPU" in table.label or "Kernel" in table.label]
    assert gap_report(trace).metric("busy_ratio").label == "CPU busy"
