"""Where do the labels of a figure's points stand, so that none covers another? Each on a row of its own.

row 0   .....   best 4 sizes · 1.59 ms      rows are as high as a line of text; the figure's height is fixed, so
row 1   ..SGLang · 36 sizes · 2.1 ms        labels that share no row stay apart at every width of the window
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from explorer.charts.theme import CHARACTER_PX, Theme

ROW_PX = 17
_DOT_PX = 7
_BOLD_RATIO = 1.08
_COVERING_COST_PX = 60


@dataclass(frozen=True)
class PointLabel:
    """The words of a point at `x`, `y` in the axes' units; they would best stand `above_px` above it."""

    words: str
    x: float
    y: float
    above_px: float
    colour: str
    is_bold: bool = False

    @property
    def width_px(self) -> float:
        return len(self.words) * CHARACTER_PX * (_BOLD_RATIO if self.is_bold else 1)


def add_labels(
    figure: go.Figure,
    labels: Sequence[PointLabel],
    ends: tuple[float, float],
    size_px: tuple[float, float],
    theme: Theme,
) -> None:
    """Draws the labels with a line to their points; the first ones have the first choice of a row.

    Both axes begin at 0 and end at `ends`. `size_px` is the drawing's narrowest width and its height, which must have
    a row of 17 px for every label.
    """
    width, height = size_px
    dots = [(label.x / ends[0] * width, (1 - label.y / ends[1]) * height) for label in labels]
    free = [ROW_PX * (row + 0.5) for row in range(int(height // ROW_PX))]
    for label, (x, y) in zip(labels, dots, strict=True):
        shift = _shift_px(label.width_px, x, width)
        left, right = x + shift - label.width_px / 2, x + shift + label.width_px / 2
        row = min(free, key=lambda middle: _cost(middle, y - label.above_px, (left, right), dots))
        free.remove(row)
        figure.add_annotation(
            text=f"<b>{label.words}</b>" if label.is_bold else label.words,
            x=label.x,
            y=label.y,
            ax=shift,
            ay=row - y,
            xanchor="center",
            yanchor="middle",
            arrowhead=0,
            arrowwidth=1,
            arrowcolor=theme.rule,
            font={"size": 12, "color": label.colour},
        )


def _cost(middle: float, wanted: float, ends: tuple[float, float], dots: Sequence[tuple[float, float]]) -> float:
    """How far a row is from where the label would best stand, in pixels; more where it would cover a dot."""
    reach = ROW_PX / 2 + _DOT_PX
    covers = any(abs(y - middle) < reach and ends[0] - _DOT_PX < x < ends[1] + _DOT_PX for x, y in dots)
    return abs(middle - wanted) + (_COVERING_COST_PX if covers else 0)


def _shift_px(width: float, at: float, room: float) -> float:
    """How far a label's middle is from its point: it begins there, as a falling curve is on the left, if it fits."""
    return max(width / 2 - at, min(width / 2 + _DOT_PX, room - at - width / 2))
