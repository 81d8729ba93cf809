"""What went through memory, and how near to the limit? Tensors written and read, and groups against the bandwidth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

import plotly.graph_objects as go

from explorer.charts.theme import CHARACTER_PX, Theme, styled
from explorer.units import Unit, power_text, shortened, text

_TILE_PX = 34
_LEFT_PX = 250


@dataclass(frozen=True)
class TrafficRow:
    """One operator or kernel: which tensors it reads and writes, by letter."""

    label: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    side: Literal["eager", "compiled"]


def traffic_tiles(rows: Sequence[TrafficRow], theme: Theme) -> go.Figure:
    """A tile where a row touches a tensor: light where it reads, full where it writes; compiled rows come below."""
    letters = list(dict.fromkeys(letter for row in rows for letter in (*row.reads, *row.writes)))
    letters.sort(key=lambda letter: ({"x": 0, "t": 1}.get(letter[0], 2), len(letter), letter))
    figure = go.Figure()
    for label, kind, opacity in (("reads", "reads", 0.35), ("writes", "writes", 1.0)):
        spots = [(letter, place, row) for place, row in enumerate(rows) for letter in getattr(row, kind)]
        figure.add_scatter(
            name=label,
            x=[letters.index(letter) for letter, _, _ in spots],
            y=[-place - (0.5 if row.side == "compiled" else 0) for _, place, row in spots],
            mode="markers+text",
            text=[label[0].upper()] * len(spots),
            textfont={"size": 11, "color": theme.ink if kind == "reads" else theme.ink_on(theme.accent)},
            marker={"symbol": "square", "size": 24, "color": theme.accent, "opacity": opacity, "line": {"width": 0}},
            hovertext=[f"{_plain(row.label)} {label} {letter}" for letter, _, row in spots],
            hoverinfo="text",
        )
    styled(figure, theme, _TILE_PX * len(rows) + 60)
    figure.update_layout(margin={"l": _LEFT_PX, "r": 8, "t": 26, "b": 8}, dragmode=False)
    figure.update_xaxes(
        tickvals=list(range(len(letters))), ticktext=letters, side="top", range=[-0.6, len(letters) - 0.4],
        fixedrange=True, showline=False,
    )  # fmt: skip
    figure.update_yaxes(
        tickvals=[-place - (0.5 if row.side == "compiled" else 0) for place, row in enumerate(rows)],
        ticktext=[shortened(row.label, int(_LEFT_PX / CHARACTER_PX) - 2) for row in rows],
        range=[-len(rows) - 0.2, 0.7],
        fixedrange=True,
        showline=False,
        ticks="",
    )
    return figure


@dataclass(frozen=True)
class RoofPoint:
    """One group on one side: bytes that it must move (a call) and the bandwidth that it reached."""

    label: str
    side: Literal["before", "after"]
    moved_bytes: float
    bytes_per_s: float
    family: str


def bandwidth_roof(points: Sequence[RoofPoint], ceiling_bytes_per_s: float | None, theme: Theme) -> go.Figure:
    """Achieved bandwidth against moved bytes, both logarithmic; open before, full after, the measured limit a line.

    A line joins the two sides of a group where both are known.
    """
    figure = go.Figure([_change_lines(points, theme), *(_side_points(points, side, theme) for side in _SYMBOLS)])
    styled(figure, theme, 280)
    figure.update_layout(margin={"l": 84, "r": 12, "t": 26, "b": 48}, dragmode=False)
    if ceiling_bytes_per_s:
        figure.add_hline(ceiling_bytes_per_s, line={"color": theme.warning, "width": 1.5, "dash": "dash"})
        figure.add_annotation(
            text=f"measured: {text(ceiling_bytes_per_s, 'bytes_per_s')}",
            x=0, xref="paper", xanchor="left", y=math.log10(ceiling_bytes_per_s), yanchor="bottom", showarrow=False,
            font={"color": theme.warning, "size": 12},
        )  # fmt: skip
    figure.update_xaxes(
        type="log",
        title={"text": "bytes that a call must move", "font": {"size": 12}},
        **_powers([point.moved_bytes for point in points], 16, "bytes"),
        fixedrange=True,
    )
    figure.update_yaxes(
        type="log",
        title={"text": "achieved", "font": {"size": 12}},
        **_powers([*(point.bytes_per_s for point in points), ceiling_bytes_per_s or 0], 10, "bytes_per_s"),
        fixedrange=True,
    )
    return figure


def _powers(values: Sequence[float], base: int, unit: Unit) -> dict[str, list[float] | list[str]]:
    """Ticks at the powers around the values, with a space before the unit, which Plotly's own prefixes lack."""
    exponents = [math.log(value, base) for value in values if value > 0] or [0.0]
    marks = [float(base) ** place for place in range(math.floor(min(exponents)), math.ceil(max(exponents)) + 1)]
    return {"tickvals": marks, "ticktext": [power_text(mark, unit) for mark in marks]}


_SYMBOLS: Mapping[Literal["before", "after"], str] = MappingProxyType({"before": "circle-open", "after": "circle"})


def _side_points(points: Sequence[RoofPoint], side: Literal["before", "after"], theme: Theme) -> go.Scatter:
    chosen = [point for point in points if point.side == side]
    return go.Scatter(
        name=side,
        x=[point.moved_bytes for point in chosen],
        y=[point.bytes_per_s for point in chosen],
        mode="markers",
        marker={"symbol": _SYMBOLS[side], "size": 10, "color": [theme.colour(point.family) for point in chosen]},
        hovertext=[
            f"{_plain(point.label)}, {side}<br>{text(point.moved_bytes, 'bytes')} a call at "
            f"{text(point.bytes_per_s, 'bytes_per_s')}"
            for point in chosen
        ],
        hoverinfo="text",
    )


def _change_lines(points: Sequence[RoofPoint], theme: Theme) -> go.Scatter:
    """From before to after; a pair stands in the list one behind the other."""
    pairs = [
        (first, second)
        for first, second in pairwise(points)
        if (first.side, second.side) == ("before", "after") and first.label == second.label
    ]
    return go.Scatter(
        name="change",
        x=[value for first, second in pairs for value in (first.moved_bytes, second.moved_bytes, None)],
        y=[value for first, second in pairs for value in (first.bytes_per_s, second.bytes_per_s, None)],
        mode="lines",
        line={"color": theme.muted, "width": 1},
        hoverinfo="skip",
    )


def _plain(words: str) -> str:
    """Text that Plotly does not read as HTML."""
    return words.replace("&", "&amp;").replace("<", "&lt;")
