"""How many calls of the host submit how many kernels? One row a recording, on one logarithmic axis.

no graph     ●────────────────────────● kernels and launches are as many
pieces       ○ launches ──────────────● kernels
full graph   ○ ───────────────────────●
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from explorer.charts.theme import Theme, styled
from explorer.units import Number, text

_ROW_PX = 34


@dataclass(frozen=True)
class LaunchRow:
    """One recording's step: `label` as in NONE · eager; time without the profiler, None where unknown."""

    label: str
    launch_count: float
    kernel_count: float
    step_ns: Number | None


def launches_and_kernels(rows: Sequence[LaunchRow], theme: Theme) -> go.Figure:
    """A line a row from its host launches to its kernels; both values are written at their ends."""
    figure = go.Figure()
    for row in rows:
        figure.add_scatter(
            x=[row.launch_count, row.kernel_count],
            y=[row.label, row.label],
            mode="lines",
            line={"color": theme.rule, "width": 3},
            hoverinfo="skip",
        )
    for name, colour, counts in (
        ("kernels", theme.accent, [row.kernel_count for row in rows]),
        ("host launches", theme.host_deep, [row.launch_count for row in rows]),
    ):
        is_launches = name == "host launches"
        figure.add_scatter(
            name=name,
            x=counts,
            y=[row.label for row in rows],
            mode="markers+text",
            marker={
                "color": colour,
                "size": 11,
                "symbol": "circle-open" if is_launches else "circle",
                "line_width": 2.5,
            },
            text=[_label(count, name, before=is_launches) for count in counts],
            textposition="middle left" if is_launches else "middle right",
            textfont={"size": 12, "color": theme.muted if is_launches else theme.ink},
            customdata=[text(row.step_ns, "ns") for row in rows],
            hovertemplate="%{y}: %{text} a step of %{customdata}<extra></extra>",
            cliponaxis=False,
        )
    styled(figure, theme, _ROW_PX * len(rows))
    figure.update_layout(dragmode=False, margin={"l": 180, "r": 110, "t": 0, "b": 0})
    figure.update_xaxes(type="log", range=[-0.6, 3.6], visible=False, fixedrange=True)
    figure.update_yaxes(
        autorange="reversed", tickfont={"size": 13, "color": theme.ink}, ticklabelstandoff=8, fixedrange=True
    )
    return figure


def _label(count: float, name: str, *, before: bool) -> str:
    """The count with room towards its marker."""
    words = f"{text(count, 'count')} {name}"
    return f"{words}  " if before else f"  {words}"
