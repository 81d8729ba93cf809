"""Is the bundled sweep complete, and do its numbers hold together?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from explorer.analysis.advice import advise
from explorer.analysis.buckets import BucketList, buckets_report
from explorer.analysis.sweep import sweep_costs, sweep_report
from explorer.analysis.traffic import preset
from explorer.capture_sizes import vllm_sizes
from explorer.recording import open_recording
from explorer.sweep_settings import SweepResults, SweepSettings, results_from_json

SAMPLE = Path(__file__).parents[2] / "traces" / "samples" / "h200-sweep"


@pytest.fixture(scope="module")
def results() -> SweepResults:
    return results_from_json(open_recording(SAMPLE).results())


def test_it_is_vllm_s_list_to_256_with_memory(results: SweepResults) -> None:
    settings = open_recording(SAMPLE).experiment_settings()
    assert isinstance(settings, SweepSettings)
    assert (settings.sizes, settings.model, settings.dtype) == (vllm_sizes(256), "qwen3-0.6b", "bfloat16")
    for measured in results.sizes:
        assert [(graph.kind, graph.graph_count) for graph in measured.graphs] == [("FULL", 1), ("PIECEWISE", 29)]
        assert all(graph.pool_bytes >= 0 and graph.outside_bytes > 0 for graph in measured.graphs)
        assert len(measured.eager_latencies_ns) == settings.eager_steps
        assert all(len(graph.replay_latencies_ns) == settings.replayed_steps for graph in measured.graphs)


def test_replays_are_faster_than_eager_steps_and_grow_with_the_batch(results: SweepResults) -> None:
    full = sweep_costs(results, "FULL")
    assert full is not None
    assert (full.step_ns < full.eager_ns).all()
    rising = np.maximum.accumulate(full.step_ns)
    assert (full.step_ns > 0.98 * rising).all()


def test_padding_and_traps_came_out_as_they_should(results: SweepResults) -> None:
    assert all(check.other_rows_are_unchanged and check.follows_inputs for check in results.padding_checks)
    assert [trap.is_caught for trap in results.traps] == [True] * 3
    assert results.is_alive_after_traps
    kinds = {(batch.decode_count, batch.prompt_count): batch.kind for batch in results.batches}
    assert (kinds[129, 0], kinds[2, 3], kinds[257, 0]) == ("FULL", "PIECEWISE", "NONE")


def test_report_sums_it_up(results: SweepResults) -> None:
    report = sweep_report(results)
    memory = report.value("full_memory_bytes")
    assert memory is not None
    assert 100 * 2**20 < memory < 2**30
    assert len(report.table("sizes")) == 35


def test_well_chosen_sizes_are_fewer_than_vllm_s(results: SweepResults) -> None:
    costs, traffic = sweep_costs(results), preset("steady", 256)
    advised = advise(traffic, costs, 256)
    fewest = advised.fewest_as_good_as(vllm_sizes(256))
    assert fewest is not None
    assert fewest < 35
    report = buckets_report([BucketList("vLLM", vllm_sizes(256))], traffic, costs)
    assert advised.waste_of(vllm_sizes(256)) == pytest.approx(report.table("lists")["padding_ns"][0])
