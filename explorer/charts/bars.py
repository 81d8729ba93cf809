"""How do stacked rows of labelled segments read? One drawing for the step's time and for the parts of idle time.

A  busy 3.72 ms, idle 38.0 ms                                41.7 ms
▓▓▓▓░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from explorer.charts.theme import CHARACTER_PX, IDLE_PARTS, Theme, key_label, key_meaning, styled
from explorer.trace import FAMILIES
from explorer.units import Number, exact, text

ASSUMED_WIDTH_PX = 930
"""The narrowest plot that the pages draw (a window of 1280): a label that fits there fits everywhere."""
_ROW_PX = 58
_BAR_PX = 30


@dataclass(frozen=True)
class Row:
    """One bar: `parts` in ns by family or gap part, `full_ns` what its whole width stands for."""

    name: str
    title: str
    total: str
    parts: Mapping[str, Number]
    full_ns: Number
    mark_ns: Number | None = None


def stacked_rows(rows: Sequence[Row], theme: Theme) -> go.Figure:
    """Bars of equal width, each on its own scale, with a title line above each; `mark_ns` is a line through the bar."""
    figure = go.Figure()
    keys = [key for key in (*FAMILIES, *IDLE_PARTS) if any(key in row.parts for row in rows)]
    centres = {index: _ROW_PX * (len(rows) - index) - 22 - _BAR_PX / 2 for index in range(len(rows))}
    for key in keys:
        _add_part(figure, key, rows, centres, theme)
    for index, row in enumerate(rows):
        _add_titles(figure, row, centres[index] + _BAR_PX / 2, theme)
        if row.mark_ns is not None and row.full_ns:
            _add_mark(figure, row, centres[index], theme)
    styled(figure, theme, _ROW_PX * len(rows))
    figure.update_layout(barmode="stack", bargap=0, dragmode=False)
    figure.update_xaxes(visible=False, range=[0, 1], fixedrange=True)
    figure.update_yaxes(visible=False, range=[0, _ROW_PX * len(rows)], fixedrange=True)
    return figure


def _add_part(figure: go.Figure, key: str, rows: Sequence[Row], centres: Mapping[int, float], theme: Theme) -> None:
    fill = theme.colour(key)
    shown = [(index, row) for index, row in enumerate(rows) if row.parts.get(key)]
    shares = [row.parts[key] / row.full_ns for _, row in shown]
    figure.add_bar(
        name=key,
        orientation="h",
        y=[centres[index] for index, _ in shown],
        x=shares,
        width=_BAR_PX,
        text=[_label(key, row) for _, row in shown],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        constraintext="none",
        textfont={"color": theme.ink_on(fill), "size": 12},
        marker={"color": fill, **theme.edge(key)},
        customdata=[[_hover(key, row)] for _, row in shown],
        hovertemplate="%{customdata[0]}<extra></extra>",
    )


def _label(key: str, row: Row) -> str:
    """The longest label that fits into the segment and stays clear of the mark: name and time, time alone, or none."""
    room = row.parts[key] / row.full_ns * ASSUMED_WIDTH_PX - 10
    time = text(row.parts[key], "ns")
    for label in (f"{key_label(key)} {time}", time):
        width = len(label) * CHARACTER_PX
        if width <= room and _distance_to_mark(key, row) > width / 2 + 6:
            return label
    return ""


def _distance_to_mark(key: str, row: Row) -> float:
    """Pixels from the middle of a segment to the row's mark."""
    if row.mark_ns is None:
        return math.inf
    keys = list(row.parts)
    before = sum(row.parts[sooner] for sooner in keys[: keys.index(key)])
    return abs(before + row.parts[key] / 2 - row.mark_ns) / row.full_ns * ASSUMED_WIDTH_PX


def _hover(key: str, row: Row) -> str:
    value = row.parts[key]
    total = sum(row.parts.values())
    meaning = key_meaning(key)
    return (
        f"<b>{row.name} · {key_label(key)}</b><br>{text(value, 'ns')} · {text(value / total, 'ratio')} of "
        f"{text(total, 'ns')}<br>{exact(value, 'ns')}" + (f"<br>{meaning}" if meaning else "")
    )


def _add_titles(figure: go.Figure, row: Row, top: float, theme: Theme) -> None:
    common = {"showarrow": False, "y": top + 2, "yanchor": "bottom", "xref": "paper", "yref": "y"}
    figure.add_annotation(text=f"<b>{row.name}</b>  {row.title}", x=0, xanchor="left", **common, font={"size": 13})
    figure.add_annotation(text=row.total, x=1, xanchor="right", **common, font={"size": 13, "color": theme.ink})


def _add_mark(figure: go.Figure, row: Row, centre: float, theme: Theme) -> None:
    assert row.mark_ns is not None
    at = row.mark_ns / row.full_ns
    if at <= 1:
        figure.add_shape(
            type="line",
            x0=at,
            x1=at,
            y0=centre - _BAR_PX / 2 - 4,
            y1=centre + _BAR_PX / 2 + 4,
            line={"color": theme.background, "width": 5},
        )
        figure.add_shape(
            type="line",
            x0=at,
            x1=at,
            y0=centre - _BAR_PX / 2 - 4,
            y1=centre + _BAR_PX / 2 + 4,
            line={"color": theme.ink, "width": 2},
        )
