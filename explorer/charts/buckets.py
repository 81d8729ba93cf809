"""What do lists of sizes cost by batch size, and how many sizes are worth having? Two figures of one page.

sawteeth: padded rows (or share) at every batch size, a line a list, over the histogram of the traffic
curve: padding a step against the number of sizes, the engines' lists as points beside it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from explorer.charts.point_labels import PointLabel, add_labels
from explorer.charts.theme import Theme, styled
from explorer.report import Report
from explorer.units import Unit, text, time_axis

LIST_COLOURS = ("#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7A3E9D", "#8C6D46")
ADVISED_COLOUR = "#D55E00"
_LEFT_HEIGHT_PX = 356
_RIGHT_HEIGHT_PX = 292
_TITLE_PX = 20
_BOTTOM_PX = 34
_RIGHT_WIDTH_PX = 265
"""The narrowest curve that the page draws (a window of 1280): labels that fit there fit everywhere."""
Shown = Literal["padded_rows", "waste_ratio"]


@dataclass(frozen=True)
class DrawnList:
    """One list: its name, its colour, and its staircase (columns batch, bucket, padded_rows, waste_ratio)."""

    name: str
    colour: str
    staircase: pd.DataFrame


def padding_by_batch(
    lists: Sequence[DrawnList], counts: Mapping[int, int], largest: int, shown: Shown, theme: Theme
) -> go.Figure:
    """Lines of padding over the histogram of `counts` (steps by batch size), up to `largest`."""
    figure = go.Figure()
    for drawn in lists:
        _add_sawtooth(figure, drawn, shown)
    batches = [batch for batch in counts if batch <= largest]
    figure.add_bar(
        name="traffic",
        x=batches,
        y=[counts[batch] for batch in batches],
        yaxis="y2",
        marker={"color": theme.host, "line": {"width": 0}},
        hovertemplate="%{x:,} rows ran in %{y:,} steps<extra></extra>",
    )
    styled(figure, theme, _LEFT_HEIGHT_PX)
    unit = "padded rows a step" if shown == "padded_rows" else "padded share of the rows"
    room = _TITLE_PX / _LEFT_HEIGHT_PX
    figure.update_layout(
        bargap=0, dragmode=False, margin={"b": 34, "l": 40}, hovermode="closest", yaxis2={"anchor": "x"}
    )
    figure.update_xaxes(
        range=[0.5, largest + 0.5], anchor="y2", tickvals=_ticks(largest), ticks="outside", fixedrange=True
    )
    figure.update_layout(
        yaxis={"domain": [0.44, 1 - room], "rangemode": "tozero", "nticks": 4, "fixedrange": True},
        yaxis2={"domain": [0, 0.36 - room], "visible": False, "rangemode": "tozero", "fixedrange": True},
    )
    if shown == "waste_ratio":
        figure.update_layout(yaxis={"tickformat": ".0%"})
    for words, top in ((unit, 1.0), ("how often each running batch occurs", 0.36)):
        figure.add_annotation(
            text=words,
            x=0,
            y=top,
            xref="paper",
            yref="paper",
            xanchor="left",
            yanchor="top",
            showarrow=False,
            font={"size": 12, "color": theme.muted},
        )
    return figure


def advisor_curve(report: Report, unit: Unit, chosen_count: int, colours: Mapping[str, str], theme: Theme) -> go.Figure:
    """The curve of `analysis.advice.advice_report` with the chosen number ringed, the elbow marked, lists as points."""
    curve, points = report.table("curve"), report.table("points")
    figure = go.Figure()
    size, unit_word = time_axis(_shown_top(curve, points)) if unit == "ns" else (1.0, "rows")
    figure.add_scatter(
        name="best",
        x=curve["size_count"],
        y=curve["waste"] / size,
        mode="lines",
        line={"color": ADVISED_COLOUR, "width": 2.2},
        customdata=[text(waste, unit) for waste in curve["waste"]],
        hovertemplate="best list of %{x}: %{customdata} a step<extra></extra>",
    )
    styled(figure, theme, _RIGHT_HEIGHT_PX)
    top = _shown_top(curve, points) / size * 1.12
    last = float(max(curve["size_count"].max(), points["size_count"].max() if len(points) else 1)) + 2
    elbow = _add_elbow(figure, int(report.value("elbow_count") or 1), curve, size, theme)
    listed = _add_points(figure, points, size, unit, colours, theme)
    chosen = _add_chosen(figure, curve, chosen_count, size, unit, theme)
    height = _RIGHT_HEIGHT_PX - _TITLE_PX - _BOTTOM_PX
    add_labels(figure, [chosen, *listed, elbow], (last, top), (_RIGHT_WIDTH_PX, height), theme)
    figure.update_layout(dragmode=False, margin={"b": _BOTTOM_PX, "l": 40, "t": _TITLE_PX})
    figure.update_xaxes(range=[0, last], nticks=7, ticks="outside", fixedrange=True)
    figure.update_yaxes(range=[0, top], nticks=5, fixedrange=True)
    figure.add_annotation(
        text=f"padding a step, {unit_word}, by number of sizes",
        x=0,
        y=1,
        xref="paper",
        yref="paper",
        xanchor="left",
        yanchor="bottom",
        showarrow=False,
        font={"size": 12, "color": theme.muted},
    )
    return figure


def _add_sawtooth(figure: go.Figure, drawn: DrawnList, shown: Shown) -> None:
    staircase = drawn.staircase
    hover = [
        f"<b>{drawn.name}</b><br>{batch:,} rows → {bucket:,}: {rows:,} padded, {text(share, 'ratio')}"
        for batch, bucket, rows, share in zip(
            staircase["batch"], staircase["bucket"], staircase["padded_rows"], staircase["waste_ratio"], strict=True
        )
    ]
    figure.add_scatter(
        name=drawn.name,
        x=staircase["batch"],
        y=staircase[shown],
        mode="lines",
        line={"color": drawn.colour, "width": 1.6},
        customdata=hover,
        hovertemplate="%{customdata}<extra></extra>",
    )


def _add_points(
    figure: go.Figure, points: pd.DataFrame, size: float, unit: Unit, colours: Mapping[str, str], theme: Theme
) -> list[PointLabel]:
    """A dot a list; returns their labels."""
    labels = []
    for _, point in points.sort_values("size_count").iterrows():
        label = f"{point['name']} · {_count(point['size_count'])} · {text(point['waste'], unit)}"
        figure.add_scatter(
            name=point["name"],
            x=[point["size_count"]],
            y=[point["waste"] / size],
            mode="markers",
            marker={"color": colours.get(point["name"], theme.muted), "size": 10},
            customdata=[label],
            hovertemplate="%{customdata} a step<extra></extra>",
        )
        labels.append(PointLabel(label, point["size_count"], point["waste"] / size, 46, theme.ink))
    return labels


def _add_chosen(
    figure: go.Figure, curve: pd.DataFrame, chosen_count: int, size: float, unit: Unit, theme: Theme
) -> PointLabel:
    row = curve[curve["size_count"] == chosen_count].iloc[0]
    figure.add_scatter(
        name="chosen",
        x=[chosen_count],
        y=[row["waste"] / size],
        mode="markers",
        marker={"color": theme.background, "size": 12, "line": {"color": ADVISED_COLOUR, "width": 2.5}},
        hoverinfo="skip",
    )
    words = f"best {_count(chosen_count)} · {text(row['waste'], unit)}"
    return PointLabel(words, chosen_count, row["waste"] / size, 24, theme.ink, is_bold=True)


def _add_elbow(figure: go.Figure, elbow_count: int, curve: pd.DataFrame, size: float, theme: Theme) -> PointLabel:
    waste = float(curve[curve["size_count"] == elbow_count]["waste"].iloc[0])
    figure.add_scatter(
        name="elbow",
        x=[elbow_count],
        y=[waste / size],
        mode="markers",
        marker={"color": ADVISED_COLOUR, "size": 8, "symbol": "diamond"},
        hovertemplate=f"the elbow: more than {_count(elbow_count)} pay less and less<extra></extra>",
    )
    return PointLabel(f"elbow at {elbow_count}", elbow_count, waste / size, 42, theme.muted)


def _count(size_count: int) -> str:
    return "1 size" if size_count == 1 else f"{size_count:,} sizes"


def _shown_top(curve: pd.DataFrame, points: pd.DataFrame) -> float:
    """The largest waste worth drawing: every list, and the curve from its elbow's neighbourhood on."""
    from_curve = float(curve["waste"].iloc[min(4, len(curve) - 1)])
    from_points = float(points["waste"].max()) * 1.25 if len(points) else 0.0
    return max(from_curve, from_points, 1e-9)


def _ticks(largest: int) -> list[int]:
    """1 and round batch sizes."""
    step = next(step for step in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2**40) if largest / step <= 9)
    return [1, *(int(tick) for tick in np.arange(step, largest + 1, step) if tick > 1)]
