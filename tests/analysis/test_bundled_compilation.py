"""Do the bundled H200 recordings show what compiling costs, whole and per layer, and where it stops?"""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.analysis.compilation import compilation_report, limit_call, start_parts, why_compiled
from explorer.analysis.compilation_run import first_answer_ns, run_start_parts
from explorer.recording import Recording
from explorer.shapes_answer import read_shapes

SAMPLES = Path(__file__).parents[2] / "traces" / "samples"


@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_a_layer_starts_sooner_than_the_whole_model(cache: str) -> None:
    _, results = read_shapes(SAMPLES / "h200-shapes")
    first_ns = {one.variant.scope: one.calls[0].time_ns for one in results.variants if one.variant.cache == cache}
    # Nine times were measured with cold caches, four with warm ones.
    assert first_ns["model"] / first_ns["layer"] > (5 if cache == "cold" else 3)


def test_every_cold_start_is_told_apart_by_stage() -> None:
    settings, results = read_shapes(SAMPLES / "h200-shapes")
    for result in results.variants:
        parts = start_parts(result)
        assert sum(parts.values()) == result.import_ns + result.build_ns + result.calls[0].time_ns  # type: ignore[operator]
        assert 0 <= parts["rest"] < result.calls[0].time_ns / 2
    assert any("as a whole" in note for note in compilation_report(settings, results).notes)


def test_warm_caches_spare_inductor_and_every_variant_computes_the_model() -> None:
    _, results = read_shapes(SAMPLES / "h200-shapes")
    for result in results.variants:
        assert (start_parts(result)["inductor"] == 0) == (result.variant.cache == "warm")
        assert result.graph_count == 3
        assert all(call.error_ratio is not None and call.error_ratio < 0.05 for call in result.calls)


def test_the_position_stops_compiling_at_the_ninth_call() -> None:
    _, results = read_shapes(SAMPLES / "h200-shapes-position")
    (result,) = [one for one in results.variants if one.variant.cache == "cold"]
    stopped = limit_call(result)
    assert stopped is not None
    assert stopped.index == 8
    assert [call.outcome for call in result.calls] == ["compiled"] * 8 + ["eager"] * 4
    why = why_compiled(result, stopped)
    assert why is not None
    assert "self.position" in why.cause


@pytest.mark.parametrize("name", ["h200-compile", "h200-compile-cuda-graph"])
def test_a_compiled_run_knows_its_stages_and_its_layers(name: str) -> None:
    facts = Recording(SAMPLES / name).facts()
    parts = run_start_parts(facts)
    assert {"import", "dynamo", "aot_autograd", "inductor", "kernels", "first_call"} <= set(parts)
    assert first_answer_ns(facts) == sum(parts[part] for part in parts if part not in ("capture", "warm_up"))
    assert facts.correctness is not None
    assert len(facts.correctness.layer_error_ratios) == 28
    assert facts.correctness.first_diverging_layer is None
