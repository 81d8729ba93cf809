"""How far can the figures of a page be trusted? What was linked, found and repaired, folded below."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.ui import pieces
from explorer.ui.answers import trust_of
from explorer.ui.rows import Cell, Line, draw_rows
from explorer.ui.sides import Side
from explorer.ui.sources import Source
from explorer.units import exact, text


def draw_trust(sides: Sequence[Side]) -> None:
    """The trust card of each side, one column a side."""
    with st.expander("How far can these figures be trusted?", key="trust"):
        for column, side in zip(st.columns(len(sides), gap="large"), sides, strict=True):
            with column:
                draw_trust_card(f"{side.letter} · {side.source.title}", side.source)


def draw_trust_card(title: str, source: Source) -> None:
    """One source's card under that title: every entry, which verdicts it blocks, and what reading repaired."""
    report = trust_of(source)
    pieces.part_title(title, report.window)
    lines = [
        Line(
            (Cell(metric.label, metric.reason), Cell(text(metric.value, metric.unit), exact(metric.value, metric.unit)))
        )
        for metric in report.metrics
    ]
    draw_rows(("what", "found"), lines, (3, 1))
    for row in report.table("blocks").to_dict("records"):
        pieces.quiet_line(f"Because of “{row['entry']}”, not to be trusted: {row['blocks']}.")
    for note in report.notes:
        pieces.quiet_line(note)
