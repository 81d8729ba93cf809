"""What does a gallery of expressions leave in results.json?

GalleryResults ─ expressions ─ ExpressionResult ┬ operators ─ OperatorUse       what eager code calls, in its order
                                                ├ eager, compiled ─ SideResult   times, memory, error of each side
                                                ├ kernels ─ GeneratedKernel      what Inductor wrote, and from what
                                                └ graph_breaks ─ GraphBreak      where Dynamo gave up, and why
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from explorer.errors import RecordingError


@dataclass(frozen=True, kw_only=True)
class OperatorUse:
    """One operator that the eager expression calls: what it reads and writes, each distinct element once.

    `reads` and `writes` name tensors by letters that hold through the expression (`x0`, `t1`, `out`). `is_view` says
    that nothing is computed. `line` is counted from the first line of the expression's source, 1 upwards.
    """

    name: str
    reads: list[str]
    writes: list[str]
    read_bytes: int
    written_bytes: int
    is_view: bool
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class SideResult:
    """One side's measurements; times in ns without the profiler, None where not measured.

    `time_ns` is the device's median from a cold second-level cache (with its waiting for the host where the expression
    itself synchronises), `spread_ns` half the distance of its quartiles, `host_call_ns` the time until the call
    returns. `peak_extra_bytes` is allocated above the inputs at the peak.
    `error_ratio` is ‖out − reference‖ / ‖reference‖ against float64.
    """

    time_ns: float | None = None
    spread_ns: float | None = None
    host_call_ns: float | None = None
    first_call_ns: float | None = None
    peak_extra_bytes: int | None = None
    error_ratio: float | None = None


@dataclass(frozen=True, kw_only=True)
class GeneratedKernel:
    """One kernel that the compiled expression calls; library calls such as `extern_kernels.mm` have no code.

    `operators` and `lines` are Inductor's own word (its provenance); empty where it gives none.
    """

    name: str
    operators: list[str]
    lines: list[int]
    code: str = ""


@dataclass(frozen=True, kw_only=True)
class GraphBreak:
    """Where Dynamo stopped and why; `line` as in OperatorUse."""

    reason: str
    place: str
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class ExpressionResult:
    """All that was found out about one expression; `failure` says why it ended early.

    `temporary_count` and `temporary_bytes` are tensors that eager code writes and that are not the result.
    `fused_bytes` are inputs plus outputs once.
    """

    name: str
    title: str
    source: str
    place: str = ""
    inputs: list[str] = field(default_factory=list)
    operators: list[OperatorUse] = field(default_factory=list)
    temporary_count: int | None = None
    temporary_bytes: int | None = None
    eager_bytes: int | None = None
    fused_bytes: int | None = None
    eager: SideResult = field(default_factory=SideResult)
    compiled: SideResult = field(default_factory=SideResult)
    graph_count: int | None = None
    graph_breaks: list[GraphBreak] = field(default_factory=list)
    kernels: list[GeneratedKernel] = field(default_factory=list)
    generated_code: list[str] = field(default_factory=list)
    failure: str = ""

    @property
    def computing_operators(self) -> list[OperatorUse]:
        """The operators that compute something, in order."""
        return [operator for operator in self.operators if not operator.is_view]


@dataclass(frozen=True, kw_only=True)
class GalleryResults:
    """The whole of results.json."""

    expressions: list[ExpressionResult] = field(default_factory=list)

    def expression(self, name: str) -> ExpressionResult | None:
        """The expression of that name, or None."""
        return next((one for one in self.expressions if one.name == name), None)


def results_to_json(results: GalleryResults) -> dict[str, Any]:
    """A plain dictionary that `results_from_json` reads back."""
    return dataclasses.asdict(results)


def results_from_json(fields: Mapping[str, Any]) -> GalleryResults:
    """Results from a dictionary; raises RecordingError when it is none of a gallery's."""
    try:
        return GalleryResults(expressions=[_expression(entry) for entry in fields["expressions"]])
    except (TypeError, KeyError) as problem:
        raise RecordingError(f"results.json is no gallery of expressions ({problem}); record it again.") from None


def _expression(fields: Mapping[str, Any]) -> ExpressionResult:
    return ExpressionResult(
        **{
            **fields,
            "operators": [OperatorUse(**entry) for entry in fields["operators"]],
            "eager": SideResult(**fields["eager"]),
            "compiled": SideResult(**fields["compiled"]),
            "graph_breaks": [GraphBreak(**entry) for entry in fields["graph_breaks"]],
            "kernels": [GeneratedKernel(**entry) for entry in fields["kernels"]],
        }
    )
