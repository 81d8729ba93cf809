"""How many sizes are worth having for this traffic, and which? The advisor's curve beside the engines' lists.

Waste of a list = what its padding costs a step: time where a sweep measured it, else padded rows. Memory and start-up
of the advised lists are read off the sweep like those of any list.

Only batches whose cost is known count, and of every list only its sizes among them:

    traffic           1 ..................... 256
    sweep             1 .... 16                        "up to 16 rows": vLLM's 35 sizes are 1 2 4 8 16 there
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
from explorer.errors import SettingsError
from explorer.report import Column, Metric, Report, ReportTable
from explorer.units import Unit, listed, text

QUESTION = "How many sizes are worth having?"


@dataclass(frozen=True)
class AdvisedLists:
    """The best lists for one traffic. `waste` is in `unit`: nanoseconds a step, or padded rows a step.

    `considered` is the traffic of batches from `smallest` to `largest`, `left_out_ratio` the share of all steps that
    it lacks. Above `largest` no list may have a size, or, where `is_cut_by_sweep`, no step time is known.
    """

    advice: Advice
    considered: Traffic
    left_out_ratio: float
    smallest: int
    largest: int
    is_cut_by_sweep: bool
    unit: Unit
    _prices: np.ndarray[tuple[int], np.dtype[np.float64]]
    _real_total: float

    def waste(self, count: int) -> float:
        """Of the best list of at most `count` sizes."""
        return self._waste_of_total(float(self.advice.totals[count - 1]))

    def holds(self, sizes: tuple[int, ...]) -> bool:
        """Whether a list holds every batch considered; one that does not cannot be compared with the best."""
        return sizes[-1] >= self.largest

    def compared(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """The part of a list that `holds` the traffic; its smallest size above `largest` counts as `largest`."""
        return (*(size for size in sizes if size < self.largest), self.largest)

    def waste_of(self, sizes: tuple[int, ...]) -> float:
        """Of a list that `holds` the traffic."""
        return self._waste_of_total(self._total(sizes))

    def step_ns_of(self, sizes: tuple[int, ...]) -> float:
        """A step with the padding of a list that `holds` the traffic; only where `unit` is nanoseconds."""
        return self._total(sizes) / self.considered.step_count

    @property
    def is_part(self) -> bool:
        """Whether the findings are about some batch sizes only."""
        return self.is_cut_by_sweep or self.left_out_ratio > 0

    def fewest_as_good_as(self, sizes: tuple[int, ...]) -> int | None:
        """How few well-chosen sizes waste no more than that list; None when even the most do, or it is too short."""
        return fewest_reaching(self.advice.totals, self._total(sizes)) if self.holds(sizes) else None

    @property
    def elbow(self) -> int:
        """Where more sizes stop paying."""
        return elbow(self.advice.totals)

    def _total(self, sizes: tuple[int, ...]) -> float:
        return list_total(self.compared(sizes), self.considered.counts, self._prices)

    def _waste_of_total(self, total: float) -> float:
        return (total - self._real_total) / self.considered.step_count


def advise(traffic: Traffic, costs: SweepCosts | None, largest: int, most: int = MOST_SIZES) -> AdvisedLists:
    """The best lists of sizes up to `largest`, or up to where the sweep ends; every list holds a batch of that size.

    Raises SettingsError when no batch of the traffic is that small, or has a cost that the sweep knows.
    """
    smallest, asked = 1, largest
    if costs is not None:
        smallest, largest = int(costs.sizes[0]), min(largest, costs.largest)
    every = np.arange(largest + 1)
    prices = every.astype(np.float64) if costs is None else costs.at(costs.step_ns, every)
    counts = traffic.up_to(largest)
    counts[:smallest] = 0
    if not counts.any():
        raise SettingsError(
            f"No step of {traffic.name} has {smallest:,} to {largest:,} rows, and no other cost is known. "
            "Choose another largest size, another sweep, or none."
        )
    return AdvisedLists(
        best_lists(counts, prices, most, cover=largest),
        Traffic(traffic.name, counts),
        left_out_ratio=1 - int(counts.sum()) / traffic.step_count,
        smallest=smallest,
        largest=largest,
        is_cut_by_sweep=largest < asked or smallest > 1,
        unit="count" if costs is None else "ns",
        _prices=prices,
        _real_total=float(prices[smallest:] @ counts[smallest:]),
    )


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
            "size_count": [len(advised.compared(chosen.sizes)) for chosen in comparable],
            "waste": [advised.waste_of(chosen.sizes) for chosen in comparable],
        }
    )
    notes = []
    if len(comparable) < len(lists):
        notes.append(f"Lists that end below {advised.largest:,} are not on the curve.")
    if any(chosen.sizes[-1] > advised.largest for chosen in comparable):
        notes.append(f"Of every list only the sizes up to {advised.largest:,} are counted.")
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
        tuple(notes),
    )


def headline(advised: AdvisedLists, reference: BucketList, count: int) -> str:
    """The finding in a sentence: how few sizes do what the reference list does, else what the chosen number does."""
    fewest = advised.fewest_as_good_as(reference.sizes)
    has = len(advised.compared(reference.sizes))
    if fewest is not None and fewest < has:
        return f"{_sizes(advised, fewest)} lose{_s(fewest)} as little time as {reference.name}'s {has:,}."
    return f"{_sizes(advised, count)} cost{_s(count)} {_amount(advised, advised.waste(count))} of padding a step."


def detail(advised: AdvisedLists, lists: Sequence[BucketList], count: int) -> str:
    """What is known of this traffic, what each list spends on padding there, and what the chosen number would."""
    held = [chosen for chosen in lists if advised.holds(chosen.sizes)]
    spent = [f"{_amount(advised, advised.waste_of(chosen.sizes))} with {chosen.name}" for chosen in held]
    first = _reach(advised) if advised.is_part else "For this traffic "
    if held:
        timed = advised.unit == "ns"
        step = f"a step of {text(advised.step_ns_of(held[0].sizes), 'ns')} spends" if timed else "a step pads"
        first += f"{step} {listed(spent)}; "
    chosen_sizes = "1 size chosen for it needs" if count == 1 else f"{count:,} sizes chosen for it need"
    return f"{first}{chosen_sizes} {_amount(advised, advised.waste(count))}."


_COST_COLUMNS = (
    Column("padded_ratio", "padded rows", "ratio"),
    Column("memory_bytes", "graph memory", "bytes"),
    Column("start_up_ns", "start-up", "ns"),
)


def _reach(advised: AdvisedLists) -> str:
    """Which part of the traffic the findings are about, and how much is outside; ends where a sentence on it begins."""
    left_out = f"{text(advised.left_out_ratio, 'ratio')} of this traffic's steps"
    if not advised.is_cut_by_sweep:
        above = f"more than {advised.largest:,} rows and run without a graph in every list"
        return f"{left_out} have {above}. {_range(advised).capitalize()} "
    covered = f"The sweep covers batches {_range(advised)}"
    if not advised.left_out_ratio:
        return f"{covered}, which is all of this traffic. There "
    return f"{covered}; {left_out} lie outside, and their cost is not known. Within the sweep "


def _range(advised: AdvisedLists) -> str:
    if advised.smallest == 1:
        return f"up to {advised.largest:,} rows"
    return f"from {advised.smallest:,} to {advised.largest:,} rows"


def _sizes(advised: AdvisedLists, count: int) -> str:
    words = "one well-chosen size" if count == 1 else f"{count:,} well-chosen sizes"
    words = f"{_range(advised)}, {words}" if advised.is_part else words
    return words[0].upper() + words[1:]


def _s(count: int) -> str:
    """The ending of a verb whose subject is that many sizes."""
    return "s" if count == 1 else ""


def _amount(advised: AdvisedLists, waste: float) -> str:
    return text(waste, "ns") if advised.unit == "ns" else f"{text(waste, 'count')} rows"
