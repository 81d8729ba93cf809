"""What does an experiment with shapes leave in results.json?

ShapesResults ─ eager ─ SteadyTime                      the same sizes without torch.compile
              ├ variants ─ VariantResult
              │             ├ calls ─ Call              one call of the sequence: its time and what it set off
              │             ├ entries ─ CompiledEntry   one compiled form of one frame, with its guards
              │             ├ steady ─ SteadyTime       afterwards, at every size again
              │             ├ crossings ─ Crossing      meanwhile, from one piece of a broken graph to the next
              │             └ breaks ─ GraphBreak
              └ whole_graph ─ WholeGraph                does it fit into one graph, and what does fullgraph say?
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from explorer.errors import RecordingError
from explorer.shapes_settings import Variant

CallOutcome = Literal["compiled", "reused", "eager"]
"""`eager`: no compiled graph took part, since the frame had reached its limit."""
GuardGroup = Literal["shapes", "tensors", "python_state", "global_state"]
"""`tensors`: dtype, device, layout and the fixed sizes of one tensor; `shapes`: conditions on open sizes, and marks."""

EAGER = "eager"
WHOLE_GRAPH = "whole-graph"
"""What a process is asked in place of a variant: to call without compiling, or to explain instead of calling."""
STAGES = ("dynamo", "aot_autograd", "inductor", "kernels", "autotune")
"""The parts of a compilation in order; `kernels` is Triton's or the C++ compiler's, `autotune` trying kernels out."""


@dataclass(frozen=True, kw_only=True)
class Guards:
    """The guards of one group: how many, and the first of them as PyTorch writes them."""

    group: GuardGroup
    count: int
    texts: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class CompiledEntry:
    """One compilation of one frame: `compile_id` is `frame/entry`, such as 0/1. Times in ns, exclusive of each other.

    `recompile_reason` is the guard that failed, as PyTorch says it. `failure` is set where nothing was compiled (the
    limit was reached, or the compiler failed). `input_sizes` gives a graph's inputs, a symbol where a size is open.
    """

    compile_id: str
    frame: str
    file: str = ""
    line: int | None = None
    guard_count: int | None = None
    guard_latency_ns: int | None = None
    recompile_reason: str = ""
    failure: str = ""
    operator_count: int | None = None
    total_ns: int | None = None
    stage_ns: dict[str, int] = field(default_factory=dict)
    cache_hits: dict[str, int] = field(default_factory=dict)
    cache_misses: dict[str, int] = field(default_factory=dict)
    input_sizes: dict[str, list[str]] = field(default_factory=dict)
    guards: list[Guards] = field(default_factory=list)

    @property
    def is_limit(self) -> bool:
        """Whether this is the moment at which the frame stopped compiling."""
        return "recompile limit" in self.failure.lower() or "recompile_limit" in self.failure


@dataclass(frozen=True, kw_only=True)
class GraphBreak:
    """Where the graph of a frame ended before the function did."""

    compile_id: str
    reason: str
    file: str
    line: int | None
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call. `time_ns` is the host's until the device was done; `built_ids` are compiled in it, `ran_ids` took part.

    `memory_bytes` is what the device had allocated at its peak, on the CPU what the process held afterwards.
    `error_ratio` is ‖out − eager‖ / ‖eager‖. `padded_size` differs from `size` under buckets. `launch_autotune_ns` is
    the part of the time in which first launches tried kernels out, after compiling.
    """

    index: int
    size: int
    padded_size: int
    outcome: CallOutcome
    time_ns: int
    built_ids: list[str] = field(default_factory=list)
    ran_ids: list[str] = field(default_factory=list)
    entry_ids: list[str] = field(default_factory=list)
    memory_bytes: int | None = None
    error_ratio: float | None = None
    launch_autotune_ns: int = 0


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """From one piece of a broken graph to the next, in repeated calls at one size: the host's time between them, ns.

    `from_id` and `to_id` are the pieces' compile ids. The time holds the Python that runs between them, the guards of
    the second piece and, on a GPU, waiting for the first where Python needs a value of it.
    """

    size: int
    from_id: str
    to_id: str
    latencies_ns: list[int]


@dataclass(frozen=True, kw_only=True)
class SteadyTime:
    """Latencies of repeated calls at one size, ns, and how they ran."""

    size: int
    outcome: CallOutcome
    latencies_ns: list[int]


@dataclass(frozen=True, kw_only=True)
class Missing:
    """What kept a variant from compiling, in words, and the compiler's own sentence."""

    message: str
    sentence: str = ""


@dataclass(frozen=True, kw_only=True)
class VariantResult:
    """Everything about one way of compiling; a process that ended early leaves what it had."""

    variant: Variant
    import_ns: int | None = None
    build_ns: int | None = None
    first_eager_ns: int | None = None
    recompile_limit: int | None = None
    accumulated_limit: int | None = None
    calls: list[Call] = field(default_factory=list)
    entries: list[CompiledEntry] = field(default_factory=list)
    breaks: list[GraphBreak] = field(default_factory=list)
    steady: list[SteadyTime] = field(default_factory=list)
    eager: list[SteadyTime] = field(default_factory=list)
    missing: Missing | None = None
    crossings: list[Crossing] = field(default_factory=list)

    @property
    def graph_count(self) -> int:
        """Graphs that were built over all calls."""
        return sum(len(call.built_ids) for call in self.calls)


@dataclass(frozen=True, kw_only=True)
class WholeGraph:
    """What `torch._dynamo.explain` counts, and what `fullgraph=True` answers (empty: accepted)."""

    graph_count: int
    break_count: int
    breaks: list[GraphBreak] = field(default_factory=list)
    refusal: str = ""
    refusal_line: int | None = None


@dataclass(frozen=True, kw_only=True)
class ShapesResults:
    """What results.json holds."""

    eager: list[SteadyTime] = field(default_factory=list)
    variants: list[VariantResult] = field(default_factory=list)
    whole_graph: WholeGraph | None = None


def results_to_json(results: ShapesResults) -> dict[str, Any]:
    """A plain dictionary that `results_from_json` reads back."""
    return dataclasses.asdict(results)


def results_from_json(fields: Mapping[str, Any]) -> ShapesResults:
    """Results from a dictionary; raises RecordingError when it is malformed."""
    try:
        whole = fields.get("whole_graph")
        return ShapesResults(
            eager=[SteadyTime(**one) for one in fields["eager"]],
            variants=[variant_from_json(one) for one in fields["variants"]],
            whole_graph=whole_from_json(whole) if whole else None,
        )
    except (TypeError, KeyError, AttributeError) as problem:
        raise RecordingError(f"These results are malformed ({problem}). Record the shapes again.") from None


def variant_from_json(fields: Mapping[str, Any]) -> VariantResult:
    """One variant's results from a dictionary; raises TypeError or KeyError when it is malformed."""
    missing = fields.get("missing")
    return VariantResult(
        **{
            **fields,
            "variant": Variant(**fields["variant"]),
            "calls": [Call(**one) for one in fields.get("calls", ())],
            "entries": [_entry_from_json(one) for one in fields.get("entries", ())],
            "breaks": [GraphBreak(**one) for one in fields.get("breaks", ())],
            "steady": [SteadyTime(**one) for one in fields.get("steady", ())],
            "eager": [SteadyTime(**one) for one in fields.get("eager", ())],
            "missing": Missing(**missing) if missing else None,
            "crossings": [Crossing(**one) for one in fields.get("crossings", ())],
        }
    )


def whole_from_json(fields: Mapping[str, Any]) -> WholeGraph:
    """A WholeGraph from a dictionary; raises TypeError when it is malformed."""
    return WholeGraph(**{**fields, "breaks": [GraphBreak(**one) for one in fields.get("breaks", ())]})


def _entry_from_json(fields: Mapping[str, Any]) -> CompiledEntry:
    return CompiledEntry(**{**fields, "guards": [Guards(**one) for one in fields.get("guards", ())]})
