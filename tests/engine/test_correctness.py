"""Does the check notice a step that computes something else?"""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from explorer.engine import correctness
from explorer.engine.correctness import STEP_COUNT, Reference, compare, first_diverging_layer, reference_of
from explorer.engine.workload import Workload, build_workload, open_weights
from explorer.model_shapes import Dtype
from explorer.settings import RunSettings


def workload_of(**fields: Any) -> Workload:
    settings = RunSettings(**{"batch_size": 3, "context_tokens": 40, "cache_tokens": 64, **fields})
    return build_workload(settings, open_weights(settings))


@pytest.fixture(scope="module")
def workload() -> Workload:
    return workload_of(dtype="float32")


@pytest.fixture(scope="module")
def reference(workload: Workload) -> Reference:
    return reference_of(workload)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_eager_step_passes_in_every_dtype(dtype: Dtype, phase: str) -> None:
    workload = workload_of(dtype=dtype, phase=phase, context_tokens=12)
    found = compare(workload, workload.model.next_logits, reference_of(workload), "")
    assert found.passed
    assert found.compared_token_count == 3 * STEP_COUNT
    assert found.token_agreement_ratio > 0.8
    assert (found.logits_error_ratio < 1e-5) == (dtype == "float32")
    assert len(found.layer_error_ratios) == workload.model.shape.layer_count
    assert found.first_diverging_layer is None


@pytest.mark.parametrize("attention", ["auto", "flash", "math"])
@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_a_context_of_one_token_passes_under_every_backend(attention: str, phase: str) -> None:
    workload = workload_of(attention=attention, phase=phase, context_tokens=1)
    assert compare(workload, workload.model.next_logits, reference_of(workload), "").passed


def test_joined_projections_pass_against_the_separate_ones() -> None:
    workload = workload_of(dtype="float32", joined_projections=True)
    assert compare(workload, workload.model.next_logits, reference_of(workload), "").passed


def test_stale_inputs_fail(workload: Workload, reference: Reference) -> None:
    def stale(_tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return workload.model.next_logits(workload.tokens_BL, positions)

    found = compare(workload, stale, reference, "")
    assert not found.passed
    assert found.token_agreement_ratio < 1


def test_step_at_a_wrong_position_fails(workload: Workload, reference: Reference) -> None:
    def shifted(tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return workload.model.next_logits(tokens, positions - 1)

    assert not compare(workload, shifted, reference, "").passed


def test_damaged_cache_fails(reference: Reference) -> None:
    workload = workload_of(dtype="float32")
    workload.model.attentions()[1].v_cache_CKD.zero_()
    assert compare(workload, workload.model.next_logits, reference, "").kv_cache_error_ratio > 0.1


def test_values_that_are_not_numbers_fail(workload: Workload, reference: Reference) -> None:
    def broken(tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return workload.model.next_logits(tokens, positions) * math.nan

    found = compare(workload, broken, reference, "")
    assert not found.passed
    assert found.logits_error_ratio == math.inf


def test_large_batch_is_compared_by_its_first_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correctness, "_REFERENCE_TOKENS", 100)
    workload = workload_of(dtype="float32", batch_size=5)
    reference = reference_of(workload)
    assert reference.row_count == 100 // 41
    assert compare(workload, workload.model.next_logits, reference, "").passed


def test_reference_steps_feed_the_reference_tokens(reference: Reference) -> None:
    following = reference.logits_TBV[:-1].argmax(-1)
    assert torch.equal(reference.tokens_TBL[1:, :, -1], following)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_damaged_layer_is_named_by_the_keys_and_values_after_it(dtype: Dtype) -> None:
    workload = workload_of(dtype=dtype)
    reference = reference_of(workload)
    workload.model.attentions()[1].o_proj.weight.mul_(1.5)
    found = compare(workload, workload.model.next_logits, reference, "")
    assert found.first_diverging_layer == 2
    assert found.layer_error_ratios[1] < 0.05 < found.layer_error_ratios[2]


def test_stale_tokens_diverge_in_the_first_layer(workload: Workload, reference: Reference) -> None:
    def stale(_tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return workload.model.next_logits(workload.tokens_BL, positions)

    assert compare(workload, stale, reference, "").first_diverging_layer == 0


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([0.004, 0.012, 0.018], None),
        ([0.004, 0.012, 0.06], 2),
        ([0.0005, 0.006, 0.04], None),  # 0.04 is less than eight times 0.006
        ([0.0005, 0.0005, 0.04], 2),  # a jump of ten roundings below the limit
        ([0.0, 0.02], None),  # the layer before counts as one rounding at least
        ([math.inf, math.inf], 0),
        ([], None),
    ],
)
def test_a_layer_diverges_by_limit_or_by_jump(errors: list[float], expected: int | None) -> None:
    assert first_diverging_layer(errors, "bfloat16") == expected
