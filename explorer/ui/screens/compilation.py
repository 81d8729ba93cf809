"""Compilation: what does the first request pay, when is it paid again, and when does compiling silently stop?"""

from __future__ import annotations

import streamlit as st

from explorer.analysis.compilation import START_LABELS, headline, start_parts, variant_label
from explorer.analysis.compilation_run import RUN_START_LABELS, first_answer_ns, run_payback_count, run_start_parts
from explorer.charts.compilation import PART_COLOURS, DrawnStart, occurring_parts, start_bars
from explorer.errors import ExplorerError
from explorer.facts import Facts
from explorer.ui import pieces
from explorer.ui.compilation_answers import OpenShapes, open_shapes, trace_answer
from explorer.ui.compilation_breaks import draw_crossings, draw_whole_graph
from explorer.ui.compilation_calls import draw_calls, draw_guards
from explorer.ui.compilation_measure import draw_fix, draw_measure
from explorer.ui.compilation_upload import draw_upload
from explorer.ui.experiment_sources import experiment_sources
from explorer.ui.fairness import draw_unfair, fairness_of
from explorer.ui.figures import built, draw_figure
from explorer.ui.rows import Cell, Line, draw_rows
from explorer.ui.selection import Selection, chosen
from explorer.ui.sources import Source, all_sources
from explorer.ui.verification import draw_verification
from explorer.units import text


def show() -> None:
    """Draws the start of the chosen A and B, then the chosen experiment with shapes, then the form and the upload."""
    selection = chosen(all_sources())
    _draw_runs(selection)
    experiment = _open_experiment()
    if experiment is not None:
        _draw_experiment(experiment)
    draw_measure()
    draw_upload()


def _draw_runs(selection: Selection) -> None:
    runs = [(letter, selection.side(letter.lower())) for letter in ("A", "B")]
    measured = [(letter, source, source.facts) for letter, source in runs if source is not None and source.facts]
    starts = [
        DrawnStart(letter, {RUN_START_LABELS[part]: ns for part, ns in run_start_parts(facts).items()})
        for letter, _, facts in measured
    ]
    sentence = _start_sentence([(letter, facts) for letter, _, facts in measured], any(source for _, source in runs))
    fairness = fairness_of(measured[0][1], measured[1][1]) if len(measured) == 2 else None
    if fairness is not None and fairness.is_fair:
        sentence = _with_payback(sentence, *((letter, facts) for letter, _, facts in measured))
    pieces.finding(sentence, "Calibration and the correctness check are ours, and no part of a start.")
    if fairness is not None:
        draw_unfair(fairness)
    if starts:
        pieces.part_title(
            "Cold start", "from building the model to warmed-up steps, part by part; importing PyTorch comes before it"
        )
        draw_figure(built(start_bars, starts, pieces.current_theme()), key="run_starts", alt=sentence)
        _draw_legend(starts)
    draw_verification(dict(runs))
    for letter, source in runs:
        if source is not None:
            _draw_trace(letter, source)


def _start_sentence(runs: list[tuple[str, Facts]], is_chosen: bool) -> str:
    if not runs and is_chosen:
        return "Nobody measured the start of what is picked: only a run has its first answer's cost."
    if not runs:
        return "Pick a run on the left to see what its first answer cost."
    words = [f"{letter} gives its first answer after {text(first_answer_ns(facts), 'ns')}" for letter, facts in runs]
    return f"{' and '.join(words)}."


def _with_payback(sentence: str, one: tuple[str, Facts], other: tuple[str, Facts]) -> str:
    for slow, fast in ((one, other), (other, one)):
        count = run_payback_count(slow[1], fast[1])
        if count:
            start = sentence.removesuffix(".")
            return f"{start}; the longer start of {fast[0]} is paid back after {text(count, 'count')} steps."
    return sentence


def _draw_trace(letter: str, source: Source) -> None:
    if not source.has_trace:
        return
    try:
        report = trace_answer(source)
    except ExplorerError as problem:
        pieces.quiet_line(str(problem))
        return
    known = [metric for metric in report.metrics if metric.value is not None]
    if known:
        words = ", ".join(f"{metric.label} {text(metric.value, metric.unit)}" for metric in known)
        pieces.quiet_line(f"The trace of {letter} shows: {words}. {' '.join(report.notes)}")


def _open_experiment() -> OpenShapes | None:
    finished = st.session_state.pop("shapes_finished", None)
    if finished:
        st.session_state["compilation_shapes"] = finished
    usable = {source.source_id: source for source in experiment_sources("shapes") if not source.problem}
    if not usable:
        pieces.box(
            "No sequence of shapes has been tried yet",
            ["Start one below: it shows which calls compile again, which guard failed, and where it stops."],
        )
        return None
    wanted = st.selectbox(
        "Sequence of shapes", list(usable), format_func=lambda name: usable[name].title, key="compilation_shapes"
    )
    try:
        return open_shapes(usable[wanted])
    except ExplorerError as problem:
        pieces.box("This experiment cannot be shown", [str(problem)], loud=True)
        return None


def _draw_experiment(experiment: OpenShapes) -> None:
    pieces.part_title(headline(experiment.results))
    starts = [
        DrawnStart(variant_label(result), {START_LABELS[part]: ns for part, ns in parts.items()})
        for result in experiment.results.variants
        if (parts := start_parts(result))
    ]
    if starts:
        draw_figure(built(start_bars, starts, pieces.current_theme()), key="variant_starts", alt="Cold start by part.")
        _draw_legend(starts)
    _draw_variants(experiment)
    result = draw_calls(experiment)
    draw_fix(experiment.settings)
    guards, breaks = st.tabs(("Guards", "Graph breaks"))
    with guards:
        if result is not None:
            draw_guards(result)
    with breaks:
        draw_whole_graph(experiment.results.whole_graph)
        if result is not None:
            draw_crossings(result)
    for note in experiment.report.notes:
        pieces.quiet_line(note)


def _draw_legend(starts: list[DrawnStart]) -> None:
    st.html(pieces.legend([(part, f"background:{PART_COLOURS[part]}", "") for part in occurring_parts(starts)]))


def _draw_variants(experiment: OpenShapes) -> None:
    frame = experiment.report.table("variants")
    columns = next(table.columns for table in experiment.report.tables if table.key == "variants")
    lines = [Line(tuple(_cell(row[column.key], column.unit) for column in columns)) for row in frame.to_dict("records")]
    draw_rows([column.label for column in columns], lines, (3, *[1.3] * (len(columns) - 1)))


def _cell(value: object, unit: str) -> Cell:
    if unit == "text":
        return Cell(str(value))
    known = isinstance(value, int | float) and value == value
    return Cell(text(value if known else None, unit))  # type: ignore[arg-type]


if __name__ == "__main__":
    show()
