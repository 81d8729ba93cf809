"""Who is behind the idle time? Operators and host calls by the time behind them, and the longest gaps."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from explorer.charts.theme import IDLE_PARTS, key_label
from explorer.ui import pieces
from explorer.ui.rows import Cell, Line, draw_rows
from explorer.ui.selection import LETTERS
from explorer.ui.sides import Side
from explorer.units import exact, shortened, text

_ROW_LIMIT = 12


def draw_blame(side: Side) -> None:
    """What drained the device first, then the operators whose launches came late."""
    calls, operators = side.gaps.table("calls"), side.gaps.table("operators")
    left, right = st.columns(2, gap="large")
    with left:
        pieces.part_title(
            "Operators behind late launches",
            "idle time over all steps" if side.has_steps else "idle time over the whole trace",
        )
        _draw_operators(operators, _none_late(side))
    with right:
        pieces.part_title("Blocking calls that drained the device", "idle time after them")
        _draw_calls(calls, _none_drained(side))


def draw_longest(side: Side) -> None:
    """The longest gaps, each with its largest part and what ended it."""
    pieces.part_title("The longest gaps", "a name leads to its place in the timeline")
    frame = side.gaps.table("longest").head(_ROW_LIMIT)
    origin_ns = side.windows[0].start_ns if side.windows else 0
    lines = [
        Line(
            (
                Cell(shortened(str(gap["work"]), 56), str(gap["work"]), link=_timeline_link(gap, origin_ns)),
                Cell(_largest_part(gap), is_words=True),
                Cell(shortened(_or_dash(gap["operator"]), 32), _or_dash(gap["operator"]), is_words=True),
                Cell(text(gap["start_ns"] - origin_ns, "ns"), exact(gap["start_ns"] - origin_ns, "ns")),
                Cell(text(gap["length_ns"], "ns"), exact(gap["length_ns"], "ns")),
            )
        )
        for gap in frame.to_dict("records")
    ]
    words = [Cell(head, is_words=True) for head in ("mostly", "operator")]
    draw_rows(
        ("ended by", *words, "from the first step's start" if side.has_steps else "from the first work", "length"),
        lines,
        (4, 2, 2.4, 2, 1),
    )


def _timeline_link(gap: dict[Hashable, Any], origin_ns: int) -> str:
    """The address of the timeline with the gap in the middle third of its view."""
    start_ns, end_ns = gap["start_ns"] - origin_ns, gap["end_ns"] - origin_ns
    around_ns = end_ns - start_ns
    runs = {letter: st.query_params.get(letter, st.session_state.get(f"chosen_{letter}")) for letter in LETTERS}
    named = {letter: run for letter, run in runs.items() if run}
    return f"timeline?{urlencode({**named, 'step': 0, 'view': f'{start_ns - around_ns}~{end_ns + around_ns}'})}"


def _none_late(side: Side) -> str:
    """What stands where no operator is behind a late launch."""
    unattributed_ns = side.gaps.value("unattributed_ns")
    if side.is_waiting_unknown:
        return f"Nobody can tell: {text(unattributed_ns, 'ns')} of idle time are unattributed, no launch being known."
    if unattributed_ns:
        return f"No known launch came late; {text(unattributed_ns, 'ns')} of idle time are unattributed."
    return "No launch came late."


def _none_drained(side: Side) -> str:
    """What stands where no blocking call is known to have drained the device."""
    if side.is_waiting_unknown:
        return "Nobody can tell: no launch is known, and so none that followed a blocking call."
    return "No synchronisation drained the device."


def _draw_operators(frame: pd.DataFrame, without: str) -> None:
    if frame.empty:
        pieces.quiet_line(without)
        return
    lines = [
        Line(
            (
                Cell(shortened(str(row["operator"]), 40), str(row["operator"])),
                Cell(text(row["gap_count"], "count")),
                Cell(text(row["late_host_ns"], "ns"), exact(row["late_host_ns"], "ns")),
            )
        )
        for row in frame.head(_ROW_LIMIT).to_dict("records")
    ]
    draw_rows(("operator", "gaps", "late host"), lines, (3, 1, 1.2))


def _draw_calls(frame: pd.DataFrame, without: str) -> None:
    if frame.empty:
        pieces.quiet_line(without)
        return
    lines = [
        Line(
            (
                Cell(shortened(f"{row['call']} in {row['operator']}", 44), f"{row['call']} in {row['operator']}"),
                Cell(text(row["gap_count"], "count")),
                Cell(text(row["after_sync_ns"], "ns"), exact(row["after_sync_ns"], "ns")),
            )
        )
        for row in frame.head(_ROW_LIMIT).to_dict("records")
    ]
    draw_rows(("call", "gaps", "idle after it"), lines, (3, 1, 1.2))


def _largest_part(gap: dict[Hashable, Any]) -> str:
    parts = {part: gap[f"{part}_ns"] for part in IDLE_PARTS}
    return key_label(max(parts, key=lambda part: parts[part]))


def _or_dash(name: object) -> str:
    return str(name) if isinstance(name, str) else "–"
