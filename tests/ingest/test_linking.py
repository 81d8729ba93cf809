"""Do launches, operators, steps and devices find each other?"""

from __future__ import annotations

from explorer.analysis.pieces import threads_of
from tests.drawing import draw
from tests.rank_events import event
from tests.reading import trace_of_events


def test_correlation_zero_and_absent_are_no_link() -> None:
    trace = trace_of_events(
        [
            event("cuda_runtime", "cudaLaunchKernel", 0, 1, correlation=0),
            event("kernel", "k", 2, 1, pid=0, correlation=0),
            event("kernel", "k", 4, 1, pid=0),
        ]
    )

    assert trace.work["call_row"].to_pylist() == [None, None]


def test_many_calls_of_one_id_each_launch_the_work_behind_them() -> None:
    calls = [event("cuda_runtime", "cudaLaunchKernel", 10 * number, 2, correlation=1) for number in range(3000)]
    works = [event("kernel", "k", 10 * number + 4, 2, pid=0, stream=7, correlation=1) for number in range(3000)]

    assert trace_of_events(calls + works).work["call_row"].to_pylist() == list(range(3000))


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
