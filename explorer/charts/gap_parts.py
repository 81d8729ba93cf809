"""What does idle time consist of? Its parts for A and B, first on one scale of time, then as shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from explorer.charts.bars import Row, stacked_rows
from explorer.charts.theme import IDLE_PARTS, Theme
from explorer.units import Number, text


@dataclass(frozen=True)
class IdleParts:
    """One side's idle time by part, in ns."""

    name: str
    idle_ns: Mapping[str, Number]

    @property
    def total_ns(self) -> Number:
        return sum(self.idle_ns.values())

    def parts(self) -> dict[str, Number]:
        return {part: self.idle_ns[part] for part in IDLE_PARTS if self.idle_ns.get(part)}


def gap_parts(sides: Sequence[IdleParts], theme: Theme) -> go.Figure:
    """A bar a side on the longest side's scale, then one a side over the full width where the lengths differ."""
    longest_ns = max(side.total_ns for side in sides)
    rows = [Row(side.name, "idle", text(side.total_ns, "ns"), side.parts(), longest_ns) for side in sides]
    if any(side.total_ns < longest_ns for side in sides):
        rows += [
            Row(side.name, "as shares", text(side.total_ns, "ns"), side.parts(), side.total_ns)
            for side in sides
            if side.total_ns
        ]
    return stacked_rows(rows, theme)
