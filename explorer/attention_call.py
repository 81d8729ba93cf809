"""What is one call of scaled_dot_product_attention, and which calls are worth asking about?

Shapes are written B (rows), H (heads), L (queries of a row), T (keys of a row), D (head size). Plain Python: the page,
the command line and the engine share this definition.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from explorer.errors import SettingsError

CallDtype = Literal["bfloat16", "float16", "float32", "float64"]
MaskKind = Literal[
    "none", "all", "padding", "lower_right", "sliding_window", "additive_zero", "additive_lower_right", "nothing"
]
MaskShape = Literal["LT", "HLT", "B11T", "B1LT", "BHLT"]
Layout = Literal["BHLD", "BLHD", "joined_qkv", "cut_cache", "expanded_heads", "last_dim_strided"]

BYTES_OF_CALL_DTYPE: Mapping[str, int] = MappingProxyType({"bfloat16": 2, "float16": 2, "float32": 4, "float64": 8})
MASK_LABELS: Mapping[MaskKind, str] = MappingProxyType(
    {
        "none": "no mask",
        "all": "boolean mask, all True",
        "padding": "boolean padding mask",
        "lower_right": "boolean causal mask, lower right",
        "sliding_window": "boolean sliding window",
        "additive_zero": "additive mask of zeros",
        "additive_lower_right": "additive causal mask",
        "nothing": "boolean mask with empty rows",
    }
)
LAYOUT_LABELS: Mapping[Layout, str] = MappingProxyType(
    {
        "BHLD": "contiguous B H L D",
        "BLHD": "views of B L H D",
        "joined_qkv": "slices of one joined projection",
        "cut_cache": "keys cut from a longer cache",
        "expanded_heads": "KV heads expanded with stride 0",
        "last_dim_strided": "last dimension strided",
    }
)
_LIMITS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "batch_size": (1, 4096),
        "query_head_count": (1, 256),
        "kv_head_count": (1, 256),
        "query_tokens": (1, 2**20),
        "kv_tokens": (1, 2**20),
        "head_size": (1, 1024),
        "value_head_size": (1, 1024),
        "window_tokens": (1, 2**20),
    }
)


@dataclass(frozen=True, kw_only=True)
class AttentionCall:
    """One call; sizes are counts and elements.

    `is_causal` and `mask` are what the call is given: both together are an error in some versions, and worth seeing.
    Grouped heads (`kv_head_count` below `query_head_count`) set enable_gqa. `window_tokens` is a sliding window's.
    """

    label: str
    dtype: CallDtype = "bfloat16"
    batch_size: int = 1
    query_head_count: int = 16
    kv_head_count: int = 16
    query_tokens: int = 1024
    kv_tokens: int = 1024
    head_size: int = 128
    value_head_size: int = 128
    mask: MaskKind = "none"
    mask_shape: MaskShape = "LT"
    window_tokens: int = 256
    is_causal: bool = False
    dropout_ratio: float = 0.0
    layout: Layout = "BHLD"

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that `from_json` reads back."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> AttentionCall:
        """A call from a dictionary; raises SettingsError for unknown fields, wrong types and unknown choices."""
        known = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(fields) - known)
        if unknown or "label" not in fields:
            raise SettingsError(f"An attention call needs a label and knows {', '.join(sorted(known))}; not {unknown}.")
        call = cls(**fields)
        problems = call.refusals()
        if problems:
            raise SettingsError(" ".join(problems))
        return call

    def refusals(self) -> list[str]:
        """Why no tensors of this call can be made, one sentence a reason; what a backend refuses is not known here."""
        problems = [
            f"{name} is {getattr(self, name)!r}; choose one of {', '.join(choices)}."
            for name, choices in CALL_CHOICES.items()
            if getattr(self, name) not in choices
        ]
        for name, (low, high) in _LIMITS.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                problems.append(f"{name} is {value!r}; choose a whole number from {low:,} to {high:,}.")
        if self.is_causal not in (True, False):
            problems.append(f"is_causal is {self.is_causal!r}; choose true or false.")
        if not problems and self.query_head_count % self.kv_head_count:
            problems.append(
                f"{self.query_head_count} query heads cannot share {self.kv_head_count} KV heads evenly; "
                "choose a divisor."
            )
        if self.layout == "expanded_heads" and self.kv_head_count != 1:
            problems.append("Heads of stride 0 are one KV head shown to all query heads; set kv_head_count to 1.")
        if self.layout == "joined_qkv" and self.query_tokens != self.kv_tokens:
            problems.append("One joined projection has as many queries as keys; make query_tokens and kv_tokens equal.")
        if isinstance(self.dropout_ratio, bool) or not 0 <= self.dropout_ratio < 1:
            problems.append(f"dropout_ratio is {self.dropout_ratio!r}; choose a number from 0 to below 1.")
        return problems

    @property
    def has_grouped_heads(self) -> bool:
        """Whether the call is given fewer KV heads than query heads (expanded heads are equal ones)."""
        return self.kv_head_count != self.query_head_count and self.layout != "expanded_heads"

    @property
    def pair_count(self) -> int:
        """Query-key pairs of one head over all rows, masked or not."""
        return self.batch_size * self.query_tokens * self.kv_tokens

    def flops(self, visible_pair_count: int) -> int:
        """Floating-point operations of the two products over the pairs that are not masked (`B·pairs` of one head)."""
        return 2 * self.query_head_count * visible_pair_count * (self.head_size + self.value_head_size)

    def moved_bytes(self, mask_bytes: int) -> int:
        """Queries, keys, values and mask read once, the output written once; a stride-0 head counts once."""
        size = BYTES_OF_CALL_DTYPE[self.dtype]
        queries = self.query_head_count * self.query_tokens * (self.head_size + self.value_head_size)
        keys = self.kv_head_count * self.kv_tokens * (self.head_size + self.value_head_size)
        return self.batch_size * (queries + keys) * size + mask_bytes

    @property
    def sentence(self) -> str:
        """All that the call is given: `bfloat16, 1 row, 16 / 8 heads of 128, 1 × 1,024, no mask`."""
        heads = f"{self.query_head_count} / {self.kv_head_count} heads of {self.head_size}"
        if self.value_head_size != self.head_size:
            heads += f" (values {self.value_head_size})"
        parts = [
            self.dtype,
            f"{self.batch_size} row{'s' if self.batch_size > 1 else ''}",
            heads,
            f"{self.query_tokens:,} × {self.kv_tokens:,}",
            MASK_LABELS[self.mask] + ("" if self.mask == "none" else f" ({self.mask_shape})"),
        ]
        if self.is_causal:
            parts.append("is_causal")
        if self.dropout_ratio:
            parts.append(f"dropout {self.dropout_ratio:g}")
        if self.layout != "BHLD":
            parts.append(LAYOUT_LABELS[self.layout])
        return ", ".join(parts)


def _choices() -> Mapping[str, tuple[str, ...]]:
    hints = get_type_hints(AttentionCall)
    return MappingProxyType({name: get_args(kind) for name, kind in hints.items() if get_origin(kind) is Literal})


CALL_CHOICES: Mapping[str, tuple[str, ...]] = _choices()


def difference(one: AttentionCall, other: AttentionCall) -> dict[str, tuple[Any, Any]]:
    """What differs between two calls: `{field: (one's, other's)}`, labels left out."""
    return {
        field.name: (getattr(one, field.name), getattr(other, field.name))
        for field in dataclasses.fields(AttentionCall)
        if field.name != "label" and getattr(one, field.name) != getattr(other, field.name)
    }
