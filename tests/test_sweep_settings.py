"""Are a sweep's settings saved and read back, and impossible ones refused with the reason?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from explorer.errors import RecordingError, SettingsError
from explorer.experiments import settings_from_json, settings_to_json, validated
from explorer.sweep_settings import (
    GraphMeasurement,
    PaddingCheck,
    ServedBatch,
    SizeMeasurement,
    SweepResults,
    SweepSettings,
    Trap,
    results_from_json,
    results_to_json,
)

GPU = SweepSettings(device="cuda", sizes=(1, 2, 4, 8))
RESULTS = SweepResults(
    graph_mode="FULL",
    mode_reasons=["because"],
    sizes=[
        SizeMeasurement(
            size=2,
            eager_latencies_ns=[1, 2],
            graphs=[
                GraphMeasurement(
                    kind="FULL",
                    read_tokens=None,
                    graph_count=1,
                    compile_ns=None,
                    warm_up_ns=1,
                    capture_ns=2,
                    pool_bytes=3,
                    outside_bytes=4,
                    replay_latencies_ns=[5],
                )
            ],
        )
    ],
    padding_checks=[
        PaddingCheck(
            batch=1,
            size=2,
            kind="FULL",
            logits_error_ratio=0.0,
            is_bit_equal=True,
            other_rows_are_unchanged=True,
            follows_inputs=True,
        )
    ],
    batches=[ServedBatch(decode_count=1, prompt_count=0, kind="FULL", size=1, reason="it fits", latencies_ns=[3])],
    traps=[Trap(name="a", done="b", found=1.0, expected=2.0, is_caught=True, explanation="c")],
)


def test_settings_come_back_as_they_were_saved() -> None:
    sweep = replace(GPU, read_lengths=(512, 1024), compile_up_to=2)
    assert settings_from_json(settings_to_json(sweep)) == sweep


def test_results_come_back_as_they_were_saved() -> None:
    assert results_from_json(results_to_json(RESULTS)) == RESULTS


@pytest.mark.parametrize("damage", [{"sizes": [{"size": 1}]}, {"batches": [{"no": 1}]}, {"unknown": 1}])
def test_malformed_results_are_named(damage: dict[str, Any]) -> None:
    with pytest.raises(RecordingError, match="malformed"):
        results_from_json({**results_to_json(RESULTS), **damage})


@pytest.mark.parametrize(
    "fields",
    [
        {"sizes": []},
        {"sizes": [0]},
        {"sizes": [2, 1]},
        {"sizes": [1, 1]},
        {"sizes": "12"},
        {"sizes": [1.5]},
        {"sizes": [5000]},
        {"graph_mode": "SOME"},
        {"replayed_steps": 0},
        {"compile_up_to": -1},
        {"colour": "red"},
    ],
)
def test_malformed_settings_are_named(fields: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=next(iter(fields))):
        SweepSettings.from_json(fields)


@pytest.mark.parametrize(
    ("sweep", "reason"),
    [
        (replace(GPU, context_tokens=1024), "1,025 tokens"),
        (replace(GPU, read_lengths=(256, 400)), "cannot serve rows of 501"),
        (replace(GPU, read_lengths=(2048,)), "less than the read length 2,048"),
        (replace(GPU, graph_mode="PIECEWISE", compile_up_to=8), "has none"),
        (SweepSettings(compile_up_to=8), "needs a CUDA device"),
        (SweepSettings(attention="cudnn"), "no CPU kernel"),
    ],
)
def test_impossible_sweep_says_why(sweep: SweepSettings, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        validated(sweep)


def test_rows_of_the_model_leave_room_for_one_batch_too_large_and_the_null_row() -> None:
    assert GPU.run_settings().batch_size == 8 + 2


def test_only_sizes_up_to_the_limit_are_compiled() -> None:
    assert replace(GPU, compile_up_to=3).compiled_sizes == (1, 2)
    assert GPU.compiles is False


def test_title_says_how_many_sizes() -> None:
    assert GPU.title == "tiny · sweep of 4 sizes to 8"
