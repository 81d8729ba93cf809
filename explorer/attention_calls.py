"""Which calls of attention does a probe ask about when nobody says otherwise?

Three named sets: `presets` (what engines and models really call), `why_not` (the smallest calls that tell the
backends' conditions apart) and `grid` (every combination of a few values). On a CPU the token counts are smaller.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, get_args

from explorer.attention_call import AttentionCall, MaskShape
from explorer.model_shapes import ModelShape
from explorer.settings import RunSettings

CallSet = Literal["presets", "why_not", "grid"]
Scale = Literal["full", "small"]
SCALES: tuple[Scale, ...] = get_args(Scale)

_TOKENS: Mapping[Scale, Mapping[str, int]] = MappingProxyType(
    {
        "full": {"prefill": 2048, "cache": 1024, "chunk": 128, "long": 32768, "huge": 65536},
        "small": {"prefill": 128, "cache": 128, "chunk": 16, "long": 1024, "huge": 512},
    }
)


def calls_of(name: CallSet, scale: Scale) -> list[AttentionCall]:
    """The calls of one named set, in the order in which they are shown."""
    if name == "why_not":
        return _why_not()
    return list(_presets(scale) if name == "presets" else _grid(scale))


def _why_not() -> list[AttentionCall]:
    small: dict[str, Any] = {
        "batch_size": 2,
        "query_head_count": 8,
        "kv_head_count": 8,
        "query_tokens": 16,
        "kv_tokens": 16,
        "head_size": 64,
        "value_head_size": 64,
    }
    wide = {**small, "batch_size": 1, "head_size": 512, "value_head_size": 512}
    rows: tuple[tuple[str, dict[str, Any]], ...] = (
        ("plain_bf16", small),
        ("plain_fp32", {**small, "dtype": "float32"}),
        ("plain_fp64", {**small, "dtype": "float64"}),
        ("bool_mask", {**small, "mask": "all"}),
        ("mask_3d", {**small, "mask": "additive_zero", "mask_shape": "HLT"}),
        ("causal_q16_kv32", {**small, "kv_tokens": 32, "is_causal": True}),
        ("gqa_d64", {**small, "kv_head_count": 2}),
        ("gqa_d512", {**wide, "kv_head_count": 2}),
        ("mha_d512", wide),
        ("v_dim_differs", {**small, "value_head_size": 32}),
        ("last_dim_strided", {**small, "layout": "last_dim_strided"}),
        ("dropout", {**small, "dropout_ratio": 0.1}),
    )
    return [AttentionCall(label=label, **fields) for label, fields in rows]


def _presets(scale: Scale) -> Iterator[AttentionCall]:
    tokens = _TOKENS[scale]
    yield from _decodes(tokens)
    yield from _prefills(tokens)
    yield from _masks(tokens)
    yield from _layouts(tokens)
    for head_size in (64, 80, 192, 256, 512):
        yield _square(f"head size {head_size}, causal", tokens["cache"], is_causal=True, head_size=head_size)


def _decodes(tokens: Mapping[str, int]) -> Iterator[AttentionCall]:
    cache = tokens["cache"]
    grouped: dict[str, Any] = {"query_tokens": 1, "kv_tokens": cache, "kv_head_count": 8}
    padded: dict[str, Any] = {**grouped, "mask": "padding", "mask_shape": "B11T"}
    yield AttentionCall(label=f"decode, grouped heads, 1 × {cache:,}", **grouped)
    yield AttentionCall(label="decode, padded cache with mask", **padded)
    yield AttentionCall(label="decode, 8 rows, padded cache with mask", **padded, batch_size=8)
    yield AttentionCall(label="decode, equal heads", **{**grouped, "kv_head_count": 16})
    yield AttentionCall(label="decode, equal heads, padded cache with mask", **{**padded, "kv_head_count": 16})
    yield AttentionCall(label="decode, is_causal with one query", **grouped, is_causal=True)
    yield AttentionCall(label=f"decode, long context {tokens['long']:,}", **{**grouped, "kv_tokens": tokens["long"]})


def _prefills(tokens: Mapping[str, int]) -> Iterator[AttentionCall]:
    prefill, cache, chunk = tokens["prefill"], tokens["cache"], tokens["chunk"]
    yield _square(f"prefill {prefill:,}, causal", prefill, is_causal=True)
    yield _square(f"prefill {prefill:,}, causal, grouped heads", prefill, is_causal=True, kv_head_count=8)
    yield _square(f"prefill {prefill:,}, causal, float32", prefill, is_causal=True, dtype="float32")
    yield _square(f"prefill {cache:,}, causal, float64", cache, is_causal=True, dtype="float64")
    chunked: dict[str, Any] = {"query_tokens": chunk, "kv_tokens": cache}
    yield AttentionCall(label=f"chunked prefill {chunk} of {cache:,}, is_causal", **chunked, is_causal=True)
    yield AttentionCall(label=f"chunked prefill {chunk} of {cache:,}, lower-right mask", **chunked, mask="lower_right")
    yield _square(f"long prefill {tokens['huge']:,}, causal", tokens["huge"], is_causal=True)
    yield _square("prefill with dropout 0.1", cache, is_causal=True, dropout_ratio=0.1)
    yield _square("prefill with dropout 0.125", cache, is_causal=True, dropout_ratio=0.125)


def _masks(tokens: Mapping[str, int]) -> Iterator[AttentionCall]:
    cache = tokens["cache"]
    yield _square("sliding window", cache, mask="sliding_window", window_tokens=cache // 4)
    yield _square("additive mask in Hugging Face style", cache, mask="additive_lower_right", mask_shape="B1LT")
    yield _square("key-padding mask, 4 rows", cache // 2, mask="padding", mask_shape="B11T", batch_size=4)
    head = {"head_size": 80, "value_head_size": 80}
    yield _square("head size 80, mask, float16", cache, mask="lower_right", dtype="float16", **head)
    yield _square("rows with nothing to see", cache // 4, mask="nothing")
    yield _square("mask and is_causal together", cache // 4, mask="all", is_causal=True)


def _layouts(tokens: Mapping[str, int]) -> Iterator[AttentionCall]:
    cache = tokens["cache"]
    yield _square(
        "value heads of 128 beside key heads of 192", cache, is_causal=True, head_size=192, value_head_size=128
    )
    yield _square("views of B L H D, causal", cache, is_causal=True, layout="BLHD")
    yield _square("slices of one joined projection, causal", cache, is_causal=True, layout="joined_qkv")
    decode: dict[str, Any] = {"query_tokens": 1, "kv_tokens": cache, "kv_head_count": 8}
    yield AttentionCall(label="decode, keys cut from a longer cache", **decode, layout="cut_cache")
    expanded = {**decode, "kv_head_count": 1, "layout": "expanded_heads"}
    yield AttentionCall(label="decode, one KV head expanded with stride 0", **expanded)
    yield _square("last dimension strided, causal", cache, is_causal=True, layout="last_dim_strided")


def _grid(scale: Scale) -> Iterator[AttentionCall]:
    """Data types × shapes × masks × heads."""
    cache, chunk = _TOKENS[scale]["cache"], _TOKENS[scale]["chunk"]
    masks: tuple[tuple[str, dict[str, Any]], ...] = (
        ("plain", {}),
        ("is_causal", {"is_causal": True}),
        ("padding mask", {"mask": "padding", "mask_shape": "B11T"}),
    )
    for dtype, query_tokens, (mask_label, mask), kv_head_count in itertools.product(
        ("bfloat16", "float32"), (1, chunk, cache), masks, (16, 4)
    ):
        yield AttentionCall(
            label=f"{dtype}, {query_tokens:,} × {cache:,}, {mask_label}, 16 / {kv_head_count}",
            query_tokens=query_tokens,
            kv_tokens=cache,
            kv_head_count=kv_head_count,
            head_size=64,
            value_head_size=64,
            batch_size=2,
            **{"dtype": dtype, **mask},
        )


def _square(label: str, tokens: int, **fields: Any) -> AttentionCall:
    """A call with as many queries as keys; a head size that is given alone holds for values too."""
    if "head_size" in fields:
        fields.setdefault("value_head_size", fields["head_size"])
    return AttentionCall(label=label, query_tokens=tokens, kv_tokens=tokens, **fields)


def call_of_run(settings: RunSettings, shape: ModelShape, *, repeats_heads: bool = False) -> AttentionCall:
    """The call that one layer of a run's step makes: engine/attention.py says when heads are repeated.

    Decode reads the whole cache under a padding mask; flash, which takes none, reads a cut of it.
    """
    is_decode = settings.phase == "decode" or settings.context_tokens == 1
    is_cut = is_decode and settings.attention == "flash"
    position = settings.context_tokens if settings.phase == "decode" else 0
    tokens = (position + 1 if is_cut else settings.cache_tokens) if is_decode else settings.context_tokens
    return AttentionCall(
        label=settings.title,
        dtype=settings.dtype,
        batch_size=settings.batch_size,
        query_head_count=shape.query_head_count,
        kv_head_count=shape.query_head_count if repeats_heads else shape.kv_head_count,
        query_tokens=1 if is_decode else settings.context_tokens,
        kv_tokens=tokens,
        head_size=shape.head_size,
        value_head_size=shape.head_size,
        mask="padding" if is_decode and not is_cut else "none",
        mask_shape="B11T",
        is_causal=not is_decode,
        layout="BLHD",
    )


def simple_changes(call: AttentionCall) -> list[tuple[str, dict[str, Any]]]:
    """The changes of one condition each that bring a call nearer to what every backend takes: (in words, fields)."""
    smaller_head = 64 if call.head_size <= 64 else 128
    changes: list[tuple[str, dict[str, Any], bool]] = [
        ("bfloat16 instead of " + call.dtype, {"dtype": "bfloat16"}, call.dtype not in ("bfloat16", "float16")),
        ("float32 instead of float64", {"dtype": "float32"}, call.dtype == "float64"),
        ("no mask", {"mask": "none"}, call.mask != "none"),
        ("a 4-dimensional mask", {"mask_shape": "B1LT"}, call.mask != "none" and call.mask_shape == "HLT"),
        ("no is_causal", {"is_causal": False}, call.is_causal),
        ("as many queries as keys", {"query_tokens": call.kv_tokens}, call.query_tokens != call.kv_tokens),
        ("KV heads repeated to the query heads", {"kv_head_count": call.query_head_count}, call.has_grouped_heads),
        (
            f"heads of {smaller_head}",
            {"head_size": smaller_head, "value_head_size": min(smaller_head, call.value_head_size)},
            call.head_size > smaller_head,
        ),
        ("values as wide as keys", {"value_head_size": call.head_size}, call.value_head_size != call.head_size),
        ("no dropout", {"dropout_ratio": 0.0}, call.dropout_ratio > 0),
        ("dropout in sixteenths", {"dropout_ratio": 0.125}, (call.dropout_ratio * 16) % 1 != 0),
        ("contiguous tensors", {"layout": "BHLD"}, call.layout not in ("BHLD", "expanded_heads")),
    ]
    return [(words, fields) for words, fields, applies in changes if applies]


def single_changes(call: AttentionCall) -> list[AttentionCall]:
    """Every call that differs in one choice a person may turn on the page; the label says the change."""
    wider: tuple[tuple[str, tuple[Any, ...]], ...] = (
        ("dtype", ("bfloat16", "float16", "float32", "float64")),
        ("head_size", (64, 80, 128, 192, 256, 512)),
        ("kv_head_count", tuple(sorted({1, max(1, call.query_head_count // 2), call.query_head_count}))),
        ("query_tokens", tuple(sorted({1, min(call.kv_tokens, 128), call.kv_tokens}))),
        ("is_causal", (False, True)),
        ("mask", ("none", "padding", "lower_right", "additive_lower_right")),
        ("dropout_ratio", (0.0, 0.1, 0.125)),
        ("layout", ("BHLD", "BLHD", "cut_cache", "last_dim_strided")),
    )
    return [_with(call, name, value) for name, choices in wider for value in choices if value != getattr(call, name)]


def with_changes(call: AttentionCall, fields: Mapping[str, Any]) -> AttentionCall:
    """The call with some fields replaced."""
    return dataclasses.replace(call, **fields)


def _with(call: AttentionCall, name: str, value: Any) -> AttentionCall:
    fields: dict[str, Any] = {name: value, "label": f"{name} = {value}"}
    if name == "head_size" and call.value_head_size == call.head_size:
        fields["value_head_size"] = value
    if name == "mask" and value != "none":
        fields["mask_shape"] = _fitting_shape(call)
    return dataclasses.replace(call, **fields)


def _fitting_shape(call: AttentionCall) -> MaskShape:
    return call.mask_shape if call.mask != "none" else "B1LT"
