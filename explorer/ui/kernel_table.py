"""Which kernels took how long in A and in B? One row a family that opens to the kernels' names."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from explorer.charts.theme import Theme, key_label
from explorer.trace import FAMILIES
from explorer.ui.rows import Cell, Line, draw_rows
from explorer.ui.sides import Side
from explorer.units import Number, exact, shortened, text

_NAMES_A_FAMILY = 40
_COLUMNS = ("count", "time", "share", "mean")
_Row = Mapping[Hashable, Any]


@dataclass(frozen=True)
class _Rows:
    """One side's rows: by family, and by name in each family."""

    families: Mapping[str, _Row]
    names: Mapping[str, Mapping[str, _Row]]


def draw_kernel_table(sides: Sequence[Side], theme: Theme) -> None:
    """Draws the table, a step on average; names that only one side has show a dash on the other."""
    two = len(sides) == 2
    head = [
        "family",
        *(f"{side.letter} {column}" if column == "count" else column for side in sides for column in _COLUMNS),
    ]
    tables = [_read(side) for side in sides]
    lines = [
        _family_line(family, tables, theme) for family in FAMILIES if any(family in each.families for each in tables)
    ]
    lines.append(_total_line(sides))
    draw_rows(
        [*head, "change"] if two else head,
        lines,
        (2.6, *(1.0 for _ in sides for _ in _COLUMNS), *((1.1,) if two else ())),
    )


def _read(side: Side) -> _Rows:
    families = {str(row["family"]): row for row in side.kernels.table("families").to_dict("records")}
    names: dict[str, dict[str, _Row]] = {family: {} for family in families}
    for row in side.kernels.table("kernels").to_dict("records"):
        names[str(row["family"])][str(row["name"])] = row
    return _Rows(families, names)


def _family_line(family: str, tables: Sequence[_Rows], theme: Theme) -> Line:
    named = [table.names.get(family, {}) for table in tables]
    times: dict[str, float] = {}
    for rows_of_side in named:
        for name, row in rows_of_side.items():
            times[name] = times.get(name, 0.0) + row["per_step_ns"]
    names = sorted(times, key=lambda name: -times[name])
    below = [_name_line(name, named) for name in names[:_NAMES_A_FAMILY]]
    if len(names) > _NAMES_A_FAMILY:
        below.append(Line((Cell(f"and {len(names) - _NAMES_A_FAMILY:,} more"),)))
    first = Cell(key_label(family), swatch=theme.swatch(family))
    return Line((first, *_cells([table.families.get(family) for table in tables])), tuple(below))


def _name_line(name: str, named: Sequence[Mapping[str, _Row]]) -> Line:
    return Line((Cell(shortened(name, 44), name), *_cells([rows.get(name) for rows in named])))


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


def _cells(rows: Sequence[_Row | None]) -> list[Cell]:
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
