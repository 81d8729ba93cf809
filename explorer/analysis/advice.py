"""How many sizes are worth having for this traffic, and which? The advisor's curve beside the engines' lists.

Waste of a list = what its padding costs a step: time where a sweep measured it, else padded rows. Memory and start-up
of the advised lists are read off the sweep like those of any list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from explorer.analysis.advisor import MOST_SIZES, Advice, best_lists, elbow, fewest_reaching, list_total
from explorer.analysis.buckets import BucketList, buckets_report
from explorer.analysis.sweep import SweepCosts
from explorer.analysis.traffic import Traffic
from explorer.report import Column, Metric, Report, ReportTable
from explorer.units import Number, Unit, listed, text

QUESTION = "How many sizes are worth having?"


@dataclass(frozen=True)
class AdvisedLists:
    """The best lists for one traffic. `waste` is in `unit`: nanoseconds a step, or padded rows a step.

    `considered` is the traffic that some size up to `largest` can hold; what is above it has no graph in any list.
    """

    advice: Advice
    considered: Traffic
    largest: int
    unit: Unit
    _prices: np.ndarray[tuple[int], np.dtype[np.float64]]
    _real_total: float

    def waste(self, count: int) -> float:
        """Of the best list of at most `count` sizes."""
        return self._waste_of_total(float(self.advice.totals[count - 1]))

    def holds(self, sizes: tuple[int, ...]) -> bool:
        """Whether a list holds every batch considered; one that does not cannot be compared with the best."""
        return sizes[-1] >= self.largest

    def waste_of(self, sizes: tuple[int, ...]) -> float:
        """Of a list that `holds` the traffic; its smallest size above `largest` counts as `largest`."""
        return self._waste_of_total(self._total(sizes))

    def fewest_as_good_as(self, sizes: tuple[int, ...]) -> int | None:
        """How few well-chosen sizes waste no more than that list; None when even the most do, or it is too short."""
        return fewest_reaching(self.advice.totals, self._total(sizes)) if self.holds(sizes) else None

    @property
    def elbow(self) -> int:
        """Where more sizes stop paying."""
        return elbow(self.advice.totals)

    def _total(self, sizes: tuple[int, ...]) -> float:
        cut = (*(size for size in sizes if size < self.largest), self.largest)
        return list_total(cut, self.considered.counts, self._prices)

    def _waste_of_total(self, total: float) -> float:
        return (total - self._real_total) / self.considered.step_count


def advise(traffic: Traffic, costs: SweepCosts | None, largest: int, most: int = MOST_SIZES) -> AdvisedLists:
    """The best lists of sizes up to `largest`, or up to where the sweep ends; every list holds a batch of that size.

    Raises SettingsError when no batch of the traffic is that small.
    """
    if costs is not None:
        largest = min(largest, costs.largest)
    every = np.arange(largest + 1)
    prices = every.astype(np.float64) if costs is None else costs.at(costs.step_ns, every)
    counts = traffic.up_to(largest)
    advice = best_lists(counts, prices, most, cover=largest)
    real = prices[1:] @ counts[1:] if not np.isnan(prices[1:]).any() else np.nansum(prices[1:] * counts[1:])
    unit: Unit = "count" if costs is None else "ns"
    return AdvisedLists(advice, Traffic(traffic.name, counts), largest, unit, prices, float(real))


def advice_report(advised: AdvisedLists, lists: Sequence[BucketList], costs: SweepCosts | None) -> Report:
    """The curve of waste against the number of sizes, and the given lists as points on the same axes."""
    candidates = [
        BucketList(f"best {count}", advised.advice.sizes(count)) for count in range(1, advised.advice.most + 1)
    ]
    padded = buckets_report(candidates, advised.considered, costs).table("lists")
    curve = pd.DataFrame(
        {
            "size_count": range(1, advised.advice.most + 1),
            "waste": [advised.waste(count) for count in range(1, advised.advice.most + 1)],
            "padded_ratio": padded["padded_ratio"],
            "memory_bytes": padded["memory_bytes"],
            "start_up_ns": padded["start_up_ns"],
        }
    )
    comparable = [chosen for chosen in lists if advised.holds(chosen.sizes)]
    points = pd.DataFrame(
        {
            "name": [chosen.name for chosen in comparable],
            "size_count": [len(chosen.sizes) for chosen in comparable],
            "waste": [advised.waste_of(chosen.sizes) for chosen in comparable],
        }
    )
    waste = Column("waste", "padding a step", advised.unit)
    return Report(
        QUESTION,
        advised.considered.name,
        (Metric("elbow_count", "sizes at the elbow", advised.elbow, "count"),),
        (
            ReportTable("curve", "best lists", (Column("size_count", "sizes", "count"), waste, *_COST_COLUMNS), curve),
            ReportTable(
                "points",
                "lists",
                (Column("name", "list", "text"), Column("size_count", "sizes", "count"), waste),
                points,
            ),
        ),
        (f"Lists that end below {advised.largest:,} are not on the curve.",) if len(comparable) < len(lists) else (),
    )


def headline(advised: AdvisedLists, reference: BucketList, count: int) -> str:
    """The finding in a sentence: how few sizes do what the reference list does, else what the chosen number does."""
    fewest = advised.fewest_as_good_as(reference.sizes)
    if fewest is not None and fewest < len(reference.sizes):
        return f"{_sizes(fewest)} lose as little time as {reference.name}'s {len(reference.sizes):,}."
    verb = "costs" if count == 1 else "cost"
    return f"{_sizes(count)} {verb} {_amount(advised, advised.waste(count))} of padding a step."


def detail(advised: AdvisedLists, lists: Sequence[BucketList], step_ns: Number | None, count: int) -> str:
    """What each list spends on padding, and what the chosen number of sizes would."""
    spent = [
        f"{_amount(advised, advised.waste_of(chosen.sizes))} with {chosen.name}"
        for chosen in lists
        if advised.holds(chosen.sizes)
    ]
    step = f"a step of {text(step_ns, 'ns')}" if advised.unit == "ns" else "a step"
    verb = "spends" if advised.unit == "ns" else "pads"
    first = f"For this traffic {step} {verb} {listed(spent)}; " if spent else "For this traffic "
    chosen_sizes = "1 size chosen for it needs" if count == 1 else f"{count:,} sizes chosen for it need"
    return f"{first}{chosen_sizes} {_amount(advised, advised.waste(count))}."


_COST_COLUMNS = (
    Column("padded_ratio", "padded rows", "ratio"),
    Column("memory_bytes", "graph memory", "bytes"),
    Column("start_up_ns", "start-up", "ns"),
)


def _sizes(count: int) -> str:
    return "One well-chosen size" if count == 1 else f"{count:,} well-chosen sizes"


def _amount(advised: AdvisedLists, waste: float) -> str:
    return text(waste, "ns") if advised.unit == "ns" else f"{text(waste, 'count')} rows"
