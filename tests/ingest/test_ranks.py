"""Do ranks merged into one document keep their own launches, and is it said where they cannot be told?"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.trace import Trace
from tests.rank_events import event, rank_events
from tests.reading import trace_of_events


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


def test_work_comes_after_its_launch_where_a_process_has_no_device_in_the_file() -> None:
    other = [one for one in rank_events(1, range(1, 20), late_us=12) if one["cat"] != "kernel"]

    assert processes_of_devices(trace_of_events([*other, *rank_events(0, range(1, 20))])) == [("0", "100")]


def test_devices_share_a_process_only_where_there_are_more_of_them() -> None:
    one_process = [{**one, "pid": 100} if one["cat"] != "kernel" else one for one in rank_events(1, range(20, 40))]

    trace = trace_of_events([*rank_events(0, range(1, 20)), *one_process])

    assert processes_of_devices(trace) == [("0", "100"), ("1", "100")]


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


_EVENTS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 2), st.integers(1, 4), st.integers(0, 60), st.integers(0, 9)), max_size=40
)


@given(_EVENTS)
def test_launches_carry_the_ids_of_their_work_whatever_the_events(
    drawn: list[tuple[bool, int, int, int, int]],
) -> None:
    events = [
        event("kernel", "k", start, length, pid=place, device=place, stream=7, correlation=number)
        if is_work
        else event("cuda_runtime", "cudaLaunchKernel", start, length, pid=100 + place // 2, correlation=number)
        for is_work, place, number, start, length in drawn
    ]

    trace = trace_of_events([event("cpu_op", "a", 0, 1), *events])

    ids, counts = trace.calls["correlation"].to_pylist(), [0] * len(trace.calls)
    for row in trace.work.to_pylist():
        if row["call_row"] is not None:
            assert ids[row["call_row"]] == row["correlation"]
            counts[row["call_row"]] += 1
    assert trace.calls["work_count"].to_pylist() == counts
