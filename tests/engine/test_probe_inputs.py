"""Are the tensors, masks, counts and reference of a call what the call says?"""

from __future__ import annotations

import pytest
import torch

from explorer.attention_call import CALL_CHOICES, AttentionCall
from explorer.engine.probe_flex import flex_mask
from explorer.engine.probe_inputs import error_ratio, make_inputs, make_mask, reference_of, visible_pairs

DEVICE = torch.device("cpu")


def call_of(**fields: object) -> AttentionCall:
    small = {"query_head_count": 4, "kv_head_count": 4, "query_tokens": 6, "kv_tokens": 6}
    sizes = {"head_size": 16, "value_head_size": 16}
    return AttentionCall(label="examined", **{**small, **sizes, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize("mask", CALL_CHOICES["mask"])
@pytest.mark.parametrize("mask_shape", CALL_CHOICES["mask_shape"])
def test_reference_agrees_with_math_whatever_the_mask(mask: str, mask_shape: str) -> None:
    sizes = {"batch_size": 2, "kv_head_count": 2, "query_tokens": 6, "kv_tokens": 9, "dtype": "float64"}
    inputs = make_inputs(call_of(mask=mask, mask_shape=mask_shape, **sizes), DEVICE, 0)
    assert error_ratio(inputs.attend(), reference_of(inputs)) < 1e-10


@pytest.mark.parametrize("layout", CALL_CHOICES["layout"])
def test_layout_changes_strides_and_not_the_answer(layout: str) -> None:
    call = call_of(layout=layout, kv_head_count=1, is_causal=True, dtype="float64")
    inputs = make_inputs(call, DEVICE, 0)
    assert error_ratio(inputs.attend(), reference_of(inputs)) < 1e-10
    strides = {
        "BHLD": lambda q, k: q.is_contiguous() and k.is_contiguous(),
        "BLHD": lambda q, k: q.stride(2) == 4 * 16,
        "joined_qkv": lambda q, k: q.stride(2) == k.stride(2) == 6 * 16,
        "cut_cache": lambda q, k: k.stride(0) == 2 * 6 * 16,
        "expanded_heads": lambda q, k: k.stride(1) == 0 and k.shape[1] == 4,
        "last_dim_strided": lambda q, k: q.stride(3) == 6,
    }
    assert strides[layout](inputs.q_BHLD, inputs.k_BKTD)


@pytest.mark.parametrize(
    ("fields", "pairs"),
    [
        ({"query_tokens": 2, "kv_tokens": 5, "is_causal": True}, (1 + 2, 0)),
        ({"query_tokens": 5, "kv_tokens": 2, "is_causal": True}, (1 + 2 + 2 + 2 + 2, 0)),
        ({"query_tokens": 2, "kv_tokens": 5, "mask": "lower_right"}, (4 + 5, 0)),
        ({"query_tokens": 2, "kv_tokens": 5, "mask": "additive_lower_right"}, (4 + 5, 0)),
        ({"query_tokens": 5, "kv_tokens": 5, "mask": "sliding_window", "window_tokens": 2}, (1 + 2 + 2 + 2 + 2, 0)),
        ({"query_tokens": 5, "kv_tokens": 5, "mask": "nothing"}, (2 + 3 + 4, 2)),
        ({"query_tokens": 1, "kv_tokens": 8, "mask": "padding", "mask_shape": "B11T", "batch_size": 2}, (7 + 6, 0)),
        ({"mask": "all", "is_causal": True}, None),
    ],
)
def test_visible_pairs_are_counted(fields: dict[str, object], pairs: tuple[int, int] | None) -> None:
    assert visible_pairs(make_inputs(call_of(**fields), DEVICE, 0)) == pairs


@pytest.mark.parametrize("mask", ["lower_right", "sliding_window", "padding", "nothing", "all"])
def test_flex_mask_shows_what_the_boolean_mask_shows(mask: str) -> None:
    call = call_of(mask=mask, batch_size=2, query_tokens=5, kv_tokens=9, window_tokens=3, mask_shape="B1LT")
    inputs = make_inputs(call, DEVICE, 0)
    block_mask, score_mod = flex_mask(inputs)
    assert score_mod is None
    assert block_mask is not None
    shown = [
        [[bool(block_mask.mask_mod(row, row * 0, query, key)) for key in torch.arange(9)] for query in torch.arange(5)]
        for row in torch.arange(2)
    ]
    mask_B1LT = make_mask(call, DEVICE)
    assert mask_B1LT is not None
    assert torch.tensor(shown).equal(mask_B1LT[:, 0])
