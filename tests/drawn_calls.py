"""Random calls of attention, and what PyTorch itself chooses for a call."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch

from explorer.attention_call import CALL_CHOICES, AttentionCall
from explorer.engine.probe_inputs import CallInputs

_NAMES = {0: "math", 1: "flash", 2: "efficient", 3: "cudnn", 4: "overrideable", -1: "error"}


def random_calls(
    count: int,
    *,
    head_counts: Sequence[int],
    kv_tokens: Sequence[int],
    head_sizes: Sequence[int],
    value_head_size: int,
    dropouts: Sequence[float],
) -> list[AttentionCall]:
    """That many calls that the settings allow, the same ones every time."""
    chance = random.Random(11)
    calls: list[AttentionCall] = []
    while len(calls) < count:
        heads, keys, size = chance.choice(head_counts), chance.choice(kv_tokens), chance.choice(head_sizes)
        call = AttentionCall(
            label=f"random {len(calls)}",
            dtype=chance.choice(CALL_CHOICES["dtype"]),  # type: ignore[arg-type]
            batch_size=chance.choice([1, 3]),
            query_head_count=heads,
            kv_head_count=chance.choice([1, heads]),
            query_tokens=chance.choice([1, 7, keys]),
            kv_tokens=keys,
            head_size=size,
            value_head_size=chance.choice([size, size, value_head_size]),
            mask=chance.choice(CALL_CHOICES["mask"]),  # type: ignore[arg-type]
            mask_shape=chance.choice(CALL_CHOICES["mask_shape"]),  # type: ignore[arg-type]
            is_causal=chance.random() < 0.3,
            dropout_ratio=chance.choice(dropouts),
            layout=chance.choice(CALL_CHOICES["layout"]),  # type: ignore[arg-type]
        )
        if not call.refusals():
            calls.append(call)
    return calls


def choice_of_pytorch(call: AttentionCall, inputs: CallInputs) -> str | None:
    """The name of `torch._fused_sdp_choice`'s answer; None where PyTorch refuses the call."""
    try:
        code = torch._fused_sdp_choice(
            inputs.q_BHLD,
            inputs.k_BKTD,
            inputs.v_BKTV,
            attn_mask=inputs.mask,
            dropout_p=call.dropout_ratio,
            is_causal=call.is_causal,
            enable_gqa=inputs.k_BKTD.shape[1] != inputs.q_BHLD.shape[1],
        )
    except RuntimeError:
        return None
    return _NAMES[code]
