"""Are the compiler's stages, the layers' errors and the crossings of a broken graph measured on a GPU?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.model_shapes import TINY
from explorer.recording import Recording, create_recording
from explorer.shapes_results import STAGES, results_from_json
from explorer.shapes_settings import ShapesSettings
from tests.gpu.conftest import run_engine

pytestmark = pytest.mark.gpu

MakeRun = Callable[..., tuple[Recording, int]]


def test_a_compiled_run_tells_its_stages_and_its_layers_apart(make_run: MakeRun) -> None:
    facts = make_run(mode="compile", dtype="bfloat16")[0].facts()
    assert facts.cold_start is not None
    assert facts.cold_start.compile_ns is not None
    assert set(facts.cold_start.compile_stage_ns) == set(STAGES)
    assert 0 < sum(facts.cold_start.compile_stage_ns.values()) <= facts.cold_start.compile_ns
    assert facts.correctness is not None
    assert len(facts.correctness.layer_error_ratios) == TINY.layer_count
    assert facts.correctness.first_diverging_layer is None


def test_crossing_a_broken_graph_waits_for_its_first_piece(tmp_path: Path) -> None:
    settings = ShapesSettings(
        device="cuda", subject="item_branch", sizes=(64, 128), dynamics=("false",), tries_warm=False
    )
    folder = create_recording(tmp_path / "shapes", settings).folder
    assert run_engine(folder) == 0
    results = results_from_json(json.loads((folder / "results.json").read_text(encoding="utf-8")))
    (variant,) = results.variants
    assert [crossing.size for crossing in variant.crossings] == [64, 128]
    for crossing, steady in zip(variant.crossings, variant.steady, strict=True):
        assert all(0 < one < whole for one, whole in zip(crossing.latencies_ns, steady.latencies_ns, strict=True))
    assert {crossing.from_id for crossing in variant.crossings} & {one.compile_id for one in variant.breaks}
