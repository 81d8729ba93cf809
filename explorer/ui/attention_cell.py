"""What is behind one cell of the matrix: reason, kernels, cost, and what would make the backend possible?"""

from __future__ import annotations

from html import escape

import streamlit as st

from explorer.analysis.attention import enabling_sentence, flips, nearest_accepted, turned
from explorer.analysis.attention_choice import SDPA_BACKENDS, rates_of
from explorer.attention_call import difference
from explorer.attention_names import BACKEND_LABELS
from explorer.probe_results import CallResult, Cell, Change
from explorer.ui import pieces
from explorer.ui.attention_answers import OpenProbe
from explorer.ui.rows import Cell as TableCell
from explorer.ui.rows import Line, draw_rows
from explorer.units import shortened, text

_OUTCOME_WORDS = {"refused": "refuses", "failed": "fails", "not_tried": "was not tried"}
_FIELD_LABELS = {
    "dtype": "number format",
    "head_size": "head size",
    "kv_head_count": "KV heads",
    "query_tokens": "queries",
    "is_causal": "is_causal",
    "mask": "mask",
    "dropout_ratio": "dropout",
    "layout": "layout",
}


def draw_cell(probe: OpenProbe, result: CallResult, cell: Cell) -> None:
    """The cell's facts at the left, what could be changed at the right."""
    left, right = st.columns((1.15, 1), gap="large")
    with left:
        state = text(cell.time_ns, "ns") if cell.outcome == "ran" else _OUTCOME_WORDS[cell.outcome]
        pieces.part_title(f"{BACKEND_LABELS[cell.backend]} {state}", result.call.label)
        pieces.quiet_line(result.call.sentence)
        if cell.outcome == "ran":
            _draw_costs(probe, result, cell)
        else:
            pieces.box(_capital(cell.reason), [cell.sentence or "PyTorch gives no sentence of its own."])
        _draw_choice(result)
    with right:
        _draw_possible(probe, result, cell)
        _draw_turn(result)


def _draw_costs(probe: OpenProbe, result: CallResult, cell: Cell) -> None:
    rates = rates_of(result, cell, probe.results, probe.facts)
    memory = text(cell.peak_extra_bytes, "bytes") if cell.peak_extra_bytes is not None else "–"
    memory_note = "its output included" if cell.peak_extra_bytes is not None else "the CPU's allocator does not say"
    lines = [
        _line(
            "on the CPU" if probe.on_cpu else "on the device",
            text(cell.time_ns, "ns"),
            f"median of {cell.repeat_count}, ±{text(cell.spread_ns, 'ns')}",
        ),
        _line("on the host", text(cell.host_call_ns, "ns"), "until the call returns"),
        _line("first call of this shape", text(cell.first_call_ns, "ns"), "plans, compilation; apart"),
        _line("error", text(cell.error_ratio, "ratio"), cell.error_note or "against float64"),
        _line("memory at its peak", memory, memory_note),
        _line(
            "arithmetic", text(rates.flops_per_s, "flops_per_s"), f"{text(rates.flops_ratio, 'ratio')} of the ceiling"
        ),
        _line(
            "memory traffic",
            text(rates.bytes_per_s, "bytes_per_s"),
            f"{text(rates.bytes_ratio, 'ratio')} of the ceiling",
        ),
    ]
    draw_rows(("", "", ""), lines, (1.5, 0.9, 2.5))
    if cell.kernels:
        names = "".join(f"<li title='{escape(name)}'>{escape(shortened(name, 74))}</li>" for name in cell.kernels)
        st.html(f'<div class="kernel-names"><b>{_kernels_ran(len(cell.kernels))}</b><ul>{names}</ul></div>')
    if cell.ran_backend not in (None, cell.backend):
        ran = BACKEND_LABELS[str(cell.ran_backend)]
        pieces.box(
            "Another backend ran",
            [f"{BACKEND_LABELS[cell.backend]} was forced, and the kernels are {ran}'s."],
            loud=True,
        )


def _draw_choice(result: CallResult) -> None:
    if result.chosen is None:
        pieces.quiet_line(f"PyTorch makes no choice here: {result.chosen_error}")
    if result.masked_row_count:
        pieces.box(
            f"{result.masked_row_count:,} queries see no key",
            ["Their output depends on the version and the backend; errors are taken over the other queries."],
            loud=True,
        )


def _draw_possible(probe: OpenProbe, result: CallResult, cell: Cell) -> None:
    name = BACKEND_LABELS[cell.backend]
    pieces.part_title(f"What would make {name} possible?")
    if cell.outcome == "ran":
        st.html(f'<p class="quiet">It is: {escape(name)} takes this call.</p>')
    elif cell.backend not in probe.results.build_backends:
        st.html(f'<p class="quiet">Nothing on this device: {escape(cell.reason)}.</p>')
    else:
        st.html(f'<p class="answer">{escape(_capital(enabling_sentence(cell)))}.</p>')
        near = nearest_accepted(probe.results, result.call, cell.backend)
        if near is not None:
            changes = ", ".join(
                f"{_FIELD_LABELS.get(field, field.replace('_', ' '))} {new}"
                for field, (_, new) in difference(result.call, near[0].call).items()
            )
            pieces.quiet_line(f"Nearest setting of this probe that it ran: {near[0].call.label} ({changes}).")


def _draw_turn(result: CallResult) -> None:
    """One choice changed in place, and the cells that flip: asked of the device when the probe was made."""
    names = list(dict.fromkeys(change.name for change in result.changes))
    if not names:
        return
    pieces.part_title("Change one choice", "what the device answers")
    left, right = st.columns(2)
    name = left.selectbox(
        "Choice", names, format_func=lambda field: _FIELD_LABELS.get(field, field), key="attention_turn_name"
    )
    values = [change.value for change in result.changes if change.name == name]
    value = right.selectbox(f"{getattr(result.call, name)} →", values, key=f"attention_turn_{name}")
    change = turned(result, name, value)
    if change is not None:
        _draw_flips(result, change)


def _draw_flips(result: CallResult, change: Change) -> None:
    flipped = dict(flips(result, change))
    lines = []
    for backend in SDPA_BACKENDS:
        cell = result.cell(backend)
        if cell is None:
            continue
        now = "runs" if cell.outcome == "ran" else cell.reason
        then = "possible" if backend in change.accepted else "not possible"
        mark = " ⇄" if backend in flipped else ""
        then += ", chosen" if backend == change.chosen else ""
        lines.append(
            Line((TableCell(BACKEND_LABELS[backend]), TableCell(shortened(now, 34), now), TableCell(then + mark)))
        )
    draw_rows(("backend", "now", "then"), lines, (1, 2, 1.5))


def _line(label: str, value: str, note: str) -> Line:
    return Line((TableCell(label), TableCell(value), TableCell(note)))


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _kernels_ran(count: int) -> str:
    return "One kernel ran" if count == 1 else f"{count} kernels ran"
