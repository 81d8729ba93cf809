"""How do lists of sizes, their buckets, modes, padding checks and traps read as tables?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from explorer.report import Column, Report, ReportTable
from explorer.sweep_settings import SweepResults
from explorer.ui import pieces
from explorer.ui.rows import Cell, Line, draw_rows
from explorer.units import exact, text

_LIST_KEYS = (
    *("name", "size_count", "padded_ratio", "worst_waste_ratio", "padding_ns", "padding_of_step_ratio"),
    *("without_graph_ratio", "memory_bytes", "start_up_ns"),
)
_LIST_WIDTHS = (2.2, 0.8, 1.2, 1.2, 1.2, 1.1, 1.6, 1.3, 1.0)


def draw_lists(report: Report, colours: Mapping[str, str]) -> None:
    """One row a list with its colour; columns that are unknown everywhere show a dash."""
    table = _table(report, "lists")
    columns = [_column(table, key) for key in _LIST_KEYS]
    lines = [
        Line(
            tuple(
                Cell(str(row["name"]), swatch=f"background:{colours[row['name']]}")
                if column.key == "name"
                else _cell(row, column)
                for column in columns
            )
        )
        for _, row in table.frame.iterrows()
    ]
    draw_rows([column.label for column in columns], lines, _LIST_WIDTHS)


def draw_buckets(report: Report, name: str) -> None:
    """The sizes of one list: how often each runs and what its padding costs, under its mean and its worst batch."""
    lists = report.table("lists")
    row = lists[lists["name"] == name].iloc[0]
    mean, worst = (text(row[key], "ratio") for key in ("mean_waste_ratio", "worst_waste_ratio"))
    pieces.quiet_line(
        f"Over every batch size from 1 to {row['largest']:,}, {mean} of the rows are padding on average and {worst} at "
        f"a batch of {row['worst_batch']:,}."
    )
    table = _table(report.children[name], "buckets")
    lines = [Line(tuple(_cell(row, column) for column in table.columns)) for _, row in table.frame.iterrows()]
    draw_rows([column.label for column in table.columns], lines, (1, 1, 1, 1, 1, 1, 1.4))


def draw_decisions(report: Report) -> None:
    """vLLM's modes: what each becomes and what three batches run as, with the reasons on hover."""
    frame = report.table("decisions")
    batches = list(dict.fromkeys(frame["batch"]))
    lines = []
    for mode, rows in frame.groupby("mode", sort=False):
        first = rows.iloc[0]
        used = first["resolved"] if first["resolved"] != mode else "as asked"
        cells = [Cell(str(mode)), Cell(used, hover=first["mode_reason"])]
        cells += [Cell(row["runs_as"] or "–", hover=row["reason"] or row["mode_reason"]) for _, row in rows.iterrows()]
        lines.append(Line(tuple(cells)))
    draw_rows(["mode", "used", *batches], lines, (1.5, 1.5, *(1.6 for _ in batches)))
    for reason in dict.fromkeys(reason for reason in frame["mode_reason"] if reason):
        pieces.quiet_line(reason)


def draw_checks(results: SweepResults) -> None:
    """Padded against unpadded steps, batches as they were served, and the traps."""
    if results.padding_checks:
        st.markdown("**Padded steps against unpadded ones**")
        lines = [
            Line(
                (
                    Cell(f"{check.batch:,} rows in {check.size:,}"),
                    Cell(check.kind.lower()),
                    Cell("equal to the bit" if check.is_bit_equal else text(check.logits_error_ratio, "ratio")),
                    Cell("unchanged" if check.other_rows_are_unchanged else "CHANGED"),
                    Cell("yes" if check.follows_inputs else "NO"),
                )
            )
            for check in results.padding_checks
        ]
        draw_rows(["batch", "graph", "logits differ by", "other rows' cache", "follows inputs"], lines, (1,) * 5)
    if results.batches:
        st.markdown("**Batches as they were served**")
        lines = [
            Line(
                (
                    Cell(_batch_words(batch.decode_count, batch.prompt_count)),
                    Cell(batch.kind.lower() if batch.size is None else f"{batch.kind.lower()} of {batch.size:,}"),
                    Cell(text(_median(batch.latencies_ns), "ns")),
                    Cell(batch.reason, hover=batch.reason),
                )
            )
            for batch in results.batches
        ]
        draw_rows(["batch", "ran as", "step", "because"], lines, (1.4, 1, 0.8, 4))


def draw_traps(results: SweepResults) -> None:
    """The three mistakes: what was done, what came of it, and why."""
    for trap in results.traps:
        outcome = f"the replay gave {trap.found:g}, an eager step gives {trap.expected:g}" if trap.error is None else ""
        outcome = outcome or f"{trap.error} ({trap.error_line})"
        caught = "caught" if trap.is_caught else "not caught"
        pieces.box(f"{trap.name[0].upper()}{trap.name[1:]}: {caught}", [f"{trap.done}: {outcome}.", trap.explanation])
    if results.is_alive_after_traps:
        pieces.quiet_line("After all three the worker was alive and computed the next step.")


def _batch_words(decode_count: int, prompt_count: int) -> str:
    return f"decode of {decode_count:,}" + (f" + prompt of {prompt_count:,}" if prompt_count else "")


def _median(latencies: Sequence[int]) -> float | None:
    return float(pd.Series(latencies).median()) if latencies else None


def _table(report: Report, key: str) -> ReportTable:
    return next(table for table in report.tables if table.key == key)


def _column(table: ReportTable, key: str) -> Column:
    return next(column for column in table.columns if column.key == key)


def _cell(row: pd.Series[Any], column: Column) -> Cell:
    value = row[column.key]
    if pd.isna(value):
        return Cell("–", hover="Not measured.")
    return Cell(text(value, column.unit), hover=exact(value, column.unit))
