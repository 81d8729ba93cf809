"""Which shapes meet torch.compile, in which order, and under which settings of it?

The experiment's word is `shapes` where the engine is concerned; analysis, charts and pages say `compilation`.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args

from explorer.errors import SettingsError
from explorer.model_shapes import MODEL_SHAPES, Dtype
from explorer.settings import CHOICES, CompileScope, Device, RunSettings, refuse_unknown

Dynamic = Literal["none", "false", "true", "mark_dynamic", "buckets"]
"""`dynamic=` None, False or True; None with the batch marked dynamic; False with the batch padded to vLLM's sizes."""
Backend = Literal["inductor", "graphs_only"]
"""`graphs_only` builds the graphs and runs them without generating code: counts and reasons in milliseconds."""
Axis = Literal["batch", "length"]
Cache = Literal["cold", "warm"]

DYNAMICS: tuple[Dynamic, ...] = get_args(Dynamic)
DYNAMIC_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "none": "dynamic=None",
        "false": "dynamic=False",
        "true": "dynamic=True",
        "mark_dynamic": "mark_dynamic",
        "buckets": "buckets",
    }
)
MODEL_SUBJECT = "model"
EXPRESSIONS: Mapping[str, str] = MappingProxyType(
    {
        "scale_relu": "(x * 2).relu()",
        "item_branch": "an .item() that decides a branch",
        "position_attribute": "the position as a Python int on the module",
        "position_argument": "the position as a Python int argument",
        "position_buffer": "the position as a tensor buffer",
    }
)
"""Small functions in which one thing goes right or wrong, by name."""
STEPWISE = frozenset({"position_attribute", "position_argument", "position_buffer"})
"""Expressions that change with every call: their calls cannot be repeated to find a steady time."""

SEQUENCES: Mapping[str, tuple[Axis, tuple[int, ...]]] = MappingProxyType(
    {
        "six_sizes": ("batch", (1, 2, 3, 5, 8, 13)),
        "growing": ("batch", (1, 2, 4, 8, 16, 32, 64)),
        "one_among_many": ("batch", (8, 16, 1, 32, 1, 64)),
        "one_first": ("batch", (1, 8, 16, 32, 1, 64)),
        "same": ("batch", (4,) * 12),
        "ten_sizes": ("batch", tuple(range(2, 12))),
        "prompts": ("length", (17, 112, 256, 73, 511, 256, 1024)),
    }
)
SEQUENCE_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "six_sizes": "1, 2, 3, 5, 8, 13",
        "growing": "growing batch, 1 to 64",
        "one_among_many": "8, 16, 1, 32, 1, 64",
        "one_first": "1, 8, 16, 32, 1, 64",
        "same": "twelve steps of one size",
        "ten_sizes": "ten sizes, 2 to 11: past the limit",
        "prompts": "prompts of a service, 17 to 1,024 tokens",
    }
)
LARGEST_CALL_COUNT = 512
_SEPARATORS = re.compile(r"[\s,;]+")
_LIMITS = {
    "context_tokens": (1, 131072),
    "steady_call_count": (1, 1000),
    "recompile_limit": (1, 1000),
    "seed": (0, 2**31 - 1),
}


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way of compiling, made in a process of its own; `cache` says whether the caches were filled before."""

    dynamic: Dynamic
    scope: CompileScope
    cache: Cache

    @property
    def key(self) -> str:
        """Such as `model-none-cold`: names its files and folders."""
        return f"{self.scope}-{self.dynamic}-{self.cache}"


@dataclass(frozen=True, kw_only=True)
class ShapesSettings:
    """What is called with which sizes, and how it is compiled.

    `sizes` are batches of a decode step, or lengths of one prompt (`axis`). `recompile_limit` is Dynamo's own setting.
    """

    experiment: ClassVar[str] = "shapes"
    stages: ClassVar[tuple[str, ...]] = ("environment", "eager", "cold", "warm", "breaks")

    device: Device = "cpu"
    dtype: Dtype = "float32"
    subject: str = MODEL_SUBJECT
    model: str = "tiny"
    axis: Axis = "batch"
    sizes: tuple[int, ...] = SEQUENCES["six_sizes"][1]
    dynamics: tuple[Dynamic, ...] = DYNAMICS
    scopes: tuple[CompileScope, ...] = ("model", "layer")
    backend: Backend = "inductor"
    tries_warm: bool = True
    context_tokens: int = 100
    steady_call_count: int = 10
    recompile_limit: int = 8
    seed: int = 0

    def variants(self, cache: Cache) -> list[Variant]:
        """Every way of compiling with caches in that state, in order; an expression has no layers."""
        scopes = self.scopes if self.subject == MODEL_SUBJECT else ("model",)
        return [Variant(dynamic=dynamic, scope=scope, cache=cache) for scope in scopes for dynamic in self.dynamics]

    def run_settings(self) -> RunSettings:
        """The run whose model and inputs hold the largest of the sizes."""
        largest = max(self.sizes)
        longest = largest if self.axis == "length" else self.context_tokens
        return RunSettings(
            model=self.model,
            device=self.device,
            dtype=self.dtype,
            phase="prefill" if self.axis == "length" else "decode",
            batch_size=1 if self.axis == "length" else largest,
            context_tokens=longest,
            cache_tokens=longest + 1,
            mode="compile",
            seed=self.seed,
        )

    @property
    def compiles(self) -> bool:
        return True

    @property
    def title(self) -> str:
        """Such as `qwen3-0.6b · 6 shapes · batch 1 to 13`."""
        what = self.model if self.subject == MODEL_SUBJECT else EXPRESSIONS.get(self.subject, self.subject)
        low, high = min(self.sizes, default=0), max(self.sizes, default=0)
        extent = f"{self.axis} {low}" if low == high else f"{self.axis} {low} to {high}"
        return f"{what} · {len(self.sizes)} shapes · {extent}"

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that `from_json` reads back."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> ShapesSettings:
        """Settings from a dictionary; raises SettingsError for unknown fields, wrong types and unknown choices."""
        refuse_unknown(cls, fields)
        lists = {name: tuple(fields[name]) for name in ("sizes", "dynamics", "scopes") if name in fields}
        settings = cls(**{**fields, **lists})
        problems = settings.refusals()
        if problems:
            raise SettingsError(" ".join(problems))
        return settings

    def refusals(self) -> list[str]:
        """Why this experiment cannot run, one sentence a reason."""
        problems = _malformed(self) or _unusable_sizes(self)
        if not problems and self.subject == MODEL_SUBJECT:
            problems = self.run_settings().refusals()
        return problems


def sizes_of_text(name: str, words: str) -> tuple[int, ...]:
    """Sizes in their order from a JSON list, or from numbers between commas, blanks and lines.

    A first line without a number is a heading. Raises SettingsError, which says `name`, for anything else and for more
    sizes than can be called.
    """
    sizes = _json_sizes(name, words) if words.lstrip().startswith("[") else _listed_sizes(name, words)
    if not 1 <= len(sizes) <= LARGEST_CALL_COUNT:
        raise SettingsError(f"{name} has {len(sizes):,} sizes; give 1 to {LARGEST_CALL_COUNT}, in the order of calls.")
    return sizes


def _json_sizes(name: str, words: str) -> tuple[int, ...]:
    try:
        found = json.loads(words)
    except (ValueError, RecursionError):
        raise SettingsError(f"{name} is no JSON list of whole numbers, such as [1, 8, 16].") from None
    wrong = next((one for one in found if not isinstance(one, int) or isinstance(one, bool)), None)
    if wrong is not None:
        raise SettingsError(f"{name} has {str(wrong)[:40]!r}; give whole numbers only, such as [1, 8, 16].")
    return tuple(found)


def _listed_sizes(name: str, words: str) -> tuple[int, ...]:
    sizes: list[int] = []
    for line, row in enumerate(words.lstrip("\ufeff").splitlines(), start=1):
        is_heading = line == 1 and not any(character.isdigit() for character in row)
        for part in () if is_heading else filter(None, _SEPARATORS.split(row)):
            if not (part.isascii() and part.isdigit() and len(part) <= 9):
                raise SettingsError(f"{name}, line {line}: {part[:40]!r} is no whole number. Give one size a call.")
            sizes.append(int(part))
    return tuple(sizes)


def _malformed(settings: ShapesSettings) -> list[str]:
    problems = []
    subjects = (MODEL_SUBJECT, *EXPRESSIONS)
    for name, choices in (
        ("device", CHOICES["device"]),
        ("dtype", CHOICES["dtype"]),
        ("subject", subjects),
        ("model", tuple(MODEL_SHAPES)),
        ("axis", get_args(Axis)),
        ("backend", get_args(Backend)),
    ):
        if getattr(settings, name) not in choices:
            problems.append(f"{name} is {getattr(settings, name)!r}; choose one of {', '.join(choices)}.")
    for name, choices in (("dynamics", DYNAMICS), ("scopes", CHOICES["compile_scope"])):
        chosen = getattr(settings, name)
        if not chosen or any(one not in choices for one in chosen):
            problems.append(f"{name} is {list(chosen)}; choose among {', '.join(choices)}.")
    for name, (low, high) in _LIMITS.items():
        value = getattr(settings, name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            problems.append(f"{name} is {value!r}; choose a whole number from {low:,} to {high:,}.")
    return problems


def _unusable_sizes(settings: ShapesSettings) -> list[str]:
    lowest = 2 if settings.axis == "length" else 1
    wrong = [size for size in settings.sizes if not isinstance(size, int) or not lowest <= size <= 65536]
    problems = []
    if wrong:
        problems.append(f"sizes has {wrong[0]!r}; choose whole numbers from {lowest} to 65,536.")
    if not 1 <= len(settings.sizes) <= LARGEST_CALL_COUNT:
        problems.append(f"There are {len(settings.sizes)} sizes; give 1 to {LARGEST_CALL_COUNT}.")
    if settings.axis == "length" and "buckets" in settings.dynamics:
        problems.append("Buckets pad the batch, and these sizes are lengths of a prompt; leave buckets out.")
    return problems
