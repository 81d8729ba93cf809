"""Attention: which backend runs, why do the others not, and what does each cost?"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.analysis.attention import first_refused, headline, highlights
from explorer.analysis.attention_choice import fastest_cell, gain_sentence, largest_gains
from explorer.attention_calls import SCALES, calls_of
from explorer.attention_names import BACKEND_LABELS
from explorer.charts.attention import attention_matrix
from explorer.errors import ExplorerError
from explorer.probe_results import CallResult, Cell
from explorer.probe_settings import CALL_SETS
from explorer.ui import pieces
from explorer.ui.attention_answers import OpenProbe, matrix_rows, open_probe
from explorer.ui.attention_cell import draw_cell
from explorer.ui.attention_graphs import draw_graphs
from explorer.ui.attention_masks import draw_masks
from explorer.ui.attention_measure import draw_measure
from explorer.ui.attention_runs import draw_runs_attention
from explorer.ui.attention_tables import draw_ragged, draw_two_calls, draw_two_machines
from explorer.ui.experiment_sources import ExperimentSource, experiment_sources, find_experiment
from explorer.ui.figures import STILL
from explorer.ui.sources import all_sources

_HIGHLIGHTS = 9
_FEW = "few"
_SHOWN_LABELS = {
    _FEW: "telling ones",
    "presets": "what engines call",
    "why_not": "why not flash?",
    "grid": "grid",
    "all": "all",
}


def show() -> None:
    """Draws the page for the chosen probe, the clicked cell below its matrix, everything else in tabs."""
    sources = experiment_sources("probe")
    probe = _draw_picker(sources)
    if probe is None:
        pieces.finding("Which attention backend runs, and why not another?", "Probe this machine to find out.")
        draw_measure()
        draw_masks()
        return
    if not probe.results.calls:
        return
    name = _draw_choices(probe)
    shown = _shown(probe, name)
    _draw_matrix(probe, shown, name)
    _draw_actions(probe, shown)
    result, cell = _picked(probe, shown)
    draw_cell(probe, result, cell)
    names = ("Who sees whom", "Two settings", "Unequal rows", "Graphs", "In a run", "Two machines", "Probe")
    masks, two, ragged, graphs, runs, machines, measure = st.tabs(names)
    with masks:
        draw_masks()
    with two:
        draw_two_calls(probe, result)
    with ragged:
        draw_ragged(probe)
    with graphs:
        draw_graphs(probe)
    with runs:
        draw_runs_attention(all_sources(), probe)
    with machines:
        _draw_other_machine(probe, sources)
    with measure:
        draw_measure()
    pieces.quiet_line(" ".join(probe.report.notes))


def _draw_picker(sources: Sequence[ExperimentSource]) -> OpenProbe | None:
    """The probe that the address or the picker names, else the first that can be opened; its finding stands on top."""
    finished = st.session_state.pop("probe_finished", None)
    if finished:
        st.session_state["attention_probe"] = finished
    usable = {source.source_id: source for source in sources if not source.problem}
    wanted = st.session_state.get("attention_probe", st.query_params.get("probe"))
    source = find_experiment(wanted, usable.values()) or next(iter(usable.values()), None)
    if source is None:
        return None
    try:
        probe = open_probe(source)
    except ExplorerError as problem:
        pieces.box(f"This probe cannot be shown: {source.title}", [str(problem)], loud=True)
        return None
    st.query_params["probe"] = source.source_id
    outlined = "The outlined backend is the one PyTorch picks by itself; hatched ones refuse, with the first reason"
    pieces.finding(
        headline(probe.results),
        f"{probe.machine}. {outlined}; a star marks a choice slower than another of its own backends. {_timed(probe)}",
    )
    if source.state != "finished":
        failure = probe.facts.failure.message if probe.facts.failure else "The probe has not finished."
        pieces.box("This probe is incomplete", [failure, "What it found before is shown."], loud=True)
    st.session_state["attention_probe"] = source.source_id
    return probe


def _timed(probe: OpenProbe) -> str:
    """Whose time the figures show, and of how many repeats each."""
    cells = [cell for result in probe.results.calls for cell in result.cells]
    counts = sorted({cell.repeat_count for cell in cells if cell.repeat_count is not None})
    whose = "Time of a call on the CPU" if probe.on_cpu else "Device time"
    if not counts:
        return f"{whose}, median of the repeats."
    return f"{whose}, median of {counts[0] if len(counts) == 1 else f'{counts[0]} to {counts[-1]}'} repeats."


def _draw_choices(probe: OpenProbe) -> str:
    """Which settings to show, and which probe; returns the set's name."""
    left, right = st.columns((1.25, 1), vertical_alignment="bottom")
    listed = {source.source_id: source.title for source in experiment_sources("probe") if not source.problem}
    right.selectbox(
        "Probe", list(listed), format_func=listed.__getitem__, key="attention_probe", label_visibility="collapsed"
    )
    chosen_set = left.segmented_control(
        "Settings",
        [name for name in _SHOWN_LABELS if name not in CALL_SETS or _of_set(probe, name)],
        default=_FEW,
        format_func=_SHOWN_LABELS.__getitem__,
        key="attention_set",
        label_visibility="collapsed",
    )
    return chosen_set or _FEW


def _draw_matrix(probe: OpenProbe, shown: Sequence[CallResult], name: str) -> None:
    figure = attention_matrix(
        matrix_rows(probe, shown), [BACKEND_LABELS[backend] for backend in probe.columns], pieces.current_theme()
    )
    key = f"attention_matrix_{name}"
    st.plotly_chart(
        figure,
        theme=None,
        key=key,
        config=STILL,
        on_select=lambda: _clicked(key, probe),
        selection_mode="points",
        alt=headline(probe.results),
    )


def _clicked(key: str, probe: OpenProbe) -> None:
    """Takes the cell that was clicked; a click beside every cell changes nothing."""
    points = st.session_state[key]["selection"]["points"]
    if points:
        label, column = points[0]["customdata"]
        _pick(str(label), probe.columns[int(column)])


def _pick(label: str, backend: str) -> None:
    st.session_state["attention_cell"] = (label, backend)


def _shown(probe: OpenProbe, name: str) -> list[CallResult]:
    if name == _FEW:
        return highlights(probe.results, _HIGHLIGHTS)
    return _of_set(probe, name) if name in CALL_SETS else probe.results.calls


def _of_set(probe: OpenProbe, name: str) -> list[CallResult]:
    labels = {call.label for scale in SCALES for call in calls_of(name, scale)}  # type: ignore[arg-type]
    return [result for result in probe.results.calls if result.call.label in labels]


def _picked(probe: OpenProbe, shown: Sequence[CallResult]) -> tuple[CallResult, Cell]:
    """The picked call and cell; at first the choice that loses most, else the first call's."""
    label, backend = st.session_state.get("attention_cell", (None, ""))
    result = probe.result(label)
    if result is None:
        gains = largest_gains(probe.results, 1)
        result = gains[0] if gains else (shown[0] if shown else probe.results.calls[0])
    return result, result.cell(backend) or result.cell(result.chosen or "") or result.cells[0]


def _draw_actions(probe: OpenProbe, shown: Sequence[CallResult]) -> None:
    """Where a faster backend could have run, and what is in flash's way: each a button that opens its cell."""
    with st.container(horizontal=True, gap="small"):
        for result in largest_gains(probe.results, 1):
            fastest = fastest_cell(result)
            assert fastest is not None
            st.button(
                gain_sentence(result),
                key=f"attention_gain_{result.call.label}",
                on_click=_pick,
                args=(result.call.label, fastest.backend),
            )
        refused = first_refused([*shown, *probe.results.calls], "flash", probe.results.build_backends)
        if refused is not None:
            st.button(
                "What would make flash possible?",
                key="attention_flash",
                on_click=_pick,
                args=(refused.call.label, "flash"),
            )


def _draw_other_machine(probe: OpenProbe, sources: Sequence[ExperimentSource]) -> None:
    others = {
        source.source_id: source
        for source in sources
        if not source.problem and source.source_id != probe.source.source_id
    }
    if not others:
        pieces.box(
            "One probe only",
            ["Probe this machine, or upload the zip of a probe in the Library, to compare two machines."],
        )
        return
    picked = st.selectbox("B", list(others), format_func=lambda name: others[name].title, key="attention_other")
    try:
        draw_two_machines(probe, open_probe(others[picked]))
    except ExplorerError as problem:
        pieces.box("The other probe cannot be shown", [str(problem)], loud=True)


if __name__ == "__main__":
    show()
