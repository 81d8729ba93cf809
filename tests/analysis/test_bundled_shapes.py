"""Do the bundled experiments with shapes show what a start costs, whole and per layer, and where compiling stops?"""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.analysis.compilation import compile_ns, limit_call, start_parts
from explorer.recording import open_recording
from explorer.shapes_results import ShapesResults, VariantResult, results_from_json
from explorer.shapes_settings import Cache, CompileScope

SAMPLES = Path(__file__).parents[2] / "traces" / "samples"


@pytest.fixture(scope="module")
def results() -> ShapesResults:
    return results_from_json(open_recording(SAMPLES / "h200-shapes").results())


def variant(results: ShapesResults, scope: CompileScope, cache: Cache) -> VariantResult:
    (found,) = [each for each in results.variants if (each.variant.scope, each.variant.cache) == (scope, cache)]
    return found


def test_one_shared_layer_compiles_at_least_five_times_faster_than_the_whole_model(results: ShapesResults) -> None:
    whole, layer = variant(results, "model", "cold"), variant(results, "layer", "cold")
    assert whole.calls[0].time_ns > 5 * layer.calls[0].time_ns
    assert compile_ns(whole) > 5 * compile_ns(layer)


@pytest.mark.parametrize("scope", ["model", "layer"])
def test_warm_caches_spare_inductor_and_the_kernels(results: ShapesResults, scope: CompileScope) -> None:
    cold, warm = variant(results, scope, "cold"), variant(results, scope, "warm")
    assert warm.calls[0].time_ns < cold.calls[0].time_ns / 3
    assert start_parts(warm)["inductor"] == 0 < start_parts(cold)["inductor"]
    assert [call.outcome for call in warm.calls] == [call.outcome for call in cold.calls]


def test_every_variant_builds_three_graphs_and_computes_the_model(results: ShapesResults) -> None:
    for each in results.variants:
        assert each.graph_count == 3
        assert all(call.error_ratio is not None and call.error_ratio < 0.05 for call in each.calls)
        assert sum(start_parts(each).values()) > 0


def test_a_position_on_the_module_reaches_the_limit_in_silence() -> None:
    results = results_from_json(open_recording(SAMPLES / "h200-shapes-position").results())
    (only,) = results.variants
    stopped = limit_call(only)
    assert stopped is not None
    assert stopped.index == only.recompile_limit == 8
    assert [call.outcome for call in only.calls] == ["compiled"] * 8 + ["eager"] * 4
