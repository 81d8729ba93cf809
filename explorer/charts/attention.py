"""Which backend runs which setting, and how fast? A matrix of settings × backends.

A cell's colour is its time against the fastest of its row: pale blue where it is the fastest, over grey to orange.
Refused and failed cells are hatched and say the reason; the chosen backend is outlined, a star marks a choice that was
slower than another backend.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from explorer.charts.theme import CHARACTER_PX, Theme, styled

ROW_PX = 33
_HEAD_PX = 26
_LABEL_SHARE = 0.3
"""Share of the width that the settings' names take."""
_ASSUMED_WIDTH_PX = 1010
_SLOWEST = 20.0
"""Times slower from which the colour no longer changes."""
_SCALES = {
    "light": ("#DFF0F9", "#E6E4DF", "#E3A977"),
    "dark": ("#14405A", "#3B3D40", "#8A5426"),
}


@dataclass(frozen=True)
class MatrixCell:
    """`ratio` is its time ÷ the fastest of the row, None for a cell that did not run."""

    words: str
    hover: str
    ratio: float | None = None
    is_chosen: bool = False
    has_star: bool = False


@dataclass(frozen=True)
class MatrixRow:
    """One setting; a cell for every column, None where it was not asked."""

    key: str
    label: str
    hover: str
    cells: tuple[MatrixCell | None, ...]


def attention_matrix(rows: Sequence[MatrixRow], columns: Sequence[str], theme: Theme) -> go.Figure:
    """The matrix; a bar's customdata is (key of the row, column), which a click gives back."""
    figure = go.Figure()
    places = list(range(len(rows), 0, -1))
    for column, label in enumerate(columns):
        shown = [(place, row, row.cells[column]) for place, row in zip(places, rows, strict=True)]
        _add_column(figure, column, [(place, row, cell) for place, row, cell in shown if cell], len(columns), theme)
        _outline(figure, column, [place for place, _, cell in shown if cell and cell.is_chosen], len(columns), theme)
        _head(figure, label, _right(column, len(columns)), len(rows) + 1, "right", theme)
    _head(figure, "setting", 0.004, len(rows) + 1, "left", theme)
    for place, row in zip(places, rows, strict=True):
        _row_label(figure, row, place, theme)
    for place in range(len(rows) + 1):
        figure.add_shape(
            type="line",
            x0=0,
            x1=1,
            y0=place + 0.5,
            y1=place + 0.5,
            line={"color": theme.rule, "width": 1},
            layer="below",
        )
    styled(figure, theme, _HEAD_PX + ROW_PX * len(rows))
    figure.update_layout(bargap=0, barmode="overlay", clickmode="event+select", dragmode=False)
    figure.update_xaxes(range=[0, 1], visible=False, fixedrange=True)
    figure.update_yaxes(range=[0.45, len(rows) + 1.4], visible=False, fixedrange=True)
    return figure


def cell_colour(ratio: float | None, theme: Theme) -> str:
    """The fill of a cell by how many times slower than the fastest it is; the surface for one that did not run."""
    if ratio is None:
        return theme.background
    fastest, middle, slowest = _SCALES[theme.name]
    share = min(1.0, math.log(max(ratio, 1.0)) / math.log(_SLOWEST))
    near = 0.25
    if share <= near:
        return _mixed(fastest, middle, share / near)
    return _mixed(middle, slowest, (share - near) / (1 - near))


def _add_column(
    figure: go.Figure,
    column: int,
    shown: Sequence[tuple[int, MatrixRow, MatrixCell]],
    column_count: int,
    theme: Theme,
) -> None:
    """Two traces: with a colour for each point Plotly would draw the hatching in that colour."""
    ran = [one for one in shown if one[2].ratio is not None]
    others = [one for one in shown if one[2].ratio is None]
    _add_cells(
        figure, column, ran, column_count, theme.ink, {"color": [cell_colour(c.ratio, theme) for _, _, c in ran]}
    )
    hatched = {"shape": "/", "fgcolor": theme.rule, "bgcolor": theme.background, "size": 7, "solidity": 0.3}
    _add_cells(figure, column, others, column_count, theme.muted, {"color": theme.background, "pattern": hatched})


def _add_cells(
    figure: go.Figure,
    column: int,
    shown: Sequence[tuple[int, MatrixRow, MatrixCell]],
    column_count: int,
    ink: str,
    marker: dict[str, object],
) -> None:
    width = (1 - _LABEL_SHARE) / column_count
    figure.add_bar(
        orientation="h",
        x=[width] * len(shown),
        y=[place for place, _, _ in shown],
        base=[_LABEL_SHARE + column * width] * len(shown),
        width=0.94,
        marker={**marker, "line": {"width": 0}},
        text=[_fitting(cell, width) for _, _, cell in shown],
        textposition="inside",
        insidetextanchor="end",
        textangle=0,
        constraintext="none",
        insidetextfont={"size": 12.5, "color": ink},
        customdata=[[row.key, column] for _, row, _ in shown],
        hovertext=[cell.hover for _, _, cell in shown],
        hovertemplate="%{hovertext}<extra></extra>",
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
    )


def _outline(figure: go.Figure, column: int, places: Sequence[int], column_count: int, theme: Theme) -> None:
    """Frames around the chosen cells, above their neighbours."""
    width = (1 - _LABEL_SHARE) / column_count
    left = _LABEL_SHARE + column * width
    for place in places:
        figure.add_shape(
            type="rect",
            x0=left,
            x1=left + width - 0.0012,
            y0=place - 0.47,
            y1=place + 0.47,
            line={"color": theme.ink, "width": 2},
        )


def _fitting(cell: MatrixCell, width: float) -> str:
    """The cell's words, shortened to its width; bold where it was chosen."""
    limit = int(width * _ASSUMED_WIDTH_PX / CHARACTER_PX) - 2
    words = f"{cell.words} ★" if cell.has_star else cell.words
    if len(words) > limit:
        words = words[: limit - 1].rstrip() + "…"
    words = _escaped(words)
    return f"<b>{words}</b> " if cell.is_chosen else f"{words} "


def _row_label(figure: go.Figure, row: MatrixRow, place: int, theme: Theme) -> None:
    limit = int(_LABEL_SHARE * _ASSUMED_WIDTH_PX / CHARACTER_PX) - 1
    label = row.label if len(row.label) <= limit else row.label[: limit - 1].rstrip() + "…"
    figure.add_annotation(
        x=0.004,
        y=place,
        text=_escaped(label),
        hovertext=row.hover,
        showarrow=False,
        xanchor="left",
        font={"size": 13, "color": theme.ink},
    )


def _head(figure: go.Figure, label: str, x: float, y: float, anchor: str, theme: Theme) -> None:
    figure.add_annotation(
        x=x, y=y, text=label, showarrow=False, xanchor=anchor, font={"size": 12.5, "color": theme.muted}
    )


def _right(column: int, column_count: int) -> float:
    return _LABEL_SHARE + (column + 1) * (1 - _LABEL_SHARE) / column_count - 0.004


def _mixed(one: str, other: str, share: float) -> str:
    channels = [
        round(int(one[at : at + 2], 16) * (1 - share) + int(other[at : at + 2], 16) * share) for at in (1, 3, 5)
    ]
    return "#" + "".join(f"{channel:02X}" for channel in channels)


def _escaped(words: str) -> str:
    """Plotly reads a few HTML tags in text."""
    return words.replace("&", "&amp;").replace("<", "&lt;")
