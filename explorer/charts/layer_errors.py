"""How does the error grow from layer to layer? A line a run on a logarithmic axis, with what is allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from explorer.charts.theme import Theme, styled
from explorer.units import text

_HEIGHT_PX = 240
_DASHES = {"A": "solid", "B": "dash"}
_SMALLEST, _LARGEST = 1e-9, 10.0
"""An error of nothing, or without end, has no place on a logarithmic axis: it is drawn here."""


@dataclass(frozen=True)
class LayerErrors:
    """One run's errors, a ratio a layer, the limit of its dtype, and the first layer that is off by more."""

    letter: str
    errors: Sequence[float]
    limit: float
    first_diverging: int | None = None


def layer_errors(runs: Sequence[LayerErrors], theme: Theme) -> go.Figure:
    """Lines told apart by dash and letter; a cross where an error stops being rounding; dotted what is allowed."""
    figure = go.Figure()
    for run in runs:
        drawn = [min(max(error, _SMALLEST), _LARGEST) for error in run.errors]
        figure.add_scatter(
            name=run.letter,
            x=list(range(len(drawn))),
            y=drawn,
            mode="lines+markers",
            line={"color": theme.ink, "width": 1.5, "dash": _DASHES.get(run.letter, "dot")},
            marker={
                "size": [11 if at == run.first_diverging else 5 for at in range(len(drawn))],
                "symbol": ["x" if at == run.first_diverging else "circle" for at in range(len(drawn))],
                "color": [theme.warning if at == run.first_diverging else theme.ink for at in range(len(drawn))],
            },
            customdata=[text(error, "ratio") for error in run.errors],
            hovertemplate=f"{run.letter}, layer %{{x}}: %{{customdata}}<extra></extra>",
        )
        if drawn:
            figure.add_annotation(
                x=len(drawn) - 1, y=math.log10(drawn[-1]), text=f" {run.letter}", showarrow=False, xanchor="left"
            )
    for limit in sorted({run.limit for run in runs}):
        line = {"color": theme.muted, "dash": "dot", "width": 1}
        figure.add_hline(y=limit, line=line)
        # An annotation of the line itself would be put at the limit's own value on an axis of logarithms.
        said = {"text": f"{text(limit, 'ratio')} allowed", "font": {"color": theme.muted}, "showarrow": False}
        figure.add_annotation(x=1, xref="paper", xanchor="right", y=math.log10(limit), yanchor="bottom", **said)
    styled(figure, theme, _HEIGHT_PX)
    figure.update_layout(dragmode=False, margin={"l": 8, "r": 24, "b": 36, "t": 16})
    figure.update_xaxes(title={"text": "layer"}, fixedrange=True, tickformat="d")
    marks = _log_marks([min(max(value, _SMALLEST), _LARGEST) for run in runs for value in (*run.errors, run.limit)])
    figure.update_yaxes(
        type="log",
        tickvals=marks,
        ticktext=[text(mark, "ratio") for mark in marks],
        automargin=True,
        fixedrange=True,
    )
    return figure


def _log_marks(ratios: Sequence[float]) -> list[float]:
    """Round ratios around the given ones: decades, with 2 and 5 between them where there are few."""
    low, high = math.floor(math.log10(min(ratios, default=1))), math.ceil(math.log10(max(ratios, default=1)))
    steps = (1, 2, 5) if high - low <= 3 else (1,)
    return [step * 10.0**power for power in range(low, high + 1) for step in steps]
