"""What does a start consist of, and what did each call of a sequence do? Bars by part, and a strip on a log axis."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import plotly.graph_objects as go

from explorer.charts.theme import Theme, styled
from explorer.units import Number, text, time_axis

PART_COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "build and load": "#8C6D46",
        "import": "#8A8F98",
        "build": "#8C6D46",
        "Dynamo": "#E69F00",
        "AOTAutograd": "#CC79A7",
        "Inductor": "#0072B2",
        "kernels": "#56B4E9",
        "autotune": "#2F4B7C",
        "compiling": "#0072B2",
        "compiling, rest": "#7FB3D5",
        "first call, rest": "#009E73",
        "capture": "#D55E00",
        "warm-up": "#7A3E9D",
    }
)
"""In the order in which they happen: a run builds before it loads the compiler, a variant of an experiment after."""
OUTCOME_COLOURS: Mapping[str, str] = MappingProxyType({"reused": "#009E73", "compiled": "#0072B2", "eager": "#D55E00"})
_SYMBOLS = {"reused": "circle", "compiled": "diamond", "eager": "x"}
_ROW_PX = 34
_STRIP_HEIGHT_PX = 260
_LABEL_COUNT = 32


@dataclass(frozen=True)
class DrawnStart:
    """One bar: its name, and its parts in order, ns."""

    name: str
    parts: Mapping[str, Number]


@dataclass(frozen=True)
class DrawnCall:
    """One mark of the strip: `label` stands under it, `words` is what the hover says of it."""

    index: int
    label: str
    outcome: str
    time_ns: int
    words: str = ""


def start_bars(starts: Sequence[DrawnStart], theme: Theme) -> go.Figure:
    """One bar a start, its parts behind each other in the order in which they happen."""
    figure = go.Figure()
    longest = max((sum(start.parts.values()) for start in starts), default=1)
    size, unit = time_axis(longest)
    names = [start.name for start in starts]
    for part in occurring_parts(starts):
        times = [start.parts.get(part, 0) for start in starts]
        figure.add_bar(
            name=part,
            y=names,
            x=[time / size for time in times],
            orientation="h",
            marker={"color": PART_COLOURS[part], "line": {"width": 0}},
            customdata=[text(time, "ns") for time in times],
            hovertemplate=f"%{{y}}<br>{part}: %{{customdata}}<extra></extra>",
        )
    for start in starts:
        total = sum(start.parts.values())
        figure.add_annotation(
            x=total / size, y=start.name, text=f" {text(total, 'ns')}", showarrow=False, xanchor="left"
        )
    styled(figure, theme, _ROW_PX * len(starts) + 40)
    figure.update_layout(barmode="stack", bargap=0.35, dragmode=False, margin={"l": 8, "b": 32})
    figure.update_xaxes(range=[0, longest / size * 1.14], ticksuffix=f" {unit}", ticks="outside", fixedrange=True)
    figure.update_yaxes(autorange="reversed", automargin=True, fixedrange=True)
    return figure


def occurring_parts(starts: Sequence[DrawnStart]) -> list[str]:
    """The parts that took any time in one of the bars, in the order in which they happen."""
    occurring = {part for start in starts for part, time_ns in start.parts.items() if time_ns}
    return [part for part in PART_COLOURS if part in occurring]


def call_strip(calls: Sequence[DrawnCall], theme: Theme, title: str) -> go.Figure:
    """A mark a call: its time on a logarithmic axis, colour and shape what became of it; `title` says the labels."""
    figure = go.Figure()
    for outcome, colour in OUTCOME_COLOURS.items():
        chosen = [call for call in calls if call.outcome == outcome]
        figure.add_scatter(
            name=outcome,
            x=[call.index + 1 for call in chosen],
            y=[max(call.time_ns, 1) / 1e6 for call in chosen],
            mode="markers",
            marker={"color": colour, "symbol": _SYMBOLS[outcome], "size": 13, "line": {"width": 0}},
            customdata=[[call.index, call.label, text(call.time_ns, "ns"), call.words] for call in chosen],
            hovertemplate="%{customdata[1]}: %{customdata[2]}<br>%{customdata[3]}<extra></extra>",
        )
    labelled = calls[:: max(1, math.ceil(len(calls) / _LABEL_COUNT))]
    styled(figure, theme, _STRIP_HEIGHT_PX)
    figure.update_layout(dragmode=False, margin={"l": 8, "b": 40, "t": 10})
    figure.update_xaxes(
        tickvals=[call.index + 1 for call in labelled],
        ticktext=[call.label for call in labelled],
        title={"text": title},
        fixedrange=True,
    )
    marks_ns = _log_marks([call.time_ns for call in calls])
    ends = math.log10(marks_ns[0] / 1e6), math.log10(marks_ns[-1] / 1e6)
    room = 0.08 * (ends[1] - ends[0])
    figure.update_yaxes(
        type="log",
        range=[ends[0] - room, ends[1] + room],
        tickvals=[mark_ns / 1e6 for mark_ns in marks_ns],
        ticktext=[text(mark_ns, "ns") for mark_ns in marks_ns],
        automargin=True,
        fixedrange=True,
    )
    return figure


def _log_marks(times_ns: Sequence[int]) -> list[int]:
    """Round times, two or more, that enclose the given ones: decades, with 2 and 5 between them where there are few."""
    low, high = max(1, min(times_ns, default=1)), max(1, max(times_ns, default=1))
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 2)
    steps = (1, 2, 5) if len(decades) <= 4 else (1,)
    marks = [step * 10**power for power in decades for step in steps]
    return marks[bisect_right(marks, low) - 1 : max(bisect_left(marks, high), bisect_right(marks, low)) + 1]
