"""Which tensors does one call of attention get, what do its queries see, and what is the right answer?

Letters: B rows, H query heads, K KV heads, L queries, T keys, D head size, V value head size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from explorer.attention_call import AttentionCall

_SCORE_BYTES = {"cuda": 2**30, "cpu": 2**26}
"""How much the float64 reference may hold of one product at a time."""


@dataclass(frozen=True)
class CallInputs:
    """The tensors of one call; `mask` broadcasts to BHLT."""

    call: AttentionCall
    q_BHLD: torch.Tensor
    k_BKTD: torch.Tensor
    v_BKTV: torch.Tensor
    mask: torch.Tensor | None

    @property
    def tensors(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return self.q_BHLD, self.k_BKTD, self.v_BKTV

    @property
    def options(self) -> dict[str, Any]:
        """Everything beside the tensors, as scaled_dot_product_attention takes it."""
        return {
            "attn_mask": self.mask,
            "dropout_p": self.call.dropout_ratio,
            "is_causal": self.call.is_causal,
            "enable_gqa": self.call.has_grouped_heads,
        }

    @property
    def mask_bytes(self) -> int:
        return 0 if self.mask is None else self.mask.nbytes

    def attend(self) -> torch.Tensor:
        """The call itself; BHLV."""
        return functional.scaled_dot_product_attention(*self.tensors, **self.options)


def make_inputs(call: AttentionCall, device: torch.device, seed: int | None) -> CallInputs:
    """The call's tensors: normal random numbers from the seed, or uninitialised ones for asking only (None)."""
    if seed is not None:
        torch.manual_seed(seed)
    fill = _filler(call, device, seed is not None)
    heads, kv_heads = call.query_head_count, call.kv_head_count
    if call.layout == "joined_qkv":
        q, k, v = _slices_of_one(call, fill)
    else:
        q = _tensor(call, fill, heads, call.query_tokens, call.head_size, room=1)
        room = 2 if call.layout == "cut_cache" else 1
        k = _tensor(call, fill, kv_heads, call.kv_tokens, call.head_size, room)
        v = _tensor(call, fill, kv_heads, call.kv_tokens, call.value_head_size, room)
    if call.layout == "expanded_heads":
        k, v = k.expand(-1, heads, -1, -1), v.expand(-1, heads, -1, -1)
    return CallInputs(call, q, k, v, make_mask(call, device))


def _filler(call: AttentionCall, device: torch.device, filled: bool) -> Any:
    make = torch.randn if filled else torch.empty
    return lambda *sizes: make(*sizes, dtype=getattr(torch, call.dtype), device=device)


def _tensor(call: AttentionCall, fill: Any, heads: int, tokens: int, size: int, room: int) -> torch.Tensor:
    rows = call.batch_size
    if call.layout == "BLHD":
        turned: torch.Tensor = fill(rows, tokens, heads, size).transpose(1, 2)
        return turned
    if call.layout == "last_dim_strided":
        strided: torch.Tensor = fill(rows, heads, size, tokens).transpose(2, 3)
        return strided
    plain: torch.Tensor = fill(rows, heads, tokens * room, size)[:, :, :tokens]
    return plain


def _slices_of_one(call: AttentionCall, fill: Any) -> list[torch.Tensor]:
    head_counts = (call.query_head_count, call.kv_head_count, call.kv_head_count)
    sizes = (call.head_size, call.head_size, call.value_head_size)
    widths = [heads * size for heads, size in zip(head_counts, sizes, strict=True)]
    joined = fill(call.batch_size, call.query_tokens, sum(widths))
    return [
        part.unflatten(2, (heads, size)).transpose(1, 2)
        for part, heads, size in zip(joined.split(widths, dim=2), head_counts, sizes, strict=True)
    ]


def make_mask(call: AttentionCall, device: torch.device) -> torch.Tensor | None:
    """The call's mask in its shape, boolean (True attends) or additive in the call's dtype; None without one."""
    if call.mask == "none":
        return None
    visible = _visible(call, device)
    mask = visible if not call.mask.startswith("additive") else _additive(visible, getattr(torch, call.dtype))
    rows, heads = call.batch_size, call.query_head_count
    shaped = {
        "LT": lambda: mask[0, 0],
        "HLT": lambda: mask[0].expand(heads, -1, -1),
        "B11T": lambda: mask[:, :, -1:].expand(rows, -1, -1, -1),
        "B1LT": lambda: mask.expand(rows, -1, -1, -1),
        "BHLT": lambda: mask.expand(rows, heads, -1, -1),
    }[call.mask_shape]()
    return shaped.contiguous()


def _visible(call: AttentionCall, device: torch.device) -> torch.Tensor:
    """B1LT or 11LT: True where the query sees the key."""
    queries, keys = call.query_tokens, call.kv_tokens
    query_L1 = torch.arange(queries, device=device)[:, None]
    key_T = torch.arange(keys, device=device)
    if call.mask in ("all", "additive_zero"):
        return torch.ones(1, 1, queries, keys, dtype=torch.bool, device=device)
    if call.mask == "padding":
        rows = torch.arange(call.batch_size, device=device)
        real_B = (keys - keys * (rows % 4 + 1) // 8).clamp(min=1)
        return (key_T < real_B[:, None, None, None]).expand(-1, 1, queries, -1)
    visible_LT = key_T <= query_L1 + (keys - queries)
    if call.mask == "sliding_window":
        visible_LT = visible_LT & (key_T > query_L1 + (keys - queries) - call.window_tokens)
    if call.mask == "nothing":
        visible_LT = visible_LT & (query_L1 % 4 != 0)
    return visible_LT[None, None]


def _additive(visible: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """0 where visible and the dtype's lowest number elsewhere, as Hugging Face models write it."""
    return torch.zeros(visible.shape, dtype=dtype, device=visible.device).masked_fill(~visible, torch.finfo(dtype).min)


def visible_pairs(inputs: CallInputs) -> tuple[int, int] | None:
    """(query-key pairs of one head that may see each other, queries that see no key); None with mask and is_causal."""
    call = inputs.call
    queries, keys = call.query_tokens, call.kv_tokens
    if inputs.mask is None and call.is_causal:
        corner = min(queries, keys)
        return call.batch_size * (corner * (corner + 1) // 2 + (queries - corner) * keys), 0
    if inputs.mask is None:
        return call.pair_count, 0
    if call.is_causal:
        return None
    mask = inputs.mask if inputs.mask.dtype == torch.bool else inputs.mask > torch.finfo(inputs.mask.dtype).min / 2
    seen_BL = mask.expand(call.batch_size, call.query_head_count, queries, keys)[:, 0].sum(-1)
    return int(seen_BL.sum()), int((seen_BL == 0).sum())


def reference_of(inputs: CallInputs) -> torch.Tensor:
    """softmax(q·k / √D + mask)·v in float64, BHLV; a query that sees nothing has NaN. A few queries at a time."""
    call = inputs.call
    rows, heads, queries, keys = call.batch_size, call.query_head_count, call.query_tokens, call.kv_tokens
    kv_heads = inputs.k_BKTD.shape[1]
    out_BHLV = torch.empty(rows, heads, queries, call.value_head_size, dtype=torch.float64, device=inputs.q_BHLD.device)
    mask_BHLT = None if inputs.mask is None else inputs.mask.expand(rows, heads, queries, keys)
    at_once = max(1, _SCORE_BYTES[out_BHLV.device.type] // (8 * heads * keys))
    for row in range(rows):
        k_KTD, v_KTV = inputs.k_BKTD[row].double(), inputs.v_BKTV[row].double()
        for first in range(0, queries, at_once):
            part = slice(first, min(first + at_once, queries))
            q_KND = inputs.q_BHLD[row, :, part].double().reshape(kv_heads, -1, call.head_size)
            scores_HLT = (q_KND @ k_KTD.mT * call.head_size**-0.5).view(heads, -1, keys)
            mask_HLT = None if mask_BHLT is None else mask_BHLT[row, :, part]
            scores_HLT = _masked(scores_HLT, mask_HLT, first if call.is_causal else None)
            shares_KNT = torch.softmax(scores_HLT, dim=-1).view(kv_heads, -1, keys)
            out_BHLV[row, :, part] = (shares_KNT @ v_KTV).view(heads, -1, call.value_head_size)
    return out_BHLV


def _masked(scores_HLT: torch.Tensor, mask_HLT: torch.Tensor | None, first_query: int | None) -> torch.Tensor:
    """Scores under the mask; `first_query` is the number of the first query where `is_causal`, aligned upper left."""
    if mask_HLT is not None and mask_HLT.dtype == torch.bool:
        scores_HLT = scores_HLT.masked_fill(~mask_HLT, float("-inf"))
    elif mask_HLT is not None:
        scores_HLT = scores_HLT + mask_HLT
    if first_query is not None:
        queries, keys = scores_HLT.shape[1:]
        query_L1 = torch.arange(first_query, first_query + queries, device=scores_HLT.device)[:, None]
        hidden_LT = torch.arange(keys, device=scores_HLT.device) > query_L1
        scores_HLT = scores_HLT.masked_fill(hidden_LT, float("-inf"))
    return scores_HLT


def error_ratio(out_BHLV: torch.Tensor, reference_BHLV: torch.Tensor) -> float:
    """‖out − reference‖ / ‖reference‖ over the queries that see a key."""
    known_BHL = reference_BHLV.isfinite().all(-1)
    expected = reference_BHLV[known_BHL]
    return float((out_BHLV[known_BHL].double() - expected).norm() / expected.norm())
