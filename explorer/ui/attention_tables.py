"""Rows of unequal length three ways, two settings side by side, two machines side by side."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from explorer.analysis.attention import cell_words, ragged_sentence
from explorer.analysis.attention_sides import CallPair, paired_calls, sides_sentence
from explorer.attention_names import BACKEND_LABELS
from explorer.probe_results import PROBE_BACKENDS, CallResult
from explorer.ui import pieces
from explorer.ui.attention_answers import OpenProbe
from explorer.ui.rows import Cell, Line, draw_rows
from explorer.units import exact, text

_WAY_MEANINGS = {
    "padded": "one call, caches as long as the longest row, a boolean mask",
    "one call a row": "keys and values gathered by index, which copies, then one call for each row",
    "square": "one causal square a row, real queries in its last rows, the others thrown away",
}


def draw_ragged(probe: OpenProbe) -> None:
    """Decode and extend of rows of unequal length by every way of calling."""
    table = probe.report.table("ragged")
    if table.empty:
        st.html('<p class="quiet">This probe did not try rows of unequal length.</p>')
        return
    entry = probe.results.ragged[-1]
    lengths = ", ".join(
        f"{new:,} of {total:,}" for new, total in zip(entry.query_lengths, entry.row_lengths, strict=True)
    )
    pieces.part_title("Rows of unequal length, three ways", f"new of all tokens in extend: {lengths}")
    lines = [
        Line(
            (
                Cell(f"{row['phase']}, {row['way']}", _WAY_MEANINGS[row["way"]]),
                Cell(text(row["call_count"], "count")),
                Cell(text(row["time_ns"], "ns"), exact(row["time_ns"], "ns")),
                Cell(text(row["host_call_ns"], "ns")),
                Cell(text(row["copied_bytes"], "bytes")),
                Cell(text(row["redundant_ratio"], "ratio")),
                Cell(text(row["error_ratio"], "ratio")),
                Cell(row["ran"] or "–"),
            )
        )
        for row in table.to_dict("records")
    ]
    head = ("way", "calls", "device", "host", "copied", "pairs not needed", "error", "kernels of")
    draw_rows(head, lines, (2.2, 0.7, 1, 1, 1, 1.2, 0.8, 1.2))
    st.html(f'<p class="answer">{escape(ragged_sentence(probe.results))}</p>')


def draw_two_calls(probe: OpenProbe, result: CallResult) -> None:
    """The chosen setting beside another of the same probe."""
    labels = [other.call.label for other in probe.results.calls if other is not result]
    if not labels:
        return
    picked = st.selectbox("Beside", labels, key="attention_beside", width=420)
    other = probe.result(picked)
    if other is None:
        return
    pair = CallPair(result, other)
    pieces.part_title(f"{result.call.label} → {picked}", "; ".join(pair.differs_in))
    _draw_pair(pair, ("this", "other"))


def draw_two_machines(a: OpenProbe, b: OpenProbe) -> None:
    """Two recordings: where choices and times differ."""
    pieces.part_title(sides_sentence(a.results, b.results), f"A {a.machine} · B {b.machine}")
    pairs = paired_calls(a.results, b.results)
    lines = [
        Line(
            (
                Cell(pair.a.call.label, pair.a.call.sentence),
                Cell(_chosen(pair.a)),
                Cell(_chosen(pair.b)),
                Cell(text(pair.choice_ratio, "times")),
                Cell("; ".join(pair.turned_cells) or "–", "; ".join(pair.turned_cells)),
            )
        )
        for pair in sorted(pairs, key=lambda pair: not pair.choice_changes)
    ]
    draw_rows(("setting", "chosen in A", "chosen in B", "A ÷ B", "runs on one side only"), lines, (2.2, 1, 1, 0.8, 2.4))


def _draw_pair(pair: CallPair, names: Sequence[str]) -> None:
    ratios = {delta.key: delta.ratio for delta in pair.deltas()}
    lines = []
    for backend in PROBE_BACKENDS:
        if pair.a.cell(backend) is None or pair.b.cell(backend) is None:
            continue
        shown = [_pair_cell(result, backend) for result in (pair.a, pair.b)]
        lines.append(Line((Cell(BACKEND_LABELS[backend]), *shown, Cell(text(ratios.get(backend), "times")))))
    draw_rows(("backend", *names, "÷"), lines, (1, 2, 2, 0.7))


def _pair_cell(result: CallResult, backend: str) -> Cell:
    cell = result.cell(backend)
    assert cell is not None
    mark = " (chosen)" if result.chosen == backend else ""
    return Cell(cell_words(cell) + mark, cell.sentence)


def _chosen(result: CallResult) -> str:
    return BACKEND_LABELS.get(result.chosen or "", "–")
