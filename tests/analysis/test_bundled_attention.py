"""Does the bundled probe of an H200 say what was measured on it, and is nothing of it a lost cell?"""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.analysis.attention import attention_report, ragged_sentence, short_words
from explorer.analysis.attention_choice import is_slower_choice
from explorer.attention_calls import calls_of
from explorer.probe_results import PROBE_BACKENDS, CallResult, Cell, ProbeResults, results_from_json
from explorer.recording import Recording
from tests.shared import SHARED, needs_shared

RECORDING = Recording(Path(__file__).parents[2] / "traces" / "samples" / "h200-attention")
H200_CHOICES = {
    "plain_bf16": "cudnn",
    "plain_fp32": "efficient",
    "plain_fp64": "math",
    "bool_mask": "cudnn",
    "mask_3d": "efficient",
    "causal_q16_kv32": "cudnn",
    "gqa_d64": "cudnn",
    "gqa_d512": "math",
    "mha_d512": "efficient",
    "v_dim_differs": "cudnn",
    "last_dim_strided": "math",
    "dropout": "cudnn",
}
"""Measured by a program of its own on an H200 with torch 2.11 (shared case 26)."""


@pytest.fixture(scope="module")
def results() -> ProbeResults:
    return results_from_json(RECORDING.results())


def result_of(results: ProbeResults, label: str) -> CallResult:
    return next(result for result in results.calls if result.call.label == label)


def cell_of(result: CallResult, backend: str) -> Cell:
    cell = result.cell(backend)
    assert cell is not None
    return cell


def test_probe_holds_at_least_sixty_settings_and_every_cell_has_an_answer(results: ProbeResults) -> None:
    assert RECORDING.state() == "finished"
    assert len(results.calls) >= 60
    for result in results.calls:
        assert [cell.backend for cell in result.cells] == list(PROBE_BACKENDS)
        for cell in result.cells:
            assert cell.time_ns is not None if cell.outcome == "ran" else cell.reason
            assert len(short_words(result.call, cell)) < 30


@needs_shared
def test_choices_are_those_of_the_case(results: ProbeResults) -> None:
    case = (SHARED / "cases" / "26-sdpa-why-not-flash" / "CASE.md").read_text(encoding="utf-8")
    for label, backend in H200_CHOICES.items():
        assert f"{label} {backend.upper()}" in case
        assert result_of(results, label).chosen == backend


def test_decode_with_grouped_heads_chooses_cudnn(results: ProbeResults) -> None:
    result = result_of(results, "decode, grouped heads, 1 × 1,024")
    assert result.chosen == "cudnn"
    assert cell_of(result, "efficient").reason == "takes no grouped heads"
    assert "same num_heads" in cell_of(result, "efficient").sentence


def test_flash_is_refused_for_its_mask_and_possible_without(results: ProbeResults) -> None:
    flash = cell_of(result_of(results, "decode, padded cache with mask"), "flash")
    assert (flash.outcome, flash.reason, flash.enabling) == ("refused", "takes no mask", [["no mask"]])


def test_out_of_memory_is_a_cell(results: ProbeResults) -> None:
    result = result_of(results, "long prefill 65,536, causal")
    assert cell_of(result, "math").reason == "ran out of memory"
    assert cell_of(result, "cudnn").outcome == "ran"


def test_priority_order_changes_with_the_warm_up(results: ProbeResults) -> None:
    assert results.priority_before[0] == "flash"
    assert results.priority_order[0] == "cudnn"


def test_forced_backend_is_the_one_whose_kernels_ran(results: ProbeResults) -> None:
    for result in results.calls:
        for cell in result.cells:
            assert cell.outcome != "ran" or cell.ran_backend == cell.backend, (result.call.label, cell.backend)


def test_a_compiled_function_keeps_its_backend(results: ProbeResults) -> None:
    assert [(kept.called_under, kept.ran_backend) for kept in results.kept_backends] == [
        ("flash", "math"),
        ("math", "flash"),
    ]


def test_errors_are_those_of_the_number_format(results: ProbeResults) -> None:
    limits = {"bfloat16": 0.01, "float16": 0.001, "float32": 1e-5, "float64": 1e-12}
    for result in results.calls:
        for cell in result.cells:
            assert cell.error_ratio is None or cell.error_ratio < limits[result.call.dtype]


def test_a_slower_backend_was_chosen_somewhere(results: ProbeResults) -> None:
    assert is_slower_choice(result_of(results, "float32, 1 × 1,024, plain, 16 / 16"))
    assert (attention_report(results, RECORDING.facts()).value("largest_gain") or 0) > 1.5


def test_ragged_rows_say_which_way_was_fastest_and_why_it_may_be_wasteful(results: ProbeResults) -> None:
    sentence = ragged_sentence(results)
    assert sentence.startswith(
        "Decode: padded takes 31.9 µs (54 % of its pairs are not needed), one call a row 121 µs."
    )
    assert "Extend: padded takes 110 µs" in sentence


def test_every_named_call_of_the_full_scale_is_there(results: ProbeResults) -> None:
    labels = {result.call.label for result in results.calls}
    assert {call.label for call in calls_of("presets", "full")} <= labels
