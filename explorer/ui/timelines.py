"""Which stretch of the step do the timelines show? From the step's start, one length for both sides."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.charts.theme import theme_named
from explorer.charts.timeline import timeline
from explorer.ui.figures import draw_figure
from explorer.ui.sides import Side
from explorer.units import text, time_axis

_READABLE_NS = (250_000, 1_000_000)
_LONGEST_DEFAULT_NS = 10_000_000


@st.fragment
def draw_timelines(sides: Sequence[Side], theme_name: str) -> None:
    """Draws the timelines with a choice of how much of the step is shown and where it begins."""
    lengths = {side.letter: side.windows[0].length_ns for side in sides if side.windows}
    if not lengths:
        return
    stretches = _stretches(lengths)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        extent_ns = st.segmented_control(
            "Stretch",
            list(stretches),
            format_func=lambda extent: stretches[extent],
            default=_default(stretches, lengths),
            required=True,
            key="stretch",
            label_visibility="collapsed",
        )
        longest_ns = max(lengths.values())
        start_ns = 0
        if extent_ns < longest_ns:
            start_ns = _draw_start(longest_ns - extent_ns)
    shown = [side.timeline_side(0) for side in sides if side.windows]
    figure = timeline(shown, start_ns, extent_ns, theme_named(theme_name))
    words = " and ".join(f"{side.letter} ({side.title})" for side in shown)
    draw_figure(
        figure, key="timeline", alt=f"Timelines of {words}, {text(extent_ns, 'ns')} of the step.", zoomable=True
    )


def _draw_start(latest_ns: int) -> int:
    """A slider for where in the longer step the stretch begins, in ns after the step's start."""
    unit_ns, unit = time_axis(latest_ns)
    st.html('<span class="source-facts">from</span>', width="content")
    chosen: float = st.slider(
        "Starts at",
        0.0,
        latest_ns / unit_ns,
        0.0,
        step=latest_ns / unit_ns / 200,
        key=f"stretch_start_{latest_ns}",
        format=f"%.2f {unit}",
        label_visibility="collapsed",
        width=260,
    )
    return round(chosen * unit_ns)


def _stretches(lengths: dict[str, int]) -> dict[int, str]:
    """Lengths to choose from: readable ones, then each side's whole step, shortest first."""
    whole = {length: f"{letter}'s step, {text(length, 'ns')}" for letter, length in lengths.items()}
    short = {extent: text(extent, "ns") for extent in _READABLE_NS if extent < min(lengths.values())}
    return dict(sorted((short | whole).items()))


def _default(stretches: dict[int, str], lengths: dict[str, int]) -> int:
    """The shorter step as a whole, unless it is too long to read: then the longest of the short stretches."""
    shortest = min(lengths.values())
    if shortest <= _LONGEST_DEFAULT_NS:
        return shortest
    return max(extent for extent in stretches if extent < shortest)
