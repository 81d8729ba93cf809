"""In a run: which backend was asked for, chosen and ran, what share is attention, and what would another one save?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from explorer.analysis.attention_run import attention_share, backends_of_run
from explorer.analysis.attention_saving import alternatives, run_to_check, saving_sentence
from explorer.attention_calls import call_of_run
from explorer.attention_names import BACKEND_LABELS
from explorer.errors import ExplorerError
from explorer.model_shapes import MODEL_SHAPES
from explorer.report import Report
from explorer.settings import RunSettings
from explorer.trace import Trace
from explorer.ui import pieces
from explorer.ui.answers import step_of, trace_of
from explorer.ui.attention_answers import OpenProbe
from explorer.ui.rows import Cell, Line, draw_rows
from explorer.ui.selection import chosen, draw_missing
from explorer.ui.settings_form import load_settings
from explorer.ui.sources import Source
from explorer.units import text


def draw_runs_attention(sources: Sequence[Source], probe: OpenProbe | None) -> None:
    """A and B of the sidebar, each with its backends, its share and what would save."""
    selection = chosen(sources)
    for column, letter in zip(st.columns(2, gap="large"), ("a", "b"), strict=True):
        source = selection.side(letter)
        with column:
            if source is None:
                draw_missing(letter)
                continue
            try:
                _draw_run(letter, source, sources, probe)
            except ExplorerError as problem:
                pieces.box(f"{letter.upper()} cannot be shown: {source.title}", [str(problem)], loud=True)


def _draw_run(letter: str, source: Source, sources: Sequence[Source], probe: OpenProbe | None) -> None:
    trace = trace_of(source)
    share = _share(source.stamp, trace)
    backends = backends_of_run(source.settings, source.facts, trace)
    pieces.part_title(letter.upper(), source.title)
    if backends.is_mismatch:
        pieces.box("Another backend ran than was wanted", [backends.sentence], loud=True)
    else:
        st.html(f'<p class="answer">{escape(backends.sentence)}</p>')
    lines = [
        Line((Cell(metric.label), Cell(text(metric.value, metric.unit), metric.reason))) for metric in share.metrics
    ]
    for row in share.table("backends").to_dict("records") if share.tables else []:
        label = BACKEND_LABELS.get(row["backend"], row["backend"])
        told = Cell(f"{text(row['per_step_ns'], 'ns')}, by {row['told_by']}")
        lines.append(Line((Cell(f"{label}, {text(row['count_per_step'], 'count')} kernels a step"), told)))
    draw_rows(("", "a step"), lines, (1.4, 1))
    for note in share.notes:
        pieces.quiet_line(note)
    if source.settings is not None and probe is not None:
        attention_ns = share.value("attention_ns") if share.metrics else None
        _draw_saving(_Run(letter, source, source.settings, backends.ran, float(attention_ns or 0)), sources, probe)


@dataclass(frozen=True)
class _Run:
    letter: str
    source: Source
    settings: RunSettings
    ran: str | None
    attention_ns: float


def _draw_saving(run: _Run, sources: Sequence[Source], probe: OpenProbe) -> None:
    shape = MODEL_SHAPES.get(run.settings.model)
    if shape is None or run.settings.weights_folder is not None:
        pieces.quiet_line("What another backend would save is told for the built-in model shapes.")
        return
    found = alternatives(call_of_run(run.settings, shape), run.ran, run.attention_ns, probe.results)
    step_ns = step_of(run.source).value("step_ns")
    st.html(f'<p class="answer">{escape(saving_sentence(found, step_ns))}</p>')
    check = run_to_check(run.settings, shape, found)
    if check is None:
        return
    wanted, alternative = check
    checked = next((other for other in sources if other.settings == wanted and other.has_trace), None)
    if checked is not None:
        after_ns = step_of(checked).value("step_ns")
        st.html(
            f'<p class="answer">Checked by a run under {escape(wanted.attention)}: {text(step_ns, "ns")} → '
            f"{text(after_ns, 'ns')} a step ({escape(checked.title)}).</p>"
        )
        return
    promise = text(alternative.saving_ns, "ns")
    if st.button(
        f"Check with a run: {wanted.attention}, {promise} a step to be saved", key=f"attention_check_{run.letter}"
    ):
        load_settings("a", run.settings)
        load_settings("b", wanted)
        st.switch_page("screens/run.py")


@st.cache_resource(show_spinner=False, max_entries=24)
def _share(stamp: str, _trace: Trace) -> Report:
    del stamp  # only part of the cache's key
    return attention_share(_trace)
