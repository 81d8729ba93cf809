"""What ran when? Two runs' timelines, stacked on one time axis that starts with the step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go
import pyarrow as pa

from explorer.charts.bars import ASSUMED_WIDTH_PX
from explorer.charts.lanes import Rectangles, Stretch, call_row, gap_row, operator_rows, work_rows
from explorer.charts.theme import CHARACTER_PX, FAMILY_COLOURS, IDLE_PARTS, Theme, styled
from explorer.trace import Trace
from explorer.units import shortened, text, time_axis

_HEIGHTS_PX = {"work": 32, "operator": 11, "call": 9}
_SPACE_PX = {"work": 6, "operator": 1, "call": 7}
_BEFORE_CALLS_PX = 4
_FUSED_HATCH = "rgba(255,255,255,0.55)"
_TITLE_PX = 26
_LABEL_WIDTH_PX = 96
_AXIS_PX = 30


@dataclass(frozen=True)
class Side:
    """One run to draw: its step begins at `step_start_ns`, `gaps` are its idle gaps (see lanes.gap_row),
    `work` what ran (see lanes.work_rows).
    """

    letter: str
    title: str
    trace: Trace
    step_start_ns: int
    step_end_ns: int
    gaps: pd.DataFrame
    work: pa.Table

    def stretch(self, start_ns: int, extent_ns: int) -> Stretch:
        """From `start_ns` after the step's start, `extent_ns` long."""
        begin = self.step_start_ns + start_ns
        return Stretch(begin, begin + extent_ns, self.step_start_ns)


def timeline(sides: Sequence[Side], start_ns: int, extent_ns: int, theme: Theme) -> go.Figure:
    """The sides' rows under each other; the axis counts from each side's own step start."""
    unit_ns, unit = time_axis(extent_ns)
    figure = go.Figure()
    placed = [(side, _rows(side, side.stretch(start_ns, extent_ns))) for side in sides]
    height = sum(_side_height(rows) for _, rows in placed) + _AXIS_PX
    top = float(height)
    for side, rows in placed:
        _add_title(figure, side, start_ns, extent_ns, top, theme)
        top -= _TITLE_PX
        for row_group in rows:
            kind = row_group[-1].kind
            top -= _BEFORE_CALLS_PX if kind == "call" else 0
            top -= _HEIGHTS_PX[kind]
            for rectangles in row_group:
                _add_rectangles(figure, rectangles, side, top + _HEIGHTS_PX[kind] / 2, unit_ns, extent_ns, theme)
            _add_row_label(figure, row_group[-1].title, top + _HEIGHTS_PX[kind] / 2, theme)
            top -= _SPACE_PX[kind]
    styled(figure, theme, height)
    figure.update_layout(barmode="overlay", bargap=0, dragmode="zoom", margin={"l": _LABEL_WIDTH_PX, "b": _AXIS_PX})
    figure.update_xaxes(
        range=[start_ns / unit_ns, (start_ns + extent_ns) / unit_ns],
        ticksuffix=f" {unit}",
        nticks=9,
        ticks="outside",
        ticklen=4,
        showline=True,
        showticksuffix="all",
    )
    figure.update_yaxes(visible=False, range=[_AXIS_PX, height], fixedrange=True)
    return figure


def _rows(side: Side, stretch: Stretch) -> list[list[Rectangles]]:
    """What shares one line: the busiest stream has the gaps between its pieces, all else stands alone."""
    rows: list[list[Rectangles]] = [[row] for row in work_rows(side.trace, side.work, stretch)]
    gaps = gap_row(side.gaps, stretch)
    if not rows and len(gaps.frame):  # a stretch that is one long gap
        rows = [[Rectangles("work", "GPU", gaps.frame.iloc[:0])]]
    if rows:
        rows[0].insert(0, gaps)
    rows += [[row] for row in operator_rows(side.trace, stretch)]
    calls = call_row(side.trace, stretch)
    return [*rows, [calls]] if calls is not None else rows


def _side_height(rows: Sequence[Sequence[Rectangles]]) -> int:
    return _TITLE_PX + _BEFORE_CALLS_PX + sum(_HEIGHTS_PX[row[-1].kind] + _SPACE_PX[row[-1].kind] for row in rows) + 4


def _add_rectangles(
    figure: go.Figure,
    rectangles: Rectangles,
    side: Side,
    centre: float,
    unit_ns: float,
    extent_ns: int,
    theme: Theme,
) -> None:
    frame = rectangles.frame
    if frame.empty:
        return
    lengths = frame["end_ns"] - frame["start_ns"]
    fills = [_fill(key, theme) for key in frame["key"]]
    full_px = _HEIGHTS_PX["work" if rectangles.kind == "gap" else rectangles.kind]
    # A block of work stands as high as the GPU was busy in it, so that the idle time behind it shows.
    heights = [full_px * max(share, 0.1) if rectangles.kind == "work" else full_px for share in frame["share"]]
    figure.add_bar(
        name=f"{side.letter} {rectangles.kind}",
        orientation="h",
        base=((frame["start_ns"] - side.step_start_ns) / unit_ns).tolist(),
        x=(lengths / unit_ns).tolist(),
        y=[centre - (full_px - height) / 2 for height in heights],
        width=heights,
        marker={"color": fills, **_edges(frame, theme)},
        text=_labels(rectangles, lengths.tolist(), extent_ns),
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        constraintext="none",
        textfont={"size": 11, "color": [theme.ink_on(fill) for fill in fills]},
        customdata=frame["hover"].tolist(),
        hovertemplate="%{customdata}<extra></extra>",
    )


def _labels(rectangles: Rectangles, lengths_ns: Sequence[int], extent_ns: int) -> list[str]:
    """The text inside each rectangle that has room for one; operators and calls are too low for text."""
    if rectangles.kind not in ("work", "gap"):
        return [""] * len(lengths_ns)
    width_px = ASSUMED_WIDTH_PX - _LABEL_WIDTH_PX
    labels = []
    for label, length_ns in zip(rectangles.frame["label"], lengths_ns, strict=True):
        room = int((length_ns / extent_ns * width_px - 8) / CHARACTER_PX)
        if rectangles.kind == "gap":
            labels.append(label if len(label) <= room else "")
        else:
            labels.append(shortened(label, room) if room >= 14 else "")
    return labels


def _fill(key: str, theme: Theme) -> str:
    if key in FAMILY_COLOURS or key in IDLE_PARTS:
        return theme.colour(key)
    return theme.host_deep if key == "host_deep" else theme.host


def _edges(frame: pd.DataFrame, theme: Theme) -> dict[str, object]:
    """Bars by outline and hatching, as `Theme.edge` draws them one by one; fused kernels are hatched in white."""
    outlined = [key == "host_sync" for key in frame["key"]]
    unattributed = [key == "unattributed" for key in frame["key"]]
    hatched = ["/" if any(either) else "" for either in zip(frame["is_fused"], unattributed, strict=True)]
    edges: dict[str, object] = {
        "line": {"width": [1.2 if is_outlined else 0 for is_outlined in outlined], "color": theme.idle["allocator"]}
    }
    if any(hatched):
        colours = [theme.hatch if is_unattributed else _FUSED_HATCH for is_unattributed in unattributed]
        edges["pattern"] = {"shape": hatched, "fgcolor": colours, "size": 6, "solidity": 0.12, "fillmode": "overlay"}
    return edges


def _add_title(figure: go.Figure, side: Side, start_ns: int, extent_ns: int, top: float, theme: Theme) -> None:
    step_ns = side.step_end_ns - side.step_start_ns
    shown_ns = max(0, min(step_ns - start_ns, extent_ns))
    common = {"showarrow": False, "y": top - _TITLE_PX + 5, "yanchor": "bottom", "yref": "y", "xref": "paper"}
    figure.add_annotation(
        text=f"<b>{side.letter}</b>  {shortened(side.title, 70)}",
        x=0,
        xshift=-_LABEL_WIDTH_PX,
        xanchor="left",
        **common,
        font={"size": 13},
    )
    figure.add_annotation(
        text=f"{text(shown_ns, 'ns')} of {text(step_ns, 'ns')}",
        x=1,
        xanchor="right",
        **common,
        font={"size": 12, "color": theme.muted},
    )


def _add_row_label(figure: go.Figure, label: str, centre: float, theme: Theme) -> None:
    if label:
        figure.add_annotation(
            text=label,
            x=0,
            xshift=-8,
            xanchor="right",
            xref="paper",
            y=centre,
            yref="y",
            yanchor="middle",
            showarrow=False,
            font={"size": 11, "color": theme.muted},
        )
