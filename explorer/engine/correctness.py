"""Does the step that is measured still compute the model?

The reference is the plain eager model in float32, TF32 off, on the same weights (rounded to the run's dtype, as both
sides hold them) and the same inputs. Both sides take several steps; each feeds the token that the *reference* found
most likely, so that one disagreement does not put the two on different texts. The cache is compared afterwards.

    logits error     largest over the steps of ‖out − reference‖ / ‖reference‖, over all compared rows
    KV cache error   the same ratio over every written key and value
    token agreement  share of rows and steps with the same most likely token; reported, not judged: with random
                     weights the two best of 150,000 tokens may be closer than a rounding

The limits allow a dozen roundings of the dtype (relative size 2⁻⁸ bfloat16, 2⁻¹¹ float16, 2⁻²⁴ float32) in a row
through the layers; a wrong mask, position or stale input is off by tens of percent.

Where it goes wrong is seen in the cache too, and so in the very step that is measured, whatever its mode: the error of
the keys and values that the last step wrote, layer by layer. Rounding grows slowly from layer to layer (measured in
bfloat16: 0.4 % in the first, 1.2 % in the second, 1.8 % in the 28th). The *first diverging layer* is the first whose
error exceeds the limit, or is more than eight times that of the layer before (of one rounding, where that is larger).
Keys and values of layer i come from the output of layer i − 1, so a fault first seen there lies between the two: in
layer i − 1's attention or MLP, or in layer i's norms, projections or positions. What the last layer makes of its keys
and values is seen in the logits alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import torch

from explorer.engine.attention import AttentionPolicy, efficient_takes_grouped_heads
from explorer.engine.environment import free_memory_bytes
from explorer.engine.model import Qwen3
from explorer.engine.weights import WeightSource, build_model
from explorer.engine.workload import Step, Workload, fill_context
from explorer.facts import Correctness
from explorer.model_shapes import Dtype

ERROR_LIMITS: Mapping[Dtype, float] = MappingProxyType({"bfloat16": 0.05, "float16": 0.01, "float32": 1e-4})
ROUNDING: Mapping[Dtype, float] = MappingProxyType({"bfloat16": 2**-8, "float16": 2**-11, "float32": 2**-24})
GROWTH_LIMIT = 8
"""Times by which rounding may grow from one layer to the next; three were measured, from the first to the second."""
STEP_COUNT = 8
_REFERENCE_TOKENS = 32768


@dataclass(frozen=True)
class Reference:
    """What float32 says about the first rows of a workload; tensors on the CPU, float32.

    `tokens_TBL` are the inputs of the T steps, `logits_TBV` their answers, `caches` the written part of every
    layer's keys, then values, as rows × tokens × heads × head size.
    """

    tokens_TBL: torch.Tensor
    logits_TBV: torch.Tensor
    caches: list[torch.Tensor]

    @property
    def row_count(self) -> int:
        return self.tokens_TBL.shape[1]


def reference_of(workload: Workload) -> Reference:
    """Runs the reference and frees it; on a GPU it takes four bytes a weight while it runs."""
    token_count = workload.context_BT.shape[1] + workload.tokens_BL.shape[1]
    row_count = min(workload.settings.batch_size, max(1, _REFERENCE_TOKENS // token_count))
    model = _float32_model(workload)
    model.allocate_cache(row_count, token_count)
    if workload.context_BT.shape[1]:
        fill_context(model, workload.context_BT[:row_count])
    positions_B = workload.positions_B[:row_count]
    tokens_BL = workload.tokens_BL[:row_count]
    tokens, logits = [], []
    for _ in range(STEP_COUNT):
        tokens.append(tokens_BL.cpu())
        logits_BV = model.next_logits(tokens_BL, positions_B)
        logits.append(logits_BV.cpu())
        tokens_BL = _with_last_token(tokens_BL, logits_BV.argmax(-1))
    return Reference(torch.stack(tokens), torch.stack(logits), written_caches(model, row_count, token_count))


def reference_bytes(workload: Workload) -> int:
    """Device memory that the reference's weights need."""
    return workload.source.shape.weight_bytes("float32")


def reference_fits(workload: Workload) -> bool:
    """Whether the device has room for the reference beside the model."""
    free = free_memory_bytes(workload.device)
    return free is None or reference_bytes(workload) * 9 // 8 <= free


def compare(workload: Workload, step: Step, reference: Reference, note: str) -> Correctness:
    """Takes the reference's steps with `step`, all rows of the workload included, and compares the first rows."""
    rows = reference.row_count
    errors, agreements = [], []
    for tokens_BL, expected_BV in zip(reference.tokens_TBL, reference.logits_TBV, strict=True):
        inputs_BL = workload.tokens_BL.clone()
        inputs_BL[:rows] = tokens_BL.to(workload.device)
        logits_BV = step(inputs_BL, workload.positions_B)[:rows].float().cpu()
        errors.append(_error_ratio([logits_BV], [expected_BV]))
        agreements.append((logits_BV.argmax(-1) == expected_BV.argmax(-1)).float().mean().item())
    caches = written_caches(workload.model, rows, reference.caches[0].shape[1])
    kv_error = _error_ratio(caches, reference.caches)
    layer_errors = _layer_errors(caches, reference.caches, workload.tokens_BL.shape[1])
    limit = ERROR_LIMITS[workload.settings.dtype]
    return Correctness(
        logits_error_ratio=max(errors),
        kv_cache_error_ratio=kv_error,
        token_agreement_ratio=sum(agreements) / len(agreements),
        compared_token_count=len(agreements) * rows,
        error_limit_ratio=limit,
        passed=max(errors) <= limit and kv_error <= limit,
        note=note,
        layer_error_ratios=layer_errors,
        first_diverging_layer=first_diverging_layer(layer_errors, workload.settings.dtype),
    )


def first_diverging_layer(error_ratios: Sequence[float], dtype: Dtype) -> int | None:
    """Index of the first layer whose error is more than rounding by the rule above; None where all are rounding."""
    before = ROUNDING[dtype]
    for index, error in enumerate(error_ratios):
        if error > min(ERROR_LIMITS[dtype], GROWTH_LIMIT * max(before, ROUNDING[dtype])):
            return index
        before = error
    return None


def written_caches(model: Qwen3, row_count: int, token_count: int) -> list[torch.Tensor]:
    """The first tokens of the first rows of every layer's keys and values, float32 on the CPU, rows × tokens × …"""
    cache_tokens = len(model.cache_positions_S)
    caches = []
    for attention in model.attentions():
        for cache_CKD in (attention.k_cache_CKD, attention.v_cache_CKD):
            cache_BSKD = cache_CKD.view(-1, cache_tokens, *cache_CKD.shape[1:])
            caches.append(cache_BSKD[:row_count, :token_count].float().cpu())
    return caches


def _layer_errors(found: list[torch.Tensor], expected: list[torch.Tensor], new_tokens: int) -> list[float]:
    """The error of each layer's newest keys and values together; the lists are as `written_caches` gives them."""
    newest = [[cache[:, -new_tokens:] for cache in caches] for caches in (found, expected)]
    return [_error_ratio(newest[0][at : at + 2], newest[1][at : at + 2]) for at in range(0, len(found), 2)]


def _float32_model(workload: Workload) -> Qwen3:
    on_gpu = workload.device.type == "cuda"
    policy = AttentionPolicy(
        # Float32 has no flash kernel on a GPU, and math would hold every score of a long prompt.
        backend="efficient" if on_gpu else "auto",
        repeats_heads=on_gpu and not efficient_takes_grouped_heads(),
    )
    return build_model(_InFloat32(workload.source), policy)


class _InFloat32:
    """A source's weights, rounded to the run's dtype and held in float32."""

    def __init__(self, source: WeightSource) -> None:
        self.shape = source.shape
        self._source = source

    def tensor(self, name: str, size: torch.Size) -> torch.Tensor:
        return self._source.tensor(name, size).float()


def _with_last_token(tokens_BL: torch.Tensor, last_B: torch.Tensor) -> torch.Tensor:
    tokens_BL = tokens_BL.clone()
    tokens_BL[:, -1] = last_B
    return tokens_BL


def _error_ratio(found: list[torch.Tensor], expected: list[torch.Tensor]) -> float:
    """‖found − expected‖ / ‖expected‖ over all tensors; infinite when a value is not a number, so that it fails."""
    pairs = list(zip(found, expected, strict=True))
    error = sum((one - other).double().square().sum().item() for one, other in pairs)
    norm = sum(other.double().square().sum().item() for _, other in pairs)
    ratio = float((error / norm) ** 0.5)
    return ratio if math.isfinite(ratio) else math.inf
