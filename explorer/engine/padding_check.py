"""Does a padded step give the unpadded step's answer, and does padding touch nobody's cache?"""

from __future__ import annotations

import math

import torch

from explorer.engine.bucketed import Batch, BucketedStep
from explorer.engine.correctness import ERROR_LIMITS
from explorer.engine.model import Qwen3
from explorer.engine.piecewise import Inputs
from explorer.engine.workload import Workload
from explorer.graph_modes import Decision, GraphKind
from explorer.sweep_settings import PaddingCheck

_INTEGERS = {2: torch.int16, 4: torch.int32}


def check_padding(
    workload: Workload, bucketed: BucketedStep, *, batch: int, size: int, kind: GraphKind, longest_tokens: int
) -> PaddingCheck:
    """Runs the first `batch` rows padded to `size` and, eagerly, unpadded; twice, with different tokens."""
    model, positions_B = workload.model, workload.positions_B[:batch]
    decision = Decision(kind, size, "")
    answers = []
    unchanged = True
    for shift in (0, 1):
        tokens_BL = (workload.tokens_BL[:batch] + shift) % model.shape.vocab_size
        expected_BV = model.next_logits(tokens_BL, positions_B).clone()
        before = cache_sums(model, batch, longest_tokens - 1)
        given = Inputs(tokens_BL, positions_B, model.row_starts_B[:batch])
        found_BV = bucketed.run(Batch(batch), decision, given, longest_tokens).clone()
        unchanged = unchanged and torch.equal(before, cache_sums(model, batch, longest_tokens - 1))
        answers.append((found_BV, expected_BV))
    limit = ERROR_LIMITS[workload.settings.dtype]
    errors = [error_ratio(*pair) for pair in answers]
    return PaddingCheck(
        batch=batch,
        size=size,
        kind=kind,
        logits_error_ratio=max(errors),
        is_bit_equal=all(torch.equal(found, expected) for found, expected in answers),
        other_rows_are_unchanged=unchanged,
        follows_inputs=max(errors) <= limit < error_ratio(answers[1][0], answers[0][0]),
    )


def cache_sums(model: Qwen3, batch: int, position: int) -> torch.Tensor:
    """Integer sums of the bits of every cached token but the batch's own new ones and the null row's.

    Shape: caches × rows × tokens. Equal sums before and after a step: it wrote where it may.
    """
    sums = []
    for attention in model.attentions():
        for cache_CKD in (attention.k_cache_CKD, attention.v_cache_CKD):
            bits = cache_CKD.view(_INTEGERS[cache_CKD.element_size()])
            sums_BS = bits.flatten(1).sum(1, dtype=torch.int64).view(attention.cache_row_count, -1)[:-1].clone()
            sums_BS[:batch, position] = 0
            sums.append(sums_BS)
    return torch.stack(sums)


def error_ratio(found_BV: torch.Tensor, expected_BV: torch.Tensor) -> float:
    """‖found − expected‖ / ‖expected‖; infinite where it is not a number."""
    ratio = float((found_BV.float() - expected_BV.float()).norm() / expected_BV.float().norm())
    return ratio if math.isfinite(ratio) else math.inf
