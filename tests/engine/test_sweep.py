"""Does a sweep measure every size, and does it do so with graphs too? Those are stood in for on the CPU."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch

from explorer.engine import sweep as sweep_module
from explorer.engine.graphs import CaptureCost, GraphPool
from explorer.engine.journal import Journal
from explorer.engine.sweep import Sweep
from explorer.engine.workload import Workload, build_workload, open_weights
from explorer.recording import RESULTS_FILE
from explorer.sweep_settings import SweepSettings, results_from_json
from tests.engine.stand_in_graph import record
from tests.shared import read_json

Result = TypeVar("Result")
SETTINGS = SweepSettings(
    sizes=(1, 2, 4), context_tokens=20, cache_tokens=32, dtype="float32", eager_steps=3, replayed_steps=4
)


class StandInPool(GraphPool):
    """Records without CUDA."""

    def __init__(self) -> None:
        self.recorded: list[str] = []

    def capture(self, work: Callable[[], Result]) -> tuple[Callable[[], object], Result]:
        self.recorded.append("graph")
        return record(work)


def measure_nothing(work: Callable[[], Result]) -> tuple[Result, CaptureCost]:
    return work(), CaptureCost(capture_ns=5, pool_bytes=7, outside_bytes=11)


def call_once(work: Callable[[], object]) -> None:
    work()


@pytest.fixture(scope="module")
def workload() -> Iterator[Workload]:
    with torch.no_grad():
        run_settings = SETTINGS.run_settings()
        yield build_workload(run_settings, open_weights(run_settings))


@pytest.fixture
def make_sweep(
    workload: Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Sweep, Path]]:
    monkeypatch.setattr(sweep_module, "measure_capture", measure_nothing)
    monkeypatch.setattr(sweep_module, "warm_up_aside", call_once)

    def make(pool: GraphPool | None, **fields: Any) -> tuple[Sweep, Path]:
        chosen = SweepSettings.from_json({**SETTINGS.to_json(), **fields})
        return Sweep(chosen, workload, tmp_path, Journal(tmp_path, io.StringIO()), pool), tmp_path / RESULTS_FILE

    return make


MakeSweep = Callable[..., tuple[Sweep, Path]]


def test_every_size_has_eager_and_replayed_latencies_of_both_kinds(make_sweep: MakeSweep) -> None:
    pool = StandInPool()
    sweep, path = make_sweep(pool)
    sweep.measure_eager()
    sweep.capture()
    sweep.measure_replays()
    results = results_from_json(read_json(path))
    assert results == sweep.results
    assert [measured.size for measured in results.sizes] == [4, 2, 1]
    for measured in results.sizes:
        assert len(measured.eager_latencies_ns) == 3
        assert [(graph.kind, graph.graph_count) for graph in measured.graphs] == [("FULL", 1), ("PIECEWISE", 5)]
        assert all(len(graph.replay_latencies_ns) == 4 for graph in measured.graphs)
    assert len(pool.recorded) == 3 * (1 + 5)


def test_lengths_multiply_the_full_graphs_and_not_the_pieces(make_sweep: MakeSweep) -> None:
    sweep, _ = make_sweep(StandInPool(), read_lengths=[12, 24])
    sweep.capture()
    sweep.measure_replays()
    graphs = [(graph.kind, graph.read_tokens) for graph in sweep.results.sizes[0].graphs]
    assert graphs == [("FULL", 24), ("FULL", 12), ("PIECEWISE", None)]


def test_padded_batches_are_compared_with_unpadded_ones(make_sweep: MakeSweep) -> None:
    sweep, _ = make_sweep(StandInPool())
    sweep.capture()
    sweep.check_padding()
    assert [(check.batch, check.size, check.kind) for check in sweep.results.padding_checks] == [
        (3, 4, "FULL"),
        (3, 4, "PIECEWISE"),
    ]
    assert all(check.other_rows_are_unchanged and check.follows_inputs for check in sweep.results.padding_checks)


def test_served_batches_say_what_they_ran_as(make_sweep: MakeSweep) -> None:
    sweep, _ = make_sweep(StandInPool(), graph_mode="FULL_DECODE_ONLY")
    sweep.capture()
    sweep.serve_batches()
    served = {(batch.decode_count, batch.prompt_count): (batch.kind, batch.size) for batch in sweep.results.batches}
    assert served[3, 0] == ("FULL", 4)
    assert served[5, 0] == ("NONE", None)
    assert served[2, 3] == ("NONE", None)
    assert all(len(batch.latencies_ns) == 5 and batch.reason for batch in sweep.results.batches)


def test_full_is_lowered_to_what_our_attention_supports(make_sweep: MakeSweep) -> None:
    sweep, _ = make_sweep(StandInPool(), graph_mode="FULL")
    assert sweep.results.graph_mode == "FULL_AND_PIECEWISE"
    assert "UNIFORM_SINGLE_TOKEN_DECODE" in sweep.results.mode_reasons[0]


def test_without_cuda_only_eager_steps_are_measured_and_the_reason_is_kept(make_sweep: MakeSweep) -> None:
    sweep, _ = make_sweep(None)
    for stage in (
        sweep.measure_eager,
        sweep.capture,
        sweep.measure_replays,
        sweep.check_padding,
        sweep.walk_into_traps,
    ):
        stage()
    results = sweep.results
    assert results.no_graphs_reason is not None
    assert "need a CUDA device" in results.no_graphs_reason
    assert all(measured.eager_latencies_ns and not measured.graphs for measured in results.sizes)
    assert (results.padding_checks, results.traps, results.is_alive_after_traps) == ([], [], None)
