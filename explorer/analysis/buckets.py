"""What does padding to a list of sizes cost this traffic: rows, time, memory, start-up, and steps without a graph?

    bucket(n) = smallest size ≥ n           above the largest: no graph, counted on its own
    padded share = Σ (bucket − n) / Σ bucket
    padding time of a step = t(bucket) − t(n), from measured step times; between two measured sizes on their line

Figures of time are means over the steps that run as a graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from explorer.analysis.sweep import SweepCosts
from explorer.analysis.traffic import Traffic
from explorer.report import Column, Metric, Report, ReportTable
from explorer.units import Number

QUESTION = "What does padding to captured sizes cost?"
LIST_COLUMNS = (
    Column("name", "list", "text"),
    Column("size_count", "sizes", "count"),
    Column("largest", "largest", "count"),
    Column("padded_ratio", "padded rows", "ratio"),
    Column("mean_waste_ratio", "mean over every batch size", "ratio"),
    Column("worst_waste_ratio", "worst batch", "ratio"),
    Column("worst_batch", "at", "count"),
    Column("padded_rows", "padded rows a step", "count"),
    Column("padding_ns", "padding a step", "ns"),
    Column("step_ns", "step", "ns"),
    Column("padding_of_step_ratio", "of the step", "ratio"),
    Column("interpolated_ratio", "steps whose time is interpolated", "ratio"),
    Column("without_graph_ratio", "steps without a graph", "ratio"),
    Column("without_graph_ns", "such a step takes longer by", "ns"),
    Column("memory_bytes", "graph memory", "bytes"),
    Column("start_up_ns", "start-up", "ns"),
    Column("unmeasured_size_count", "sizes not measured", "count"),
)
BUCKET_COLUMNS = (
    Column("bucket", "size", "count"),
    Column("step_count", "steps", "count"),
    Column("step_ratio", "of all steps", "ratio"),
    Column("real_rows", "real rows", "count"),
    Column("padded_rows", "padded rows", "count"),
    Column("padded_ratio", "padded", "ratio"),
    Column("padding_ns", "padding, all its steps", "ns"),
)
STAIRCASE_COLUMNS = (
    Column("batch", "batch", "count"),
    Column("bucket", "padded to", "count"),
    Column("padded_rows", "padded rows", "count"),
    Column("waste_ratio", "padded share", "ratio"),
    Column("step_count", "steps", "count"),
)


@dataclass(frozen=True)
class BucketList:
    """A list of sizes with a name; sorted, none twice."""

    name: str
    sizes: tuple[int, ...]

    @property
    def largest(self) -> int:
        return self.sizes[-1]


def buckets_report(lists: Sequence[BucketList], traffic: Traffic, costs: SweepCosts | None) -> Report:
    """A row a list, and one child report a list with its buckets and its staircase. Unknown times are NaN.

    Without `costs` only rows are compared.
    """
    rows = [_list_row(chosen, traffic, costs) for chosen in lists]
    frame = pd.DataFrame(rows, columns=[column.key for column in LIST_COLUMNS])
    notes = list(traffic.notes)
    if costs is not None and traffic.largest > costs.largest:
        notes.append(
            f"The sweep ends at {costs.largest:,} rows and this traffic reaches {traffic.largest:,}: what padding "
            "costs above it in time is not known."
        )
    interpolated = [row["interpolated_ratio"] for row in rows if row["interpolated_ratio"]]
    if interpolated:
        notes.append("Step times between two measured sizes are read off the line between them.")
    return Report(
        QUESTION,
        f"{traffic.step_count:,} decode step{'' if traffic.step_count == 1 else 's'}, {traffic.name}",
        (
            Metric("step_count", "steps", traffic.step_count, "count"),
            Metric("mean_batch", "rows a step", traffic.mean, "count"),
            Metric("largest_batch", "largest batch", traffic.largest, "count"),
        ),
        (ReportTable("lists", "lists", LIST_COLUMNS, frame),),
        tuple(notes),
        {chosen.name: _list_report(chosen, traffic, costs) for chosen in lists},
    )


def buckets_of(batches: npt.NDArray[np.int64], sizes: Sequence[int]) -> npt.NDArray[np.int64]:
    """The bucket of every batch; 0 above the largest size."""
    places = np.searchsorted(sizes, batches)
    return np.asarray(np.append(np.asarray(sizes, np.int64), 0)[places])


@dataclass(frozen=True)
class _Padded:
    """The traffic's batch sizes that occur, what each is padded to, and how often; batches without a graph apart."""

    batches: npt.NDArray[np.int64]
    buckets: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    above: npt.NDArray[np.int64]
    above_counts: npt.NDArray[np.int64]

    @property
    def graph_step_count(self) -> int:
        return int(self.counts.sum())

    @property
    def padded_rows(self) -> int:
        return int((self.buckets - self.batches) @ self.counts)

    def padding_ns(self, costs: SweepCosts) -> npt.NDArray[np.float64]:
        """Of one step of each batch size."""
        return costs.at(costs.step_ns, self.buckets) - costs.at(costs.step_ns, self.batches)


def _pad(chosen: BucketList, traffic: Traffic) -> _Padded:
    batches = np.flatnonzero(traffic.counts)
    counts = traffic.counts[batches]
    buckets = buckets_of(batches, chosen.sizes)
    fits = buckets > 0
    return _Padded(batches[fits], buckets[fits], counts[fits], batches[~fits], counts[~fits])


def _list_row(chosen: BucketList, traffic: Traffic, costs: SweepCosts | None) -> dict[str, Number | str]:
    padded = _pad(chosen, traffic)
    every = np.arange(1, chosen.largest + 1)
    waste = 1 - every / buckets_of(every, chosen.sizes)
    bucket_rows = int(padded.buckets @ padded.counts)
    return {
        "name": chosen.name,
        "size_count": len(chosen.sizes),
        "largest": chosen.largest,
        "padded_ratio": padded.padded_rows / bucket_rows if bucket_rows else np.nan,
        "mean_waste_ratio": float(waste.mean()),
        "worst_waste_ratio": float(waste.max()),
        "worst_batch": int(every[np.argmax(waste)]),
        "padded_rows": padded.padded_rows / padded.graph_step_count if padded.graph_step_count else np.nan,
        "without_graph_ratio": int(padded.above_counts.sum()) / traffic.step_count,
        **_times(padded, costs),
        **_list_costs(chosen, costs),
    }


def _times(padded: _Padded, costs: SweepCosts | None) -> dict[str, float]:
    unknown = dict.fromkeys(
        ("padding_ns", "step_ns", "padding_of_step_ratio", "interpolated_ratio", "without_graph_ns"), float("nan")
    )
    if costs is None or not padded.graph_step_count:
        return unknown
    step_ns = float(costs.at(costs.step_ns, padded.buckets) @ padded.counts / padded.graph_step_count)
    padding_ns = float(padded.padding_ns(costs) @ padded.counts / padded.graph_step_count)
    is_measured = costs.is_measured(padded.batches) & costs.is_measured(padded.buckets)
    return {
        "padding_ns": padding_ns,
        "step_ns": step_ns,
        "padding_of_step_ratio": padding_ns / step_ns,
        "interpolated_ratio": float(padded.counts[~is_measured].sum() / padded.graph_step_count),
        "without_graph_ns": _without_graph_ns(padded, costs),
    }


def _without_graph_ns(padded: _Padded, costs: SweepCosts) -> float:
    """Eager minus replayed, a step, for the batches above the list; NaN where there are none or none is measured."""
    if not len(padded.above) or costs.kind == "NONE":
        return float("nan")
    longer = costs.at(costs.eager_ns, padded.above) - costs.at(costs.step_ns, padded.above)
    return float(longer @ padded.above_counts / padded.above_counts.sum())


def _list_costs(chosen: BucketList, costs: SweepCosts | None) -> dict[str, Number]:
    """Memory and start-up of the whole list, both from the sweep."""
    if costs is None:
        return {"memory_bytes": np.nan, "start_up_ns": np.nan, "unmeasured_size_count": len(chosen.sizes)}
    sizes = np.asarray(chosen.sizes, np.int64)
    return {
        "memory_bytes": costs.list_bytes(sizes),
        "start_up_ns": float(costs.at(costs.start_up_ns, sizes).sum()),
        "unmeasured_size_count": int((~costs.is_measured(sizes)).sum()),
    }


def _list_report(chosen: BucketList, traffic: Traffic, costs: SweepCosts | None) -> Report:
    padded = _pad(chosen, traffic)
    every = pd.DataFrame(
        {
            "bucket": padded.buckets,
            "step_count": padded.counts,
            "real_rows": padded.batches * padded.counts,
            "padded_rows": (padded.buckets - padded.batches) * padded.counts,
            "padding_ns": np.nan if costs is None else padded.padding_ns(costs) * padded.counts,
        }
    )
    buckets = every.groupby("bucket", as_index=False).sum(min_count=1)
    buckets["step_ratio"] = buckets["step_count"] / traffic.step_count
    buckets["padded_ratio"] = buckets["padded_rows"] / (buckets["padded_rows"] + buckets["real_rows"])
    return Report(
        QUESTION,
        chosen.name,
        (),
        (
            ReportTable("buckets", "sizes", BUCKET_COLUMNS, buckets[[column.key for column in BUCKET_COLUMNS]]),
            ReportTable("staircase", "batch by batch", STAIRCASE_COLUMNS, _staircase(chosen, traffic)),
        ),
    )


def _staircase(chosen: BucketList, traffic: Traffic) -> pd.DataFrame:
    """Every batch size that the list holds, occurring or not."""
    batches = np.arange(1, chosen.largest + 1)
    buckets = buckets_of(batches, chosen.sizes)
    return pd.DataFrame(
        {
            "batch": batches,
            "bucket": buckets,
            "padded_rows": buckets - batches,
            "waste_ratio": 1 - batches / buckets,
            "step_count": traffic.up_to(chosen.largest)[1:],
        }
    )
