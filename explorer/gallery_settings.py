"""Which expressions does a gallery compile, at which sizes, and how often is each side timed?"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, get_args

from explorer.errors import SettingsError
from explorer.model_shapes import Dtype
from explorer.settings import Device, refuse_unknown

EXPRESSION_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "sigmoid_chain": "sigmoid(x · scale + bias)",
        "residual_rms_norm": "residual add + RMSNorm",
        "head_norm_rotary": "q/k norm + rotary",
        "swiglu": "SwiGLU",
        "softmax": "softmax",
        "layer_norm_gelu": "LayerNorm + GELU",
        "cast_chain": "cast chain",
        "matmul_epilogue": "matmul + epilogue",
        "item_break": "graph break (.item())",
        "branch": "data-dependent branch",
        "branch_as_where": "the branch as torch.where",
        "view_chain": "view chain",
        "layout_copy": "layout fix that copies",
    }
)
"""Every expression of the gallery in the order of the page; engine/gallery_expressions.py has their code."""

OWN_EXPRESSION = "own"
_LIMITS = {"row_count": (1, 1_000_000), "hidden_size": (8, 65536), "repeat_count": (1, 1000), "seed": (0, 2**31 - 1)}
_FUNCTION = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_HEAD_SIZE_UNIT = 8


@dataclass(frozen=True, kw_only=True)
class GallerySettings:
    """What a gallery does. Tensors are `row_count` × `hidden_size`; `own_function` is a person's own expression.

    `own_function` is `package.module:name`, a function of up to three tensors of that size. It is imported and run,
    so only the command line sets it.
    """

    experiment: ClassVar[str] = "gallery"
    stages: ClassVar[tuple[str, ...]] = ("environment", "expressions", "profile")

    device: Device = "cpu"
    dtype: Dtype = "float32"
    expressions: tuple[str, ...] = tuple(EXPRESSION_TITLES)
    own_function: str | None = None
    row_count: int = 64
    hidden_size: int = 256
    repeat_count: int = 15
    profiled_calls: int = 3
    seed: int = 0

    @property
    def compiles(self) -> bool:
        """Whether torch.compile takes part: always."""
        return True

    @property
    def names(self) -> tuple[str, ...]:
        """The expressions in order, a person's own first."""
        return (*((OWN_EXPRESSION,) if self.own_function else ()), *self.expressions)

    @property
    def title(self) -> str:
        """Such as `fusion gallery · 13 expressions · 8192 × 8192 bfloat16 · cuda`."""
        what = self.own_function if self.own_function and not self.expressions else f"{len(self.names)} expressions"
        return f"fusion gallery · {what} · {self.row_count} × {self.hidden_size} {self.dtype} · {self.device}"

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that `from_json` reads back."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> GallerySettings:
        """Settings from a dictionary; raises SettingsError for unknown fields, wrong types and unknown choices."""
        refuse_unknown(cls, fields)
        settings = cls(**{**fields, "expressions": tuple(fields.get("expressions", EXPRESSION_TITLES))})
        problems = settings.refusals()
        if problems:
            raise SettingsError(" ".join(problems))
        return settings

    def refusals(self) -> list[str]:
        """Why this gallery cannot be made, one sentence a reason."""
        problems = []
        for name, choices in (("device", get_args(Device)), ("dtype", get_args(Dtype))):
            if getattr(self, name) not in choices:
                problems.append(f"{name} is {getattr(self, name)!r}; choose one of {', '.join(choices)}.")
        problems += [
            f"expressions has {name!r}; choose among {', '.join(EXPRESSION_TITLES)}."
            for name in self.expressions
            if name not in EXPRESSION_TITLES
        ]
        for name, (low, high) in {**_LIMITS, "profiled_calls": (1, 20)}.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                problems.append(f"{name} is {value!r}; choose a whole number from {low:,} to {high:,}.")
        if isinstance(self.hidden_size, int) and self.hidden_size % _HEAD_SIZE_UNIT:
            problems.append(f"hidden_size is {self.hidden_size}; it is split into heads, so choose a multiple of 8.")
        if self.own_function is not None and not _is_function_name(self.own_function):
            problems.append(f"The function is {self.own_function!r}; name it as package.module:name.")
        if not self.names:
            problems.append("Nothing to compile: name an expression or give a function of your own.")
        return problems


def _is_function_name(name: object) -> bool:
    return isinstance(name, str) and _FUNCTION.fullmatch(name) is not None
