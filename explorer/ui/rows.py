"""How does a table read? Rows of escaped HTML with units and aligned numbers; a row may open to rows below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st


@dataclass(frozen=True)
class Cell:
    """One cell: what is shown, and what the pointer over it says, and where a click leads. Words stand to the left."""

    text: str
    hover: str = ""
    swatch: str = ""
    link: str = ""
    is_words: bool = False


@dataclass(frozen=True)
class Line:
    """One row, and the rows that it opens to."""

    cells: tuple[Cell, ...]
    below: tuple[Line, ...] = ()
    is_total: bool = False


def draw_rows(head: Sequence[str | Cell], lines: Sequence[Line], widths: Sequence[float]) -> None:
    """Draws a table; the first column is left-aligned and gives way, `widths` are the columns' shares."""
    columns = " ".join(f"minmax(0, {width}fr)" for width in widths)
    style = f'style="grid-template-columns:{columns}"'
    header = _row([label if isinstance(label, Cell) else Cell(label) for label in head], style, "row head")
    st.html(f'<div class="rows">{header}{"".join(_line(line, style) for line in lines)}</div>')


def _line(line: Line, style: str) -> str:
    if line.is_total:
        return f'<div class="total">{_row(line.cells, style, "row")}</div>'
    if not line.below:
        return _row(line.cells, style, "row plain")
    below = "".join(_row(inner.cells, style, "row plain") for inner in line.below)
    return f'<details><summary>{_row(line.cells, style, "row")}</summary><div class="nested">{below}</div></details>'


def _row(cells: Sequence[Cell], style: str, kind: str) -> str:
    return f'<div class="{kind}" {style}>{"".join(_cell(cell) for cell in cells)}</div>'


def _cell(cell: Cell) -> str:
    swatch = f'<i class="swatch" style="{escape(cell.swatch)}"></i>' if cell.swatch else ""
    hover = f' title="{escape(cell.hover)}"' if cell.hover else ""
    inside = escape(cell.text)
    if cell.link:
        inside = f'<a href="{escape(cell.link)}" target="_self">{inside}</a>'
    words = ' class="words"' if cell.is_words else ""
    return f"<span{words}{hover}>{swatch}{inside}</span>"
