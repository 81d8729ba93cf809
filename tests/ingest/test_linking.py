"""Do launches, operators, steps and devices find each other?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from explorer.analysis.pieces import threads_of
from explorer.trace import Trace
from tests.drawing import draw
from tests.reading import trace_of_events


def event(category: str, name: str, start: int, length: int, pid: int = 1, tid: int = 1, **args: Any) -> dict[str, Any]:
    """One complete event; times in microseconds."""
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": length, "args": args}


def test_correlation_zero_and_absent_are_no_link() -> None:
    trace = trace_of_events(
        [
            event("cuda_runtime", "cudaLaunchKernel", 0, 1, correlation=0),
            event("kernel", "k", 2, 1, pid=0, correlation=0),
            event("kernel", "k", 4, 1, pid=0),
        ]
    )

    assert trace.work["call_row"].to_pylist() == [None, None]


def test_ranks_merged_into_one_document_keep_their_own_launches() -> None:
    events = []
    for rank, offset in ((0, 0), (1, 500)):
        for number in range(1, 6):
            start = offset + 100 * number
            events.append(event("cuda_runtime", "cudaLaunchKernel", start, 5, pid=100 + rank, correlation=number))
            events.append(
                event("kernel", f"rank{rank}", start + 9, 3, pid=rank, device=rank, stream=7, correlation=number)
            )

    trace = trace_of_events(events)

    processes = trace.calls["process"].to_pylist()
    for row in trace.work.to_pylist():
        assert processes[row["call_row"]] == f"10{row['name'][-1]}"


def rank_events(rank: int, numbers: Iterable[int], late_us: int = 0, latency_us: int = 9) -> list[dict[str, Any]]:
    """One rank's launches and their work, numbered as every rank numbers its own, its host `late_us` behind."""
    events = []
    for number in numbers:
        start = 100 * number + late_us
        events.append(event("cuda_runtime", "cudaLaunchKernel", start, 5, pid=100 + rank, correlation=number))
        events.append(event("kernel", "k", start + latency_us, 3, pid=rank, device=rank, stream=7, correlation=number))
    return events


def processes_of_devices(trace: Trace) -> list[tuple[str, str | None]]:
    """Each device with each process that launched work on it."""
    processes = trace.calls["process"].to_pylist()
    rows = trace.work.select(["device", "call_row"]).to_pylist()
    pairs = {(row["device"], None if row["call_row"] is None else processes[row["call_row"]]) for row in rows}
    return sorted(pairs, key=str)


@pytest.mark.parametrize("late_us", [0, 2, 8, -8, 40, 2000])
def test_merged_rank_that_runs_a_little_later_keeps_its_own_launches(late_us: int) -> None:
    trace = trace_of_events([*rank_events(0, range(1, 20)), *rank_events(1, range(1, 20), late_us)])

    assert processes_of_devices(trace) == [("0", "100"), ("1", "101")]


@pytest.mark.parametrize("lost", [range(3, 4), range(1, 5)])
def test_work_whose_own_call_is_missing_gets_no_other_ranks_call(lost: range) -> None:
    second = rank_events(1, range(1, 20), late_us=8)
    kept = [one for one in second if one["cat"] == "kernel" or one["args"]["correlation"] not in lost]

    trace = trace_of_events([*rank_events(0, range(1, 20)), *kept])

    assert processes_of_devices(trace) == [("0", "100"), ("1", "101"), ("1", None)]
    assert trace.work["call_row"].null_count == len(lost)


def test_calls_missing_at_the_start_do_not_move_a_rank_to_its_neighbour() -> None:
    falling_behind = [
        {**one, "ts": one["ts"] + 50 * one["args"]["correlation"]} if one["cat"] == "kernel" else one
        for one in [*rank_events(0, range(1, 50)), *rank_events(1, range(1, 50), late_us=30)]
    ]
    kept = [
        one for one in falling_behind if one["cat"] == "kernel" or one["pid"] == 100 or one["args"]["correlation"] > 10
    ]

    assert processes_of_devices(trace_of_events(kept)) == [("0", "100"), ("1", "101"), ("1", None)]


def test_one_device_keeps_the_launches_of_two_processes() -> None:
    second = [{**one, "pid": 101} if one["cat"] != "kernel" else one for one in rank_events(0, range(20, 30))]

    trace = trace_of_events([*rank_events(0, range(1, 20)), *second])

    assert processes_of_devices(trace) == [("0", "100"), ("0", "101")]


def test_many_calls_of_one_id_each_launch_the_work_behind_them() -> None:
    calls = [event("cuda_runtime", "cudaLaunchKernel", 10 * number, 2, correlation=1) for number in range(3000)]
    works = [event("kernel", "k", 10 * number + 4, 2, pid=0, stream=7, correlation=1) for number in range(3000)]

    assert trace_of_events(calls + works).work["call_row"].to_pylist() == list(range(3000))


def test_work_comes_after_its_launch_where_a_process_has_no_device_in_the_file() -> None:
    other = [one for one in rank_events(1, range(1, 20), late_us=12) if one["cat"] != "kernel"]

    assert processes_of_devices(trace_of_events([*other, *rank_events(0, range(1, 20))])) == [("0", "100")]


def test_devices_share_a_process_only_where_there_are_more_of_them() -> None:
    one_process = [{**one, "pid": 100} if one["cat"] != "kernel" else one for one in rank_events(1, range(20, 40))]

    trace = trace_of_events([*rank_events(0, range(1, 20)), *one_process])

    assert processes_of_devices(trace) == [("0", "100"), ("1", "100")]


def test_an_id_used_again_links_to_the_launch_just_before() -> None:
    trace = trace_of_events(
        [
            event("cuda_runtime", "cudaLaunchKernel", 0, 1, correlation=7),
            event("cuda_runtime", "cudaLaunchKernel", 50, 1, correlation=7),
            event("kernel", "k", 10, 1, pid=0, correlation=7),
            event("kernel", "k", 60, 1, pid=0, correlation=7),
        ]
    )

    assert trace.work["call_row"].to_pylist() == [0, 1]


def test_devices_with_one_number_in_two_processes_stay_apart() -> None:
    trace = trace_of_events(
        [event("kernel", "k", 0, 5, pid=10, device=0, stream=7), event("kernel", "k", 2, 5, pid=11, device=0, stream=7)]
    )

    assert trace.devices() == ["10/0", "11/0"]
    assert trace.work["end_ns"].to_pylist() == trace.work["recorded_end_ns"].to_pylist()


def test_stream_of_two_devices_is_two_streams() -> None:
    trace = trace_of_events(
        [event("kernel", "k", 0, 50, pid=0, device=0, stream=7), event("kernel", "k", 5, 5, pid=1, device=1, stream=7)]
    )

    assert trace.work["end_ns"].to_pylist() == [50_000, 10_000]


def one_pid(events: list[dict[str, Any]], tid: int = 1) -> list[dict[str, Any]]:
    """The events with their host calls in process 1, as in containers."""
    return [one if one["cat"] == "kernel" else {**one, "pid": 1, "tid": tid} for one in events]


def lateness_us(trace: Trace) -> list[tuple[str, set[float]]]:
    """Each device with the times from launch to start of its work, as their set."""
    launched = trace.calls["start_ns"].to_pylist()
    rows = trace.work.to_pylist()
    return [
        (device, {(row["start_ns"] - launched[row["call_row"]]) / 1000 for row in rows if row["device"] == device})
        for device in trace.devices()
    ]


@pytest.mark.parametrize("second_thread", [1, 2])
@pytest.mark.parametrize(("late_us", "latency_us"), [(50, 150), (30, 120), (80, 9), (-40, 250)])
@pytest.mark.parametrize("second_numbers", [range(1, 20), range(3, 25)])
def test_ranks_merged_under_one_process_id_keep_their_own_launches(
    second_thread: int, late_us: int, latency_us: int, second_numbers: range
) -> None:
    first = one_pid(rank_events(0, range(1, 20), latency_us=150))
    second = one_pid(rank_events(1, second_numbers, late_us, latency_us), second_thread)

    trace = trace_of_events([*first, *second])

    assert lateness_us(trace) == [("0", {150}), ("1", {latency_us})]
    assert set(trace.calls["work_count"].to_pylist()) == {1}
    assert [(note.kind, note.count) for note in trace.notes] == [("launch_by_order", 19 + len(second_numbers))]


def test_graphs_of_ranks_merged_under_one_process_id_keep_their_own_launches() -> None:
    events = []
    for rank in (0, 1):
        launches = one_pid(rank_events(rank, range(1, 20), late_us=30 * rank, latency_us=40))
        second_pieces = [{**one, "ts": one["ts"] + 7} for one in launches if one["cat"] == "kernel"]
        events += launches + second_pieces

    trace = trace_of_events(events)

    assert lateness_us(trace) == [("0", {40, 47}), ("1", {40, 47})]
    assert set(trace.calls["work_count"].to_pylist()) == {2}


def test_ids_that_begin_again_in_one_process_with_two_devices_link_by_time() -> None:
    events = []
    for window in (0, 1):
        for rank in (0, 1):
            numbers = range(1, 20) if rank == 0 else range(20, 40)
            events += one_pid(rank_events(rank, numbers, late_us=10_000 * window))

    trace = trace_of_events(events)

    assert lateness_us(trace) == [("0", {9}), ("1", {9})]
    assert not trace.notes


@pytest.mark.parametrize("second_process", [1, 2])
def test_launches_of_two_ranks_on_one_device_go_with_their_work_in_order(second_process: int) -> None:
    second = rank_events(0, range(1, 20), late_us=30, latency_us=50)
    second = [one if one["cat"] == "kernel" else {**one, "pid": second_process} for one in second]

    trace = trace_of_events([*one_pid(rank_events(0, range(1, 20), latency_us=50)), *second])

    assert lateness_us(trace) == [("0", {50})]
    assert set(trace.calls["work_count"].to_pylist()) == {1}
    assert [(note.kind, note.count) for note in trace.notes] == [("launch_by_order", 38)]


def test_work_of_two_launches_that_cannot_be_told_apart_is_no_graph_launchs() -> None:
    calls = [event("cuda_runtime", "cudaGraphLaunch", start, 5, correlation=1) for start in (0, 10)]
    works = [event("kernel", "k", 20 + 10 * number, 5, pid=0, stream=7, correlation=1) for number in range(3)]

    trace = trace_of_events([*calls, *works])

    assert trace.work["call_row"].null_count == 3
    assert [(note.kind, note.count) for note in trace.notes] == [("launch_untold", 3)]


def test_graph_launch_keeps_its_work_beside_calls_of_a_process_without_devices() -> None:
    graph = [event("kernel", "k", 2020 + 5 * number, 3, pid=0, stream=7, correlation=20) for number in range(3)]
    launch = event("cuda_runtime", "cudaGraphLaunch", 2000, 5, pid=100, correlation=20)
    other = [one for one in rank_events(1, range(1, 30), late_us=12) if one["cat"] != "kernel"]

    trace = trace_of_events([*rank_events(0, range(1, 20)), launch, *graph, *other])

    assert processes_of_devices(trace) == [("0", "100")]
    assert not trace.notes


def test_first_piece_on_each_device_of_one_launch_waits_for_the_host() -> None:
    launches = [event("cuda_runtime", "cudaLaunchCooperativeKernelMultiDevice", 50, 6, correlation=1)]
    works = [event("kernel", "a", 60 + n, 2, pid=n % 2, device=n % 2, stream=7, correlation=1) for n in range(4)]

    trace = trace_of_events([*launches, *works])

    assert list(zip(trace.work["device"].to_pylist(), trace.work["position_in_launch"].to_pylist(), strict=True)) == [
        ("0", 0), ("1", 0), ("0", 1), ("1", 1)
    ]  # fmt: skip


def test_work_that_ends_after_the_end_of_the_next_on_its_stream_is_clipped_and_said() -> None:
    trace = trace_of_events(
        [event("kernel", "long", 0, 50, pid=0, stream=7), event("kernel", "next", 5, 5, pid=0, stream=7)]
    )

    assert trace.work["end_ns"].to_pylist() == [5_000, 10_000]
    assert trace.work["recorded_end_ns"].to_pylist() == [50_000, 10_000]
    assert [note.kind for note in trace.notes] == ["clipped"]


def test_mere_overlap_on_a_stream_is_legal() -> None:
    trace = trace_of_events(
        [event("kernel", "a", 0, 10, pid=0, stream=7), event("kernel", "b", 5, 10, pid=0, stream=7)]
    )

    assert trace.work["end_ns"].to_pylist() == [10_000, 15_000]


def test_operator_of_a_call_is_the_innermost_on_its_thread() -> None:
    trace = draw("""
        operators    aaaaaaaaaa
        operators    .bbbb.....
        operators 2  ...cccccc.
        host         ..L...L...
        stream 7     ...K...K..
    """)
    names = trace.operators["name"].to_pylist()

    assert [names[row] for row in trace.calls["operator_row"].to_pylist()] == ["aten::b", "aten::a"]
    assert [names[row] for row in trace.work["operator_row"].to_pylist()] == ["aten::b", "aten::a"]


def test_external_id_decides_among_operators_around_a_call() -> None:
    trace = trace_of_events(
        [
            event("cpu_op", "outer", 0, 10, **{"External id": 1}),
            event("cpu_op", "inner", 0, 10, **{"External id": 2}),
            event("cuda_runtime", "cudaLaunchKernel", 2, 1, correlation=5, **{"External id": 1}),
            event("cuda_runtime", "cudaLaunchKernel", 5, 1, correlation=6, **{"External id": 99}),
        ]
    )
    names = trace.operators["name"].to_pylist()

    assert [names[row] for row in trace.calls["operator_row"].to_pylist()] == ["outer", "inner"]


def test_nesting_has_depth_and_parent() -> None:
    trace = draw("""
        operators  aaaaaaaaaa
        operators  .bbbb.cc..
        operators  ..d.......
    """)

    assert trace.operators["depth"].to_pylist() == [0, 1, 2, 1]
    assert trace.operators["parent_row"].to_pylist() == [None, 0, 1, 0]


def test_steps_of_2021_written_as_operators_are_steps() -> None:
    trace = trace_of_events([event("Operator", "ProfilerStep#5", 0, 9), event("Operator", "aten::add", 1, 2)])

    assert trace.operators["name"].to_pylist() == ["aten::add"]
    assert trace.annotations["kind"].to_pylist() == ["step"]


def test_own_steps_come_before_the_profilers() -> None:
    trace = trace_of_events(
        [event("user_annotation", "ProfilerStep#3", 0, 20), event("user_annotation", "step#0", 1, 9)]
    )

    assert trace.annotations["kind"].to_pylist() == ["phase", "step"]


def test_gpu_shadows_of_annotations_are_not_work() -> None:
    trace = trace_of_events([event("gpu_user_annotation", "step#0", 0, 9, pid=0), event("kernel", "k", 1, 2, pid=0)])

    assert trace.work["name"].to_pylist() == ["k"]
    assert trace.source.category_counts == {"gpu_user_annotation": 1, "kernel": 1}


def test_threads_written_as_text_and_as_number_are_one() -> None:
    trace = trace_of_events([event("cpu_op", "a", 0, 9), {**event("cpu_op", "b", 2, 3), "tid": "1"}])

    assert list(threads_of(trace, "operators")) == [("1", "1")]
    assert trace.operators["depth"].to_pylist() == [0, 1]
