"""How does a report's table stand on a page as it is? Every column by its unit, the first rows, and how many follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from explorer.report import Column, ReportTable
from explorer.ui import pieces
from explorer.ui.rows import Cell, Line, draw_rows
from explorer.units import UNKNOWN, exact, shortened, text

_LONGEST_TEXT = 60


def draw_table(table: ReportTable, widths: Sequence[float], *, row_limit: int = 12, note: str = "") -> None:
    """The table under its label; `widths` are the shares of its columns."""
    pieces.part_title(table.label, note)
    if table.frame.empty:
        pieces.quiet_line("None.")
        return
    frame = table.frame[[column.key for column in table.columns]].head(row_limit)
    lines = [
        Line(tuple(cell_of(value, column) for value, column in zip(row, table.columns, strict=True)))
        for row in frame.itertuples(index=False)
    ]
    head = [Cell(column.label, is_words=column.unit == "text") for column in table.columns]
    draw_rows(head, lines, widths)
    if len(table.frame) > row_limit:
        pieces.quiet_line(f"… and {len(table.frame) - row_limit:,} more.")


def cell_of(value: Any, column: Column) -> Cell:
    """One value as its column's unit says; a missing one is a dash."""
    is_words = column.unit == "text"
    if pd.isna(value):
        return Cell(UNKNOWN, is_words=is_words)
    if is_words:
        return Cell(shortened(str(value), _LONGEST_TEXT), str(value), is_words=True)
    return Cell(text(value, column.unit), exact(value, column.unit))
