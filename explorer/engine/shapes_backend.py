"""Which graphs are built and run in a call, and what lies between them?

A backend of our own stands between Dynamo and the compiler: it notes under which compile id a graph is built, and, at
each call, which graphs run and when. A call in which none runs was eager, whatever Dynamo says; one in which several
run has left the graph between them, and the time from one's end to the next one's start is what that crossing costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
import torch._dynamo

from explorer.shapes_results import Crossing


@dataclass(frozen=True)
class PieceRun:
    """One run of one compiled graph, on the host's clock."""

    compile_id: str
    start_ns: int
    end_ns: int


class CountingBackend:
    """Builds graphs with Inductor, or leaves them as they are, and notes builds and runs by compile id."""

    def __init__(self, generates_code: bool) -> None:
        self._generates_code = generates_code
        self.built: list[str] = []
        self.runs: list[PieceRun] = []

    def __call__(self, graph: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        compile_id = str(torch._guards.CompileContext.current_compile_id())
        run_graph = self._code_of(graph, example_inputs)
        self.built.append(compile_id)

        def run(*inputs: Any) -> Any:
            start_ns = time.perf_counter_ns()
            outputs = run_graph(*inputs)
            self.runs.append(PieceRun(compile_id, start_ns, time.perf_counter_ns()))
            return outputs

        return run

    def forget(self) -> None:
        """Starts counting anew."""
        self.built.clear()
        self.runs.clear()

    def _code_of(self, graph: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        if not self._generates_code:
            return graph.forward
        from torch._inductor.compile_fx import compile_fx

        return compile_fx(graph, example_inputs)  # type: ignore[return-value]  # its other forms belong to export


def crossings_of(size: int, calls: Sequence[Sequence[PieceRun]]) -> list[Crossing]:
    """What lay between the pieces in some calls alike; empty where they ran different pieces, or one only."""
    ids = {tuple(run.compile_id for run in call) for call in calls}
    if len(ids) != 1:
        return []
    between = zip(*(pairwise(call) for call in calls), strict=True)
    (pieces,) = ids
    return [
        Crossing(
            size=size,
            from_id=from_id,
            to_id=to_id,
            latencies_ns=[after.start_ns - before.end_ns for before, after in pairs],
        )
        for (from_id, to_id), pairs in zip(pairwise(pieces), between, strict=True)
    ]
