"""Which kernels took how long in A and in B? One row a family that opens to the kernels' names."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from explorer.charts.theme import Theme, key_label
from explorer.trace import FAMILIES
from explorer.ui.rows import Cell, Line, draw_rows
from explorer.ui.sides import Side
from explorer.units import Number, exact, shortened, text

_NAMES_A_FAMILY = 40
_COLUMNS = ("count", "time", "share", "mean")


def draw_kernel_table(sides: Sequence[Side], theme: Theme) -> None:
    """Draws the table, a step on average; names that only one side has show a dash on the other."""
    two = len(sides) == 2
    head = [
        "family",
        *(f"{side.letter} {column}" if column == "count" else column for side in sides for column in _COLUMNS),
    ]
    lines = [line for family in FAMILIES if (line := _family_line(family, sides, theme)) is not None]
    lines.append(_total_line(sides))
    draw_rows(
        [*head, "change"] if two else head,
        lines,
        (2.6, *(1.0 for _ in sides for _ in _COLUMNS), *((1.1,) if two else ())),
    )


def _family_line(family: str, sides: Sequence[Side], theme: Theme) -> Line | None:
    rows = [_row(side.kernels.table("families"), "family", family) for side in sides]
    if all(row is None for row in rows):
        return None
    tables = [_of_family(side, family) for side in sides]
    names = pd.concat(tables).groupby("name", sort=False)["per_step_ns"].sum().sort_values(ascending=False)
    below = [_name_line(str(name), tables) for name in names.index[:_NAMES_A_FAMILY]]
    if len(names) > _NAMES_A_FAMILY:
        below.append(Line((Cell(f"and {len(names) - _NAMES_A_FAMILY:,} more"),)))
    first = Cell(key_label(family), swatch=theme.swatch(family))
    return Line((first, *_cells(rows)), tuple(below))


def _name_line(name: str, tables: Sequence[pd.DataFrame]) -> Line:
    return Line((Cell(shortened(name, 44), name), *_cells([_row(table, "name", name) for table in tables])))


def _total_line(sides: Sequence[Side]) -> Line:
    cells: list[Cell] = [Cell("all")]
    totals = []
    for side in sides:
        families = side.kernels.table("families")
        count, time = float(families["count_per_step"].sum()), float(families["per_step_ns"].sum())
        totals.append(time)
        mean = time / count if count else None
        cells += [Cell(text(count, "count")), _time(time), Cell(text(1.0, "ratio")), _time(mean)]
    if len(totals) == 2:
        cells.append(_change(totals[0], totals[1]))
    return Line(tuple(cells), is_total=True)


def _cells(rows: Sequence[pd.Series | None]) -> list[Cell]:
    cells: list[Cell] = []
    for row in rows:
        if row is None:
            cells += [Cell("–", "did not run")] * len(_COLUMNS)
            continue
        cells += [
            Cell(text(row["count_per_step"], "count")),
            _time(row["per_step_ns"]),
            Cell(text(row["share_ratio"], "ratio")),
            Cell(text(row["mean_ns"], "ns"), f"{text(row['min_ns'], 'ns')} to {text(row['max_ns'], 'ns')}"),
        ]
    if len(rows) == 2:
        cells.append(_change(*(0.0 if row is None else float(row["per_step_ns"]) for row in rows)))
    return cells


def _time(value: Number | None) -> Cell:
    return Cell(text(value, "ns"), exact(value, "ns"))


def _change(a: float, b: float) -> Cell:
    if a == b:
        return Cell("same")
    arrow, word = ("↓", "less") if b < a else ("↑", "more")
    return Cell(f"{arrow} {text(abs(b - a), 'ns')}", f"B takes {text(abs(b - a), 'ns')} {word}")


def _of_family(side: Side, family: str) -> pd.DataFrame:
    names = side.kernels.table("kernels")
    return names[names["family"] == family]


def _row(table: pd.DataFrame, column: str, wanted: str) -> pd.Series | None:
    found = table[table[column].astype(str) == wanted]
    return None if found.empty else found.iloc[0]
