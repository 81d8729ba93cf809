"""What does a step cost at each batch size, and what do its graphs cost, by a sweep's measurements?

    size   1     2     4     8          median of the repeats at every measured size
    step   4.3   4.3   4.4   4.6 ms     between two sizes: the straight line, and it is said that it is one

Nothing is known beyond the smallest and the largest measured size.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from explorer.graph_modes import GraphKind
from explorer.report import Column, Metric, Report, ReportTable
from explorer.sweep_settings import GraphMeasurement, SizeMeasurement, SweepResults
from explorer.units import Number

Sizes = npt.NDArray[np.int64]
Amounts = npt.NDArray[np.float64]
QUESTION = "What does a step cost at each batch size?"


@dataclass(frozen=True)
class SweepCosts:
    """What a sweep knows by batch size, smallest first; an unknown amount is NaN.

    `step_ns` is the replayed step where graphs were measured, else the eager one; `step_spread_ns` the middle half of
    its repeats. `start_up_ns` is compiling, warming up and capturing one size, `memory_bytes` what its graphs took of
    the pool and outside it, both summed over the reading lengths that were captured.
    """

    sizes: Sizes
    step_ns: Amounts
    step_spread_ns: Amounts
    eager_ns: Amounts
    start_up_ns: Amounts
    memory_bytes: Amounts
    kind: GraphKind

    @property
    def largest(self) -> int:
        return int(self.sizes[-1])

    def at(self, amounts: Amounts, batch_sizes: Sizes) -> Amounts:
        """`amounts` at any batch sizes: measured, or on the line between the nearest two; NaN outside of them."""
        return np.interp(batch_sizes, self.sizes, amounts, left=np.nan, right=np.nan)

    def list_bytes(self, sizes: Sizes) -> float:
        """Estimated memory of one pool with graphs of these sizes; NaN beyond the measured ones.

        The largest is captured first and makes the pool, in proportion to its rows; each other size adds what it added
        in the sweep, or the line between its neighbours there.
        """
        if len(self.sizes) < 2:
            return float(self.at(self.memory_bytes, sizes).sum())
        pool = self.memory_bytes[-1] * sizes[-1] / self.largest if sizes[-1] <= self.largest else np.nan
        added = np.interp(sizes[:-1], self.sizes[:-1], self.memory_bytes[:-1], left=np.nan)
        return float(pool + added.sum())

    def is_measured(self, batch_sizes: Sizes) -> npt.NDArray[np.bool_]:
        """Whether each batch size is one that was measured."""
        return np.isin(batch_sizes, self.sizes)


def sweep_costs(results: SweepResults, kind: GraphKind = "FULL") -> SweepCosts | None:
    """The costs of one kind of graph, its times at the longest reading length; of eager steps for `NONE`.

    None where the sweep has none of that kind. Sizes whose measurement is missing (the sweep was cut short) are left
    out.
    """
    rows = [(size, _graph(size, kind)) for size in sorted(results.sizes, key=lambda measured: measured.size)]
    measured = [(size, graph, _latencies(size, graph, kind)) for size, graph in rows]
    known = [(size, graph, latencies) for size, graph, latencies in measured if latencies]
    if not known:
        return None
    return SweepCosts(
        sizes=np.array([size.size for size, _, _ in known], np.int64),
        step_ns=_floats(statistics.median(latencies) for _, _, latencies in known),
        step_spread_ns=_floats(middle_half(latencies) for _, _, latencies in known),
        eager_ns=_floats(
            statistics.median(size.eager_latencies_ns) if size.eager_latencies_ns else np.nan for size, _, _ in known
        ),
        start_up_ns=_floats(_sum(size, kind, start_up_ns) for size, _, _ in known),
        memory_bytes=_floats(_sum(size, kind, graph_bytes) for size, _, _ in known),
        kind=kind,
    )


def best_costs(results: SweepResults) -> SweepCosts | None:
    """Costs of full graphs where there are any, else of pieces, else of eager steps."""
    kinds: tuple[GraphKind, ...] = ("FULL", "PIECEWISE", "NONE")
    found = (sweep_costs(results, kind) for kind in kinds)
    return next((costs for costs in found if costs is not None), None)


def sweep_report(results: SweepResults) -> Report:
    """Every size with its eager step, its graphs' replay, memory and start-up, and the sums over the list."""
    eager, full, pieces = (sweep_costs(results, kind) for kind in ("NONE", "FULL", "PIECEWISE"))
    frame = pd.DataFrame({"size": sorted(measured.size for measured in results.sizes)})
    columns = [Column("size", "size", "count")]
    for prefix, label, costs in (("eager", "eager", eager), ("full", "full graph", full), ("pieces", "pieces", pieces)):
        if costs is None:
            continue
        index = pd.Index(costs.sizes)
        for name, words, unit, amounts in (
            ("step_ns", f"{label}, step", "ns", costs.step_ns),
            ("spread_ns", f"{label}, spread", "ns", costs.step_spread_ns),
            ("start_up_ns", f"{label}, start-up", "ns", costs.start_up_ns),
            ("memory_bytes", f"{label}, memory", "bytes", costs.memory_bytes),
        ):
            if not np.isnan(amounts).all():
                key = f"{prefix}_{name}"
                frame[key] = pd.Series(amounts, index=index).reindex(frame["size"]).to_numpy()
                columns.append(Column(key, words, "bytes" if unit == "bytes" else "ns"))
    notes = [*results.mode_reasons, *([results.no_graphs_reason] if results.no_graphs_reason else [])]
    return Report(
        QUESTION,
        f"{len(frame):,} sizes",
        _totals(results, full, pieces),
        (ReportTable("sizes", "batch sizes", tuple(columns), frame),),
        tuple(notes),
    )


def start_up_ns(graph: GraphMeasurement) -> float:
    """Host time of compiling, warming up and capturing."""
    return (graph.compile_ns or 0) + graph.warm_up_ns + graph.capture_ns


def graph_bytes(graph: GraphMeasurement) -> float:
    """Device memory of the pool and outside it."""
    return graph.pool_bytes + graph.outside_bytes


def middle_half(latencies: Sequence[int]) -> float:
    """Third quartile minus first; NaN for a single repeat."""
    if len(latencies) < 2:
        return float("nan")
    low, high = np.quantile(latencies, (0.25, 0.75))
    return float(high - low)


def _totals(results: SweepResults, full: SweepCosts | None, pieces: SweepCosts | None) -> tuple[Metric, ...]:
    why = results.no_graphs_reason or "The sweep did not get as far as capturing."
    metrics = []
    kinds: tuple[tuple[str, str, GraphKind, SweepCosts | None], ...] = (
        ("full", "full graphs", "FULL", full),
        ("pieces", "pieces", "PIECEWISE", pieces),
    )
    for prefix, label, kind, costs in kinds:
        counts = [graph.graph_count for size in results.sizes for graph in size.graphs if graph.kind == kind]
        reason = "" if counts else why
        metrics.append(
            Metric(f"{prefix}_graph_count", label, sum(counts) if counts else None, "count", "lower", reason)
        )
        for key, words, unit, amounts in (
            ("start_up_ns", "start-up", "ns", None if costs is None else costs.start_up_ns),
            ("memory_bytes", "memory", "bytes", None if costs is None else costs.memory_bytes),
        ):
            value: Number | None = None if amounts is None else float(np.sum(amounts))
            reason = "" if value is not None else why
            metrics.append(
                Metric(
                    f"{prefix}_{key}", f"{words} of {label}", value, "ns" if unit == "ns" else "bytes", "lower", reason
                )
            )
    return tuple(metrics)


def _graph(size: SizeMeasurement, kind: GraphKind) -> GraphMeasurement | None:
    graphs = [graph for graph in size.graphs if graph.kind == kind]
    return max(graphs, key=lambda graph: graph.read_tokens or 0, default=None)


def _latencies(size: SizeMeasurement, graph: GraphMeasurement | None, kind: GraphKind) -> Sequence[int]:
    if kind == "NONE":
        return size.eager_latencies_ns
    return graph.replay_latencies_ns if graph is not None else ()


def _sum(size: SizeMeasurement, kind: GraphKind, amount: Callable[[GraphMeasurement], float]) -> float:
    """Over the size's graphs of that kind; NaN where there are none."""
    amounts = [amount(graph) for graph in size.graphs if graph.kind == kind]
    return sum(amounts) if amounts else float("nan")


def _floats(values: Iterable[float]) -> Amounts:
    return np.array(list(values), np.float64)
