"""Does the check notice a step that computes something else?"""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from explorer.engine import correctness
from explorer.engine.correctness import STEP_COUNT, Reference, compare, reference_of
from explorer.engine.workload import Workload, build_workload, open_weights
from explorer.settings import Dtype, RunSettings


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
