"""Which settings can a person choose, and which of them exclude each other?

Everything here is plain Python, so that the page, the command line and the engine share one definition.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from explorer.errors import SettingsError
from explorer.model_shapes import MODEL_SHAPES, Dtype

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Mode = Literal[
    "eager", "compile", "cuda_graph", "compile_cuda_graph", "reduce_overhead", "piecewise", "compile_piecewise"
]
Phase = Literal["decode", "prefill"]
Device = Literal["cuda", "cpu"]
AttentionBackend = Literal["auto", "flash", "efficient", "cudnn", "math"]
CompileScope = Literal["model", "layer"]

STAGE_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "environment": "environment",
        "build": "build",
        "correctness": "correct?",
        "cold_start": "cold start",
        "warm_up": "warm-up",
        "steady": "steady",
        "profile": "profile",
    }
)
"""The stages of a run in their order, as people read them."""

MODES: tuple[Mode, ...] = get_args(Mode)
COMPILED_MODES: frozenset[Mode] = frozenset({"compile", "compile_cuda_graph", "reduce_overhead", "compile_piecewise"})
PIECEWISE_MODES: frozenset[Mode] = frozenset({"piecewise", "compile_piecewise"})
GRAPH_MODES: frozenset[Mode] = PIECEWISE_MODES.union({"cuda_graph", "compile_cuda_graph", "reduce_overhead"})


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Everything a person may choose for one run; saved as JSON beside what the run measured.

    `context_tokens` is how many tokens each row has before the step, `cache_tokens` how many the KV cache has
    room for; a prefill run processes `context_tokens` new tokens a row into an empty cache.
    """

    experiment: ClassVar[str] = "run"
    stages: ClassVar[tuple[str, ...]] = tuple(STAGE_LABELS)

    model: str = "tiny"
    weights_folder: str | None = None
    device: Device = "cpu"
    dtype: Dtype = "bfloat16"
    phase: Phase = "decode"
    batch_size: int = 1
    context_tokens: int = 500
    cache_tokens: int = 1024
    mode: Mode = "eager"
    attention: AttentionBackend = "auto"
    joined_projections: bool = False
    compile_scope: CompileScope = "model"
    autotune: bool = False
    warmup_steps: int = 5
    measured_steps: int = 30
    profiled_steps: int = 3
    seed: int = 0

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that `from_json` reads back."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> RunSettings:
        """Settings from a dictionary; raises SettingsError for unknown fields, wrong types and unknown choices."""
        refuse_unknown(cls, fields)
        settings = cls(**fields)
        problems = _malformed(settings)
        if problems:
            raise SettingsError(" ".join(problems))
        return settings

    def refusals(self) -> list[str]:
        """Why these settings cannot run, one sentence a reason; empty when they can.

        Knows only what follows from the settings themselves: whether this machine has the GPU or the memory is the
        engine's to find out.
        """
        return _malformed(self) or _exclusions(self)

    @property
    def compiles(self) -> bool:
        """Whether torch.compile takes part."""
        return self.mode in COMPILED_MODES

    @property
    def title(self) -> str:
        """A short name such as `qwen3-0.6b · batch 1 · compile + CUDA graph`, what differs most coming last."""
        parts = [model_name(self.model, self.weights_folder), f"batch {self.batch_size}"]
        if self.phase == "prefill":
            parts.append(f"prefill {self.context_tokens}")
        parts.append(MODE_LABELS[self.mode])
        extras = [
            label
            for chosen, label in (
                (self.joined_projections, "joined"),
                (self.autotune, "autotuned"),
                (self.attention != "auto", f"{self.attention} attention"),
            )
            if chosen
        ]
        return " · ".join([*parts, *extras])


MODE_LABELS: Mapping[Mode, str] = MappingProxyType(
    {
        "eager": "eager",
        "compile": "compile",
        "cuda_graph": "CUDA graph",
        "compile_cuda_graph": "compile + CUDA graph",
        "reduce_overhead": "reduce-overhead",
        "piecewise": "piecewise graphs",
        "compile_piecewise": "compile + piecewise graphs",
    }
)

CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "device": get_args(Device),
        "dtype": get_args(Dtype),
        "phase": get_args(Phase),
        "mode": get_args(Mode),
        "attention": get_args(AttentionBackend),
        "compile_scope": get_args(CompileScope),
    }
)
_LIMITS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "batch_size": (1, 4096),
        "context_tokens": (1, 131072),
        "cache_tokens": (1, 131072),
        "warmup_steps": (0, 1000),
        "measured_steps": (1, 10000),
        "profiled_steps": (1, 20),
        "seed": (0, 2**31 - 1),
    }
)


def _malformed(settings: RunSettings) -> list[str]:
    problems = []
    for name, choices in CHOICES.items():
        if getattr(settings, name) not in choices:
            problems.append(f"{name} is {getattr(settings, name)!r}; choose one of {', '.join(choices)}.")
    for name, (low, high) in _LIMITS.items():
        value = getattr(settings, name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            problems.append(f"{name} is {value!r}; choose a whole number from {low:,} to {high:,}.")
    for name, kind in (("joined_projections", bool), ("autotune", bool), ("weights_folder", str | None)):
        value = getattr(settings, name)
        if not isinstance(value, kind):
            problems.append(
                f"{name} is {value!r}; choose {'a folder' if name == 'weights_folder' else 'true or false'}."
            )
    if settings.model not in MODEL_SHAPES and settings.weights_folder is None:
        problems.append(f"model is {settings.model!r}; choose one of {', '.join(MODEL_SHAPES)}.")
    return problems


def _exclusions(settings: RunSettings) -> list[str]:
    problems = []
    if settings.device == "cpu":
        problems += _cpu_refusals(settings)
    if settings.autotune and settings.mode not in COMPILED_MODES:
        problems.append(f"Autotuning chooses kernels while compiling; mode {settings.mode} does not compile.")
    if settings.compile_scope == "layer" and settings.mode == "reduce_overhead":
        problems.append("Per-layer reduce-overhead would record one graph a layer and call; compile the whole model.")
    if settings.compile_scope == "layer" and settings.mode == "compile_piecewise":
        problems.append("Piecewise compilation already shares one function between layers; leave compile_scope model.")
    needed = settings.context_tokens + (1 if settings.phase == "decode" else 0)
    if needed > settings.cache_tokens:
        problems.append(
            f"The step needs room for {needed:,} tokens a row and the cache has {settings.cache_tokens:,}; "
            "raise cache_tokens or lower context_tokens."
        )
    if settings.attention in ("flash", "cudnn") and settings.dtype == "float32":
        problems.append(f"The {settings.attention} attention backend takes bfloat16 or float16, not float32.")
    return problems


def _cpu_refusals(settings: RunSettings) -> list[str]:
    problems = []
    if settings.mode in GRAPH_MODES:
        problems.append(f"Mode {MODE_LABELS[settings.mode]} records CUDA graphs, which need a CUDA device.")
    if settings.attention in ("cudnn", "efficient"):
        problems.append(f"The {settings.attention} attention backend has no CPU kernel; choose auto, flash or math.")
    if settings.autotune:
        problems.append("Autotuning times GPU kernels against each other; it needs a CUDA device.")
    return problems


def refuse_unknown(kind: type[DataclassInstance], fields: Mapping[str, Any], what: str = "setting") -> None:
    """Raises SettingsError when a dictionary names what the settings class `kind` does not have."""
    known = {field.name for field in dataclasses.fields(kind)}
    unknown = sorted(set(fields) - known)
    if unknown:
        raise SettingsError(f"Unknown {what} {', '.join(unknown)}. Known are: {', '.join(sorted(known))}.")


def model_name(model: str, weights_folder: str | None) -> str:
    """What a person calls the model: the preset, or the folder that its weights come from."""
    return model if weights_folder is None else PurePath(weights_folder).name


def default_cache_tokens(context_tokens: int) -> int:
    """Room for the context and a step more: the next power of two, at least 1,024 tokens a row, as far as it may go."""
    return min(_LIMITS["cache_tokens"][1], max(1024, 1 << context_tokens.bit_length()))
