"""Who sees whom? Small pictures of queries (rows) and keys (columns), a filled square where the query sees the key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from explorer.charts.theme import FAMILY_COLOURS, Theme, styled

_CELL_PX = 15
_LARGEST_PX = 330
_SMALLEST_PX = 12
_GAP = 0.12
"""Share of a square that stays free around it."""


@dataclass(frozen=True)
class MaskPicture:
    """`visible` is queries × keys; `is_kept` False marks queries whose output is thrown away."""

    visible: npt.NDArray[np.bool_]
    is_kept: npt.NDArray[np.bool_]


def mask_figure(picture: MaskPicture, theme: Theme) -> go.Figure:
    """One picture: 0 hidden, 1 seen in vain (the query is thrown away), 2 seen; hover names query and key."""
    queries, keys = picture.visible.shape
    kept = np.broadcast_to(picture.is_kept[:, None], picture.visible.shape)
    state = np.where(picture.visible, np.where(kept, 2, 1), 0)
    seen = FAMILY_COLOURS["matmul"]
    colours = [[0, theme.rule], [0.34, theme.rule], [0.34, theme.hatch], [0.67, theme.hatch], [0.67, seen], [1, seen]]
    figure = go.Figure(
        go.Heatmap(
            z=state,
            zmin=0,
            zmax=2,
            colorscale=colours,
            showscale=False,
            xgap=_gap_px(keys, queries),
            ygap=_gap_px(keys, queries),
            customdata=_words(state),
            hovertemplate="query %{y} %{customdata} key %{x}<extra></extra>",
        )
    )
    size = _cell_px(keys, queries)
    styled(figure, theme, max(_SMALLEST_PX, size * queries))
    figure.update_xaxes(visible=False, fixedrange=True, range=[-0.5, max(keys, _LARGEST_PX / size) - 0.5])
    figure.update_yaxes(visible=False, fixedrange=True, range=[queries - 0.5, -0.5])
    return figure


def _words(state: npt.NDArray[np.int64]) -> list[list[str]]:
    words = ("does not see", "sees, and is thrown away, ", "sees")
    return [[words[value] for value in row] for row in state.tolist()]


def _cell_px(keys: int, queries: int) -> int:
    return max(2, min(_CELL_PX, _LARGEST_PX // max(keys, queries)))


def _gap_px(keys: int, queries: int) -> int:
    return 0 if _cell_px(keys, queries) < 5 else max(1, round(_cell_px(keys, queries) * _GAP))


def picture_of(visible: npt.NDArray[np.bool_], is_kept: Sequence[bool] | npt.NDArray[np.bool_]) -> MaskPicture:
    """A picture from queries × keys, and which queries are kept."""
    return MaskPicture(visible, np.asarray(is_kept, np.bool_))
