"""Does traffic come out as it went in, and do simulated arrivals behave as queues do?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.analysis.engine_steps import engine_report, engine_steps, traffic_from_trace
from explorer.analysis.traffic import PRESETS, Arrivals, preset, simulate, traffic_from_csv, traffic_of_batches
from explorer.errors import SettingsError, TraceError
from explorer.trace import Trace
from tests.reading import trace_of_events
from tests.shared import SHARED, needs_shared

Read = Callable[[Path], Trace]


def test_csv_of_batches_is_counted() -> None:
    traffic = traffic_from_csv("mine.csv", "1\n3\n3\n\n8\n")
    assert traffic.counts.tolist() == [0, 1, 0, 2, 0, 0, 0, 0, 1]
    assert (traffic.step_count, traffic.largest, traffic.mean) == (4, 8, 3.75)


def test_csv_of_sizes_and_counts_may_have_a_heading() -> None:
    assert traffic_from_csv("mine.csv", "batch, steps\n2, 10\n4, 5\n2, 1\n").counts.tolist() == [0, 0, 11, 0, 5]


@pytest.mark.parametrize("text", ["3\nfour\n", "0\n", "1,2,3\n", "3\n-1\n", "3,-1\n", "70000\n", "2.5\n"])
def test_a_line_that_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(TraceError, match=r"mine\.csv, line \d"):
        traffic_from_csv("mine.csv", text)


@pytest.mark.parametrize("text", ["", "batch\n", "\n\n", "3,0\n"])
def test_a_file_without_batches_is_refused(text: str) -> None:
    with pytest.raises(TraceError, match=r"mine\.csv holds no batch"):
        traffic_from_csv("mine.csv", text)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_stay_within_the_largest_batch_and_repeat(name: str) -> None:
    traffic = preset(name, 256)
    assert traffic.counts[0] == 0
    assert 200 < traffic.largest <= 256
    assert (traffic.counts == preset(name, 256).counts).all()


def test_unknown_preset_is_refused() -> None:
    with pytest.raises(SettingsError, match="choose one of steady"):
        preset("weekend", 8)


def test_few_arrivals_fill_the_batch_as_little_s_law_says() -> None:
    """2 requests a second, each for 100 steps of 10 ms: 2 rows run on average, 13.5 % of the time none does."""
    arrivals = Arrivals(requests_per_s=2, mean_output_tokens=100, running_limit=256, duration_s=2000)
    traffic = simulate(arrivals, lambda _rows: 10e6)
    busy_share = traffic.step_count / (2000 / 0.01)
    assert busy_share == pytest.approx(1 - np.exp(-2), rel=0.1)
    assert traffic.mean * busy_share == pytest.approx(2, rel=0.1)
    assert traffic.notes == ()


def test_too_many_arrivals_fill_the_batch_to_its_limit_and_wait() -> None:
    arrivals = Arrivals(requests_per_s=100, mean_output_tokens=100, running_limit=8, duration_s=20)
    traffic = simulate(arrivals, lambda _rows: 10e6)
    assert traffic.largest == 8
    assert traffic.counts[8] / traffic.step_count > 0.95
    assert "still wait at the end" in traffic.notes[0]


def test_slower_steps_of_large_batches_make_larger_batches() -> None:
    arrivals = Arrivals(requests_per_s=10, mean_output_tokens=100, running_limit=256, duration_s=60)
    quick = simulate(arrivals, lambda _rows: 5e6)
    slow = simulate(arrivals, lambda rows: 5e6 + 1e5 * rows)
    assert slow.mean > quick.mean


def test_impossible_arrivals_are_refused() -> None:
    with pytest.raises(SettingsError, match="running_limit is 0"):
        simulate(Arrivals(requests_per_s=1, mean_output_tokens=1, running_limit=0), lambda _rows: 1e6)
    with pytest.raises(SettingsError, match="No request arrives"):
        simulate(Arrivals(requests_per_s=1e-3, mean_output_tokens=1, running_limit=1, duration_s=1e-3), lambda _: 1e6)
    with pytest.raises(SettingsError, match="too many"):
        simulate(Arrivals(requests_per_s=1e5, mean_output_tokens=1, running_limit=1, duration_s=3600), lambda _: 1e6)


def test_batches_without_a_row_are_not_traffic() -> None:
    with pytest.raises(TraceError, match="holds no batch"):
        traffic_of_batches("mine", [0, 0])


def test_a_step_has_the_graphs_of_its_own_rank() -> None:
    events: list[dict[str, Any]] = []
    for process in (1, 2):
        host = {"ph": "X", "pid": process, "tid": 1}
        device = {"device": process, "stream": 7, "correlation": process}
        mark = "execute_context_0(0)_generation_4(4)"
        events.append({**host, "cat": "user_annotation", "name": mark, "ts": process, "dur": 90})
        call = {"cat": "cuda_runtime", "name": "cudaGraphLaunch", "args": {"correlation": process}}
        events.append({**host, **call, "ts": 10 + process, "dur": 5})
        for start in (40, 50, 60):
            work = {"cat": "kernel", "name": "k", "ts": start, "dur": 8, "pid": process, "tid": 7, "args": device}
            events.append({"ph": "X", **work})

    steps = engine_steps(trace_of_events(events))

    assert steps[["graph_launch_count", "work_count", "ran_as"]].to_numpy().tolist() == [[1, 3, "full graph"]] * 2


@needs_shared
@pytest.mark.parametrize(
    ("name", "work_count"),
    [("mi300_vllm_decode_fullgraph.json.gz", 421), ("mi300_sglang_qwen3-8b_decode_hipgraph.json.gz", 544)],
)
def test_engine_trace_gives_its_batch_and_its_one_graph_launch(read: Read, name: str, work_count: int) -> None:
    trace = read(SHARED / "traces" / name)
    steps = engine_steps(trace)
    assert steps[["batch", "padded", "graph_launch_count", "work_in_graphs_count", "ran_as"]].to_numpy().tolist() == [
        [32, 32, 1, work_count, "full graph"]
    ]
    assert traffic_from_trace(trace).counts[32] == 1
    assert engine_report(trace).value("full_count") == 1


@needs_shared
def test_a_trace_without_engine_steps_says_what_to_record(read: Read) -> None:
    with pytest.raises(TraceError, match="vLLM's or SGLang's profiler"):
        traffic_from_trace(read(SHARED / "traces" / "h200_pointwise_eager.json.gz"))
