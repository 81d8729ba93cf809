"""What a person may choose, and the reasons why some choices exclude each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from explorer.errors import SettingsError
from explorer.experiments import settings_from_json, settings_to_json, validated
from explorer.model_shapes import MODEL_SHAPES
from explorer.settings import RunSettings, default_cache_tokens

GPU = RunSettings(model="qwen3-0.6b", device="cuda")


def test_settings_survive_json() -> None:
    settings = replace(GPU, mode="compile_cuda_graph", attention="flash", autotune=True)
    assert RunSettings.from_json(settings.to_json()) == settings
    assert settings_from_json(settings_to_json(settings)) == settings


def test_settings_without_an_experiment_s_name_are_a_run_s() -> None:
    assert settings_from_json(GPU.to_json()) == GPU


def test_unknown_experiment_is_named() -> None:
    with pytest.raises(SettingsError, match="alchemy"):
        settings_from_json({"experiment": "alchemy"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", "fastest"),
        ("batch_size", 0),
        ("batch_size", True),
        ("batch_size", "8"),
        ("seed", -1),
        ("autotune", "yes"),
        ("weights_folder", 3),
        ("model", "gpt-5"),
        ("colour", "red"),
    ],
)
def test_malformed_setting_is_named(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=name):
        RunSettings.from_json({name: value})


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (RunSettings(device="cpu", mode="cuda_graph"), "CUDA device"),
        (RunSettings(device="cpu", attention="cudnn"), "no CPU kernel"),
        (RunSettings(device="cpu", mode="compile", autotune=True), "CUDA device"),
        (replace(GPU, autotune=True), "does not compile"),
        (replace(GPU, mode="reduce_overhead", compile_scope="layer"), "whole model"),
        (RunSettings(device="cpu", mode="piecewise"), "CUDA device"),
        (replace(GPU, mode="compile_piecewise", compile_scope="layer"), "already shares"),
        (replace(GPU, context_tokens=1024, cache_tokens=1024), "1,025 tokens"),
        (replace(GPU, attention="flash", dtype="float32"), "float32"),
    ],
)
def test_impossible_combination_says_why(settings: RunSettings, reason: str) -> None:
    assert any(reason in sentence for sentence in settings.refusals())
    with pytest.raises(SettingsError, match=reason):
        validated(settings)


@pytest.mark.parametrize("settings", [RunSettings(), GPU, replace(GPU, phase="prefill", context_tokens=1024)])
def test_possible_combination_is_accepted(settings: RunSettings) -> None:
    assert settings.refusals() == []
    assert validated(settings) is settings


def test_every_reason_is_given_at_once() -> None:
    assert len(RunSettings(device="cpu", mode="cuda_graph", attention="cudnn").refusals()) == 2


def test_shape_of_the_smallest_qwen3_has_its_published_size() -> None:
    shape = MODEL_SHAPES["qwen3-0.6b"]
    assert shape.parameter_count == 596_049_920
    assert shape.weight_bytes("bfloat16") == 1_192_099_840
    assert shape.weight_read_bytes("bfloat16") == shape.weight_bytes("bfloat16")
    assert shape.kv_bytes_per_token("bfloat16") == 2 * 28 * 8 * 128 * 2


def test_an_untied_embedding_table_is_not_read_by_a_step() -> None:
    shape = MODEL_SHAPES["qwen3-8b"]
    table_bytes = shape.vocab_size * shape.hidden_size * 2
    assert shape.weight_read_bytes("bfloat16") == shape.weight_bytes("bfloat16") - table_bytes


@pytest.mark.parametrize(("context", "room"), [(1, 1024), (500, 1024), (1023, 1024), (1024, 2048), (4000, 4096)])
def test_default_cache_has_room_for_the_next_token(context: int, room: int) -> None:
    assert default_cache_tokens(context) == room
    assert replace(GPU, context_tokens=context, cache_tokens=default_cache_tokens(context)).refusals() == []


def test_title_says_what_tells_runs_apart() -> None:
    assert replace(GPU, mode="compile_cuda_graph").title == "qwen3-0.6b · batch 1 · compile + CUDA graph"
    assert replace(GPU, weights_folder="models/my-qwen").title.startswith("my-qwen · ")
    assert "flash attention" in replace(GPU, attention="flash").title
