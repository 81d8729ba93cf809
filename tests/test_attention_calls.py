"""Can every named call be made, and do calls and a probe's settings survive being saved?"""

from __future__ import annotations

import dataclasses
import json

import pytest

from explorer.attention_call import AttentionCall, difference
from explorer.attention_calls import calls_of, simple_changes, single_changes, with_changes
from explorer.errors import RecordingError, SettingsError
from explorer.experiments import settings_from_json, settings_to_json
from explorer.probe_results import CallResult, Cell, Change, ProbeResults, results_from_json, results_to_json
from explorer.probe_settings import CALL_SETS, ProbeSettings


@pytest.mark.parametrize("scale", ["full", "small"])
def test_default_probe_has_at_least_sixty_calls_that_can_be_made(scale: str) -> None:
    calls = ProbeSettings(scale=scale).calls()  # type: ignore[arg-type]
    assert len(calls) >= 60
    assert [problem for call in calls for problem in call.refusals()] == []


def test_labels_are_unique_within_all_sets() -> None:
    labels = [call.label for name in CALL_SETS for call in calls_of(name, "full")]
    assert len(labels) == len(set(labels))


def test_probe_settings_are_read_back_with_own_calls() -> None:
    settings = ProbeSettings(
        own_calls=(AttentionCall(label="mine", query_tokens=1, mask="padding"),), call_sets=("grid",)
    )
    saved = json.loads(json.dumps(settings_to_json(settings)))
    assert settings_from_json(saved) == settings


def test_own_call_comes_first_and_wins_over_a_named_one() -> None:
    own = AttentionCall(label="plain_bf16", head_size=32, value_head_size=32)
    calls = ProbeSettings(own_calls=(own,), call_sets=("why_not",)).calls()
    assert calls[0] == own
    assert len(calls) == 12


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"label": "x", "dtype": "int8"}, "dtype is 'int8'"),
        ({"label": "x", "kv_head_count": 5}, "cannot share 5 KV heads"),
        ({"label": "x", "dropout_ratio": 1.0}, "dropout_ratio is 1.0"),
        ({"label": "x", "layout": "expanded_heads"}, "set kv_head_count to 1"),
        ({"label": "x", "layout": "joined_qkv", "query_tokens": 1}, "as many queries as keys"),
        ({"label": "x", "colour": "red"}, "colour"),
        ({"dtype": "float16"}, "needs a label"),
    ],
)
def test_call_that_cannot_be_made_says_why(fields: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        AttentionCall.from_json(fields)


def test_probe_of_nothing_is_refused() -> None:
    with pytest.raises(SettingsError, match="Nothing to try"):
        ProbeSettings.from_json({"call_sets": []})


def test_flops_count_visible_pairs_and_bytes_count_each_tensor_once() -> None:
    call = AttentionCall(
        label="x", batch_size=2, query_tokens=1, kv_tokens=100, kv_head_count=8, head_size=64, value_head_size=32
    )
    assert call.flops(200) == 2 * 16 * 200 * (64 + 32)
    assert call.moved_bytes(10) == 2 * (16 * 96 + 8 * 100 * 96) * 2 + 10


def test_simple_changes_only_name_what_the_call_has() -> None:
    plain = AttentionCall(label="plain")
    assert simple_changes(plain) == []
    masked = dataclasses.replace(plain, mask="padding", dtype="float32")
    assert [words for words, _ in simple_changes(masked)] == ["bfloat16 instead of float32", "no mask"]


def test_single_change_turns_one_choice() -> None:
    call = AttentionCall(label="x", head_size=64, value_head_size=64)
    for changed in single_changes(call):
        turned = set(difference(call, changed)) - {"value_head_size", "mask_shape"}
        assert len(turned) == 1, changed.label
        assert changed.label.startswith(turned.pop())


def test_difference_names_both_values() -> None:
    call = AttentionCall(label="x")
    assert difference(call, with_changes(call, {"mask": "all"})) == {"mask": ("none", "all")}


def test_results_are_read_back() -> None:
    cell = Cell(backend="flash", outcome="refused", reason="takes no mask", enabling=[["no mask"]])
    change = Change(name="dtype", value="float16", chosen="flash", accepted=["flash", "math"])
    result = CallResult(call=AttentionCall(label="x"), chosen="math", cells=[cell], changes=[change])
    results = ProbeResults(priority_order=["flash"], calls=[result])
    assert results_from_json(json.loads(json.dumps(results_to_json(results)))) == results


def test_results_of_another_experiment_are_refused() -> None:
    with pytest.raises(RecordingError, match="no probe of attention"):
        results_from_json({"batches": []})
