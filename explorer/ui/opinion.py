"""What does torch-tb-profiler say of a trace, beside our figures? Asked on a button, in a worker process."""

from __future__ import annotations

from html import escape

import pandas as pd
import streamlit as st

from explorer.ingest.tb_profiler import KNOWN_ERRORS
from explorer.report import Report
from explorer.ui import pieces
from explorer.ui.contents_answers import ask_opinion, compared, forget_opinion, opinion_task
from explorer.ui.report_tables import draw_table
from explorer.ui.rows import Cell, Line, draw_rows
from explorer.ui.sources import Source
from explorer.units import UNKNOWN, exact, text

_EVERY_S = 1.0
_WIDTHS = {"split": (3, 1, 1), "devices": (0.6, 0.9, 1.7, 1.4)}


def draw_opinion(source: Source) -> None:
    """The button, then how long it has been asked for, then both tools' figures."""
    pieces.part_title("A second opinion", "torch-tb-profiler, the parser behind TensorBoard's profiler plugin")
    task = opinion_task(source)
    if task is None:
        st.button("Ask torch-tb-profiler", key="ask_opinion", on_click=ask_opinion, args=(source,))
        pieces.quiet_line(
            "It runs in a process of its own, takes about 40 s and 2 GB a million events, and fails on some traces."
        )
    elif task.state == "running":
        st.fragment(_draw_waiting, run_every=_EVERY_S)(source)
    else:
        _draw_answer(source, task.result())


def _draw_waiting(source: Source) -> None:
    task = opinion_task(source)
    if task is None or task.state != "running":
        st.rerun()
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.html(f'<span class="quiet">Asking since {text(int(task.elapsed_s) * 10**9, "ns")} …</span>', width="content")
        if st.button("Cancel", key="cancel_opinion", on_click=forget_opinion, args=(source,)):
            st.rerun()


def _draw_answer(source: Source, opinion: Report) -> None:
    if opinion.tables:
        _draw_figures(compared(source, opinion))
        left, right = st.columns(2, gap="large")
        tables = {table.key: table for table in opinion.tables}
        with left:
            draw_table(tables["split"], _WIDTHS["split"], note="by its own rules")
        with right:
            draw_table(tables["devices"], _WIDTHS["devices"])
            advice = [note for note in opinion.notes if note not in KNOWN_ERRORS]
            _draw_sentences("Its recommendations, in its words", advice or ["None."])
        with st.expander("Its operators and kernels", key="opinion_tables"):
            draw_table(tables["operators"], (3, 0.7, 1, 1, 1.4, 1.2))
            draw_table(tables["kernels"], (4, 0.7, 1, 1, 1, 1.2))
    else:
        pieces.box("torch-tb-profiler gave no answer", [opinion.notes[0]], loud=True)
    _draw_sentences("What it is known to get wrong", KNOWN_ERRORS)
    st.button("Ask again", key="forget_opinion", type="tertiary", on_click=forget_opinion, args=(source,))


def _draw_figures(both: Report) -> None:
    lines = [
        Line(
            (
                Cell(row["figure"]),
                _figure(row["theirs"], row["unit"]),
                _figure(row["ours"], row["unit"]),
                Cell(row["why"], is_words=True),
            )
        )
        for row in both.table("figures").to_dict("records")
    ]
    head = ("figure", "torch-tb-profiler", "here", Cell("why they differ", is_words=True))
    draw_rows(head, lines, (1.4, 0.9, 0.6, 3.6))
    pieces.quiet_line(f"Here: {both.window}.")


def _figure(value: float, unit: str) -> Cell:
    return Cell(UNKNOWN) if pd.isna(value) else Cell(text(value, unit), exact(value, unit))  # type: ignore[arg-type]


def _draw_sentences(title: str, sentences: list[str] | tuple[str, ...]) -> None:
    inside = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    st.html(f'<div class="kernel-names"><b>{escape(title)}</b><ul style="font:inherit">{inside}</ul></div>')
