"""What may a person choose for a sweep over batch sizes, and what does a sweep find out?

A sweep builds one model and, for every size of a list, measures the eager step, records its CUDA graphs (largest
first, one shared pool) and measures their replay. Then it pads batches that have no size of their own and compares
them with the unpadded step, serves a few batches by vLLM's rules, and walks into three known traps.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from explorer.errors import RecordingError, SettingsError
from explorer.graph_modes import GRAPH_MODES, PAIRS, GraphKind, GraphMode
from explorer.model_shapes import Dtype
from explorer.settings import AttentionBackend, Device, RunSettings, model_name, refuse_unknown

LARGEST_SWEPT_SIZE = 4000
MOST_SIZES = 512
SWEEP_STAGE_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "environment": "environment",
        "build": "build",
        "eager": "eager steps",
        "capture": "capture",
        "replay": "replay",
        "padding": "padding",
        "batches": "batches",
        "traps": "traps",
    }
)


@dataclass(frozen=True, kw_only=True)
class SweepSettings:
    """Everything a person may choose for a sweep.

    `sizes` are rows of a decode step. `read_lengths` are tokens a row that full graphs read (empty: the whole cache;
    flash attention reads exactly `context_tokens` + 1): every size is captured for each of them. Full graphs of sizes
    up to `compile_up_to` are compiled for exactly that size before they are captured, as SGLang does.
    """

    experiment: ClassVar[str] = "sweep"
    stages: ClassVar[tuple[str, ...]] = tuple(SWEEP_STAGE_LABELS)

    model: str = "tiny"
    weights_folder: str | None = None
    device: Device = "cpu"
    dtype: Dtype = "bfloat16"
    sizes: tuple[int, ...] = (1, 2, 4, 8)
    context_tokens: int = 500
    cache_tokens: int = 1024
    graph_mode: GraphMode = "FULL_AND_PIECEWISE"
    read_lengths: tuple[int, ...] = ()
    compile_up_to: int = 0
    attention: AttentionBackend = "auto"
    joined_projections: bool = False
    eager_steps: int = 6
    replayed_steps: int = 24
    seed: int = 0

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that `from_json` reads back."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> SweepSettings:
        """Settings from a dictionary; raises SettingsError for unknown fields and wrong types."""
        refuse_unknown(cls, fields, what="sweep setting")
        lists = {name: tuple(fields[name]) for name in ("sizes", "read_lengths") if _is_list(fields.get(name))}
        settings = cls(**{**fields, **lists})
        problems = _malformed(settings)
        if problems:
            raise SettingsError(" ".join(problems))
        return settings

    def refusals(self) -> list[str]:
        """Why this sweep cannot run, one sentence a reason; the model's and the cache's limits are those of a run."""
        return _malformed(self) or _exclusions(self)

    @property
    def compiles(self) -> bool:
        """Whether torch.compile takes part."""
        return bool(self.compiled_sizes)

    @property
    def compiled_sizes(self) -> tuple[int, ...]:
        """The sizes whose full graph is compiled first."""
        return tuple(size for size in self.sizes if size <= self.compile_up_to)

    @property
    def title(self) -> str:
        """A short name such as `qwen3-0.6b · sweep of 35 sizes to 256`."""
        model = model_name(self.model, self.weights_folder)
        return f"{model} · sweep of {len(self.sizes)} sizes to {max(self.sizes, default=0)}"

    def run_settings(self) -> RunSettings:
        """The run whose model, cache and inputs the sweep uses.

        Its rows: the largest size, one more that exceeds it, and the null row.
        """
        return RunSettings(
            batch_size=max(self.sizes) + 2,
            **{
                name: getattr(self, name)
                for name in (
                    *("model", "weights_folder", "device", "dtype", "context_tokens", "cache_tokens", "attention"),
                    *("joined_projections", "seed"),
                )
            },
        )


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


_COUNTS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"compile_up_to": (0, LARGEST_SWEPT_SIZE), "eager_steps": (1, 1000), "replayed_steps": (1, 10000)}
)


def _malformed(settings: SweepSettings) -> list[str]:
    problems = []
    for name, lowest_count in (("sizes", 1), ("read_lengths", 0)):
        problems += _list_problems(name, getattr(settings, name), lowest_count)
    for name, (low, high) in _COUNTS.items():
        value = getattr(settings, name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            problems.append(f"{name} is {value!r}; choose a whole number from {low:,} to {high:,}.")
    if settings.graph_mode not in GRAPH_MODES:
        problems.append(f"graph_mode is {settings.graph_mode!r}; choose one of {', '.join(GRAPH_MODES)}.")
    return problems


def _list_problems(name: str, sizes: object, lowest_count: int) -> list[str]:
    highest = LARGEST_SWEPT_SIZE if name == "sizes" else 131072
    right = (
        isinstance(sizes, tuple)
        and lowest_count <= len(sizes) <= MOST_SIZES
        and all(isinstance(size, int) and not isinstance(size, bool) and 1 <= size <= highest for size in sizes)
        and list(sizes) == sorted(set(sizes))
    )
    if right:
        return []
    return [
        f"{name} is {sizes!r}; give {lowest_count} to {MOST_SIZES} whole numbers from 1 to {highest:,}, smallest "
        "first, none twice."
    ]


def _exclusions(settings: SweepSettings) -> list[str]:
    problems = settings.run_settings().refusals()
    if settings.read_lengths and settings.context_tokens + 1 > settings.read_lengths[-1]:
        problems.append(
            f"Graphs that read up to {settings.read_lengths[-1]:,} tokens cannot serve rows of "
            f"{settings.context_tokens + 1:,}; raise the last read length or lower context_tokens."
        )
    if settings.read_lengths and settings.read_lengths[-1] > settings.cache_tokens:
        problems.append(
            f"The cache has room for {settings.cache_tokens:,} tokens a row, less than the read length "
            f"{settings.read_lengths[-1]:,}."
        )
    if settings.compile_up_to and "FULL" not in PAIRS[settings.graph_mode]:
        problems.append(
            f"Sizes are compiled for their full graphs, and {settings.graph_mode} has none; leave compile_up_to at 0."
        )
    if settings.compile_up_to and settings.device == "cpu":
        problems.append("Sizes are compiled before they are captured, and capturing needs a CUDA device.")
    return problems


@dataclass(frozen=True, kw_only=True)
class GraphMeasurement:
    """One size's full graph, or its set of pieces: what recording cost and how long replays take.

    Memory is the growth of the allocator's pool and what CUDA took beside it (executable graphs, loaded code). Larger
    sizes come first, so a size shows what it needed beyond what they left in the pool. `compile_ns` is None where
    nothing was compiled. A replay is one step: inputs copied in, replayed, finished on the device.
    """

    kind: GraphKind
    read_tokens: int | None
    graph_count: int
    compile_ns: int | None
    warm_up_ns: int
    capture_ns: int
    pool_bytes: int
    outside_bytes: int
    replay_latencies_ns: list[int] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class SizeMeasurement:
    """One batch size: every latency of its eager step, and its graphs (none on a machine without CUDA)."""

    size: int
    eager_latencies_ns: list[int] = field(default_factory=list)
    graphs: list[GraphMeasurement] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class PaddingCheck:
    """A batch run padded against the same batch run unpadded and eagerly.

    `other_rows_are_unchanged`: no byte of the cache changed but the batch's own new tokens and the null row.
    `follows_inputs`: with other tokens the padded step again gave the unpadded step's answer.
    """

    batch: int
    size: int
    kind: GraphKind
    logits_error_ratio: float
    is_bit_equal: bool
    other_rows_are_unchanged: bool
    follows_inputs: bool


@dataclass(frozen=True, kw_only=True)
class ServedBatch:
    """A batch as it came, what it ran as and why; `prompt_count` tokens of a new row make it mixed."""

    decode_count: int
    prompt_count: int
    kind: GraphKind
    size: int | None
    reason: str
    latencies_ns: list[int] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Trap:
    """A mistake made on purpose: what was done, what came back, what an eager step gives, and how it was noticed.

    `found` and `expected` are one element of the output. `error` and `error_line` are those of a refused capture.
    """

    name: str
    done: str
    found: float | None
    expected: float | None
    is_caught: bool
    explanation: str
    error: str | None = None
    error_line: str | None = None


@dataclass(frozen=True, kw_only=True)
class SweepResults:
    """What a sweep measured, as far as it came. `no_graphs_reason` says why there are no graphs, where there are none.

    `sizes` are in the order in which they were measured, largest first.
    """

    graph_mode: GraphMode
    mode_reasons: list[str] = field(default_factory=list)
    no_graphs_reason: str | None = None
    sizes: list[SizeMeasurement] = field(default_factory=list)
    recompile_limit: int | None = None
    padding_checks: list[PaddingCheck] = field(default_factory=list)
    batches: list[ServedBatch] = field(default_factory=list)
    traps: list[Trap] = field(default_factory=list)
    is_alive_after_traps: bool | None = None
    can_capture_after_traps: bool | None = None


def results_to_json(results: SweepResults) -> dict[str, Any]:
    """A plain dictionary that `results_from_json` reads back."""
    return dataclasses.asdict(results)


def results_from_json(fields: Mapping[str, Any]) -> SweepResults:
    """Results from a dictionary; raises RecordingError when they are malformed."""
    try:
        sizes = [
            SizeMeasurement(**{**size, "graphs": [GraphMeasurement(**graph) for graph in size["graphs"]]})
            for size in fields["sizes"]
        ]
        return SweepResults(
            **{
                **fields,
                "sizes": sizes,
                "padding_checks": _read(PaddingCheck, fields["padding_checks"]),
                "batches": _read(ServedBatch, fields["batches"]),
                "traps": _read(Trap, fields["traps"]),
            }
        )
    except (TypeError, KeyError) as problem:
        raise RecordingError(f"The sweep's results are malformed ({problem}); record the sweep again.") from None


def _read(kind: type, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [kind(**row) for row in rows]
