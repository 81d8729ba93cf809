"""How long are the gaps that the idle time consists of? Idle time by the size of its gaps, coloured by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from explorer.charts.theme import IDLE_PARTS, Theme, key_label, styled
from explorer.units import power_text, text

_BINS_PER_DECADE = 6
_PANEL_PX = 150
_TITLE_PX = 26
_AXIS_PX = 34


@dataclass(frozen=True)
class GapsOfSide:
    """One side's gaps: a frame with length_ns and one column `<part>_ns` for each part of idle time."""

    name: str
    gaps: pd.DataFrame


def gaps_by_size(sides: Sequence[GapsOfSide], theme: Theme) -> go.Figure:
    """A panel a side on one logarithmic axis of gap length; heights are idle time, each side on its own scale."""
    edges = _edges(sides)
    figure = go.Figure()
    height = len(sides) * (_PANEL_PX + _TITLE_PX) + _AXIS_PX
    for index, side in enumerate(sides):
        axis = "" if index == 0 else str(index + 1)
        top = height - index * (_PANEL_PX + _TITLE_PX) - _TITLE_PX
        figure.update_layout(
            {
                f"yaxis{axis}": {
                    "domain": [
                        (top - _PANEL_PX - _AXIS_PX) / (height - _AXIS_PX),
                        (top - _AXIS_PX) / (height - _AXIS_PX),
                    ]
                }
            }
        )
        _add_side(figure, side, edges, f"y{axis}", theme)
        figure.add_annotation(
            text=f"<b>{side.name}</b>  {_title(side)}",
            x=0,
            xanchor="left",
            xref="paper",
            y=(top - _AXIS_PX) / (height - _AXIS_PX),
            yref="paper",
            yanchor="bottom",
            showarrow=False,
            font={"size": 13},
        )
    styled(figure, theme, height)
    figure.update_layout(barmode="stack", bargap=0, dragmode=False, margin={"b": _AXIS_PX})
    decades = np.arange(np.floor(np.log10(edges[0])), np.ceil(np.log10(edges[-1])) + 1)
    figure.update_xaxes(
        range=[np.log10(edges[0]), np.log10(edges[-1])],
        tickvals=decades.tolist(),
        ticktext=[power_text(10.0**decade, "ns") for decade in decades],
        ticks="outside",
        fixedrange=True,
    )
    figure.update_xaxes(anchor=f"y{len(sides)}" if len(sides) > 1 else "y")
    figure.update_yaxes(visible=False, rangemode="tozero", fixedrange=True)
    return figure


def _title(side: GapsOfSide) -> str:
    if side.gaps.empty:
        return "no gaps"
    lengths = side.gaps["length_ns"]
    return (
        f"{len(lengths):,} gaps, {text(lengths.sum(), 'ns')} altogether, "
        f"half of them under {text(float(lengths.median()), 'ns')}"
    )


def _edges(sides: Sequence[GapsOfSide]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Bin edges in ns that hold every gap of both sides, equally wide on a logarithmic axis."""
    lengths = np.concatenate([side.gaps["length_ns"].to_numpy(dtype=np.float64) for side in sides])
    lengths = lengths[lengths > 0]
    low, high = (lengths.min(), lengths.max()) if len(lengths) else (1e3, 1e6)
    first = np.floor(np.log10(low) * _BINS_PER_DECADE)
    last = np.floor(np.log10(high) * _BINS_PER_DECADE) + 1
    edges: np.ndarray[tuple[int], np.dtype[np.float64]] = 10.0 ** (np.arange(first, last + 1) / _BINS_PER_DECADE)
    return edges


def _add_side(
    figure: go.Figure, side: GapsOfSide, edges: np.ndarray[tuple[int], np.dtype[np.float64]], axis: str, theme: Theme
) -> None:
    bins = np.clip(np.searchsorted(edges, side.gaps["length_ns"].to_numpy(), side="right") - 1, 0, len(edges) - 2)
    centres = np.log10(edges[:-1]) + np.diff(np.log10(edges)) / 2
    counts = np.bincount(bins, minlength=len(edges) - 1)
    for part in IDLE_PARTS:
        total = np.bincount(bins, side.gaps[f"{part}_ns"].to_numpy(dtype=np.float64), minlength=len(edges) - 1)
        if not total.any():
            continue
        used = np.flatnonzero(total)
        hover = [
            f"<b>{side.name} · {key_label(part)}</b><br>{text(value, 'ns')} in {count:,} gaps of "
            f"{text(low, 'ns')} to {text(high, 'ns')}"
            for value, count, low, high in zip(total[used], counts[used], edges[used], edges[used + 1], strict=True)
        ]
        figure.add_bar(
            name=part,
            x=centres[used].tolist(),
            y=total[used].tolist(),
            width=float(np.diff(np.log10(edges))[0] * 0.94),
            yaxis=axis,
            marker={"color": theme.colour(part), **theme.edge(part)},
            customdata=hover,
            hovertemplate="%{customdata}<extra></extra>",
        )
