"""Where does the step's time go? Busy by kernel family, idle by gap part, A and B on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from explorer.charts.bars import Row, stacked_rows
from explorer.charts.theme import IDLE_PARTS, Theme
from explorer.trace import FAMILIES
from explorer.units import Number, text

WORTH_MAGNIFYING = 1.5
"""From this ratio on, the shorter step is drawn once more over the full width."""


@dataclass(frozen=True)
class StepParts:
    """One side's step: busy time by family and idle time by part, in ns; `floor_ns` is the step's bandwidth limit."""

    name: str
    busy_ns: Mapping[str, Number]
    idle_ns: Mapping[str, Number]
    floor_ns: Number | None = None

    @property
    def total_ns(self) -> Number:
        return sum(self.busy_ns.values()) + sum(self.idle_ns.values())

    @property
    def title(self) -> str:
        return f"busy {text(sum(self.busy_ns.values()), 'ns')}, idle {text(sum(self.idle_ns.values()), 'ns')}"

    def parts(self) -> dict[str, Number]:
        """What is drawn, left to right: families in their order, then idle from the device's to the host's."""
        busy = {family: self.busy_ns[family] for family in FAMILIES if self.busy_ns.get(family)}
        return busy | {part: self.idle_ns[part] for part in IDLE_PARTS if self.idle_ns.get(part)}


def step_bar(sides: Sequence[StepParts], theme: Theme, *, magnify: bool) -> go.Figure:
    """One bar a side, all on the longest side's scale; with `magnify` the shorter ones again over the full width."""
    longest_ns = max(side.total_ns for side in sides)
    rows = []
    for side in sides:
        scale_note = "" if len(sides) == 1 or side.total_ns == longest_ns else ", same scale"
        rows.append(_row(side, side.title + scale_note, longest_ns))
    for side in sides:
        if magnify and is_worth_magnifying(side, sides):
            ratio = text(longest_ns / side.total_ns, "times")
            rows.append(_row(side, f"magnified {ratio}", side.total_ns))
    return stacked_rows(rows, theme)


def is_worth_magnifying(side: StepParts, sides: Sequence[StepParts]) -> bool:
    """Whether the side's bar is so short that its parts cannot be read on the common scale."""
    return 0 < side.total_ns * WORTH_MAGNIFYING <= max(other.total_ns for other in sides)


def _row(side: StepParts, title: str, full_ns: Number) -> Row:
    return Row(side.name, title, text(side.total_ns, "ns"), side.parts(), full_ns, side.floor_ns)
