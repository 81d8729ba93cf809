"""What does a batch of rows of unequal length cost, three ways?

    padded            one call over caches as long as the longest row; a boolean mask hides the rest
    one_call_a_row    a row's keys and values are gathered by index from a pool of slots, then one call for it
    square            extend only: a row's new queries stand at the end of a buffer of its whole length, whose other
                      queries are uninitialised; one causal square a row, of which the last queries are kept

The pool holds the tokens of all rows in random order, as an engine's paged cache does; gathering copies.
Letters: R rows, H query heads, K KV heads, L new queries of a row, T its tokens, S slots of the pool, D head size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch.nn.functional import scaled_dot_product_attention

from explorer.attention_calls import Scale
from explorer.engine.probe_measure import Run
from explorer.probe_results import RaggedResult

_ROW_LENGTHS: dict[Scale, tuple[int, ...]] = {
    "full": (1000, 37, 512, 130, 760, 64, 300, 900),
    "small": (100, 7, 51, 13),
}
_NEW_LENGTHS: dict[Scale, tuple[int, ...]] = {"full": (100, 37, 256, 2, 60, 64, 44, 300), "small": (10, 7, 20, 1)}
_QUERY_HEADS, _KV_HEADS, _HEAD_SIZE = 16, 8, 128

Way = Literal["padded", "one_call_a_row", "square"]
Phase = Literal["decode", "extend"]
WAYS: dict[Phase, tuple[Way, ...]] = {
    "decode": ("padded", "one_call_a_row"),
    "extend": ("padded", "one_call_a_row", "square"),
}


@dataclass(frozen=True)
class RaggedBatch:
    """The tokens of all rows in a pool, the same tokens in padded caches, and each row's new queries."""

    phase: Phase
    row_lengths: tuple[int, ...]
    new_lengths: tuple[int, ...]
    q_HLD: list[torch.Tensor]
    k_pool_SKD: torch.Tensor
    v_pool_SKD: torch.Tensor
    slots_T: list[torch.Tensor]
    q_padded_RHLD: torch.Tensor
    k_padded_RKTD: torch.Tensor
    v_padded_RKTD: torch.Tensor
    mask_R1LT: torch.Tensor

    def rows(self) -> Iterator[tuple[int, int, int]]:
        """(row, its tokens, its new tokens)."""
        return zip(range(len(self.row_lengths)), self.row_lengths, self.new_lengths, strict=True)

    def gathered(self, row: int) -> tuple[torch.Tensor, torch.Tensor]:
        """A row's keys and values as 1KTD, copied from the pool."""
        slots = self.slots_T[row]
        return tuple(pool[slots].transpose(0, 1)[None] for pool in (self.k_pool_SKD, self.v_pool_SKD))  # type: ignore[return-value]


def ragged_batch(phase: Phase, scale: Scale, device: torch.device, seed: int) -> RaggedBatch:
    """A batch of bfloat16 numbers from the seed; decode has one new query a row."""
    torch.manual_seed(seed)
    totals = _ROW_LENGTHS[scale]
    news = (1,) * len(totals) if phase == "decode" else _NEW_LENGTHS[scale]
    options: dict[str, Any] = {"dtype": torch.bfloat16, "device": device}
    k_pool_SKD, v_pool_SKD = (torch.randn(sum(totals), _KV_HEADS, _HEAD_SIZE, **options) for _ in range(2))
    slots_T = list(torch.split(torch.randperm(sum(totals), device=device), list(totals)))
    q_HLD = [torch.randn(_QUERY_HEADS, new, _HEAD_SIZE, **options) for new in news]
    padded = [torch.zeros(len(totals), _KV_HEADS, max(totals), _HEAD_SIZE, **options) for _ in range(2)]
    q_padded_RHLD = torch.zeros(len(totals), _QUERY_HEADS, max(news), _HEAD_SIZE, **options)
    for row, (total, new) in enumerate(zip(totals, news, strict=True)):
        for cache, pool in zip(padded, (k_pool_SKD, v_pool_SKD), strict=True):
            cache[row, :, :total] = pool[slots_T[row]].transpose(0, 1)
        q_padded_RHLD[row, :, :new] = q_HLD[row]
    return RaggedBatch(
        phase=phase,
        row_lengths=totals,
        new_lengths=news,
        q_HLD=q_HLD,
        k_pool_SKD=k_pool_SKD,
        v_pool_SKD=v_pool_SKD,
        slots_T=slots_T,
        q_padded_RHLD=q_padded_RHLD,
        k_padded_RKTD=padded[0],
        v_padded_RKTD=padded[1],
        mask_R1LT=_mask(totals, news, device),
    )


def _mask(totals: Sequence[int], news: Sequence[int], device: torch.device) -> torch.Tensor:
    """R1LT: new query i of a row sees the tokens before it and itself; a padded query sees what the last one does."""
    total_R, new_R = (torch.tensor(lengths, device=device)[:, None, None, None] for lengths in (totals, news))
    query_L1 = torch.arange(max(news), device=device)[:, None]
    key_T = torch.arange(max(totals), device=device)
    return key_T <= total_R - new_R + torch.minimum(query_L1, new_R - 1)


def ragged_run(batch: RaggedBatch, way: Way) -> Run:
    """The way's calls as one piece of work; returns the new queries' outputs one after the other, HND."""
    return {
        "padded": lambda: _padded(batch),
        "one_call_a_row": lambda: _one_call_a_row(batch),
        "square": lambda: _squares(batch),
    }[way]


def ragged_result(batch: RaggedBatch, way: Way) -> RaggedResult:
    """What is known of a way before it runs: calls, pairs needed and computed, bytes copied."""
    row_count, pool = len(batch.row_lengths), batch.k_pool_SKD
    computed = {
        "padded": row_count * max(batch.new_lengths) * max(batch.row_lengths),
        "one_call_a_row": sum(new * total for _, total, new in batch.rows()),
        "square": sum(total * (total + 1) // 2 for total in batch.row_lengths),
    }
    return RaggedResult(
        phase=batch.phase,
        way=way,
        row_lengths=list(batch.row_lengths),
        query_lengths=list(batch.new_lengths),
        call_count=1 if way == "padded" else row_count,
        useful_pair_count=sum(new * total - new * (new - 1) // 2 for _, total, new in batch.rows()),
        computed_pair_count=computed[way],
        copied_bytes=0 if way == "padded" else 2 * pool.nbytes,
    )


def ragged_reference(batch: RaggedBatch) -> torch.Tensor:
    """The right answer in float64, HND as the ways return it."""
    group = _QUERY_HEADS // _KV_HEADS
    outs = []
    for row, total, new in batch.rows():
        k_HTD, v_HTD = (part[0].double().repeat_interleave(group, dim=0) for part in batch.gathered(row))
        scores_HLT = batch.q_HLD[row].double() @ k_HTD.mT * _HEAD_SIZE**-0.5
        scores_HLT = scores_HLT.masked_fill(~_sees(total, new, batch), float("-inf"))
        outs.append(torch.softmax(scores_HLT, dim=-1) @ v_HTD)
    return torch.cat(outs, dim=1)


def _padded(batch: RaggedBatch) -> torch.Tensor:
    out_RHLD = scaled_dot_product_attention(
        batch.q_padded_RHLD, batch.k_padded_RKTD, batch.v_padded_RKTD, attn_mask=batch.mask_R1LT, enable_gqa=True
    )
    return torch.cat([out_RHLD[row, :, :new] for row, _, new in batch.rows()], dim=1)


def _one_call_a_row(batch: RaggedBatch) -> torch.Tensor:
    outs = []
    for row, total, new in batch.rows():
        k_1KTD, v_1KTD = batch.gathered(row)
        mask = None if new == 1 else _sees(total, new, batch)
        out_1HLD = scaled_dot_product_attention(batch.q_HLD[row][None], k_1KTD, v_1KTD, attn_mask=mask, enable_gqa=True)
        outs.append(out_1HLD[0])
    return torch.cat(outs, dim=1)


def _squares(batch: RaggedBatch) -> torch.Tensor:
    outs = []
    for row, total, new in batch.rows():
        k_1KTD, v_1KTD = batch.gathered(row)
        q_1HTD = torch.empty(1, _QUERY_HEADS, total, _HEAD_SIZE, dtype=k_1KTD.dtype, device=k_1KTD.device)
        q_1HTD[:, :, total - new :] = batch.q_HLD[row]
        out_1HTD = scaled_dot_product_attention(q_1HTD, k_1KTD, v_1KTD, is_causal=True, enable_gqa=True)
        outs.append(out_1HTD[0, :, total - new :])
    return torch.cat(outs, dim=1)


def _sees(total: int, new: int, batch: RaggedBatch) -> torch.Tensor:
    """LT: causal, aligned lower right."""
    return torch.ones(new, total, dtype=torch.bool, device=batch.k_pool_SKD.device).tril(total - new)
