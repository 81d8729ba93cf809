"""NONE, PIECEWISE, FULL: how many launches submit a step's kernels, and what is each replayed kernel?"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.analysis.replay import replay_report
from explorer.charts.graph_launches import LaunchRow, launches_and_kernels
from explorer.errors import ExplorerError
from explorer.report import Report
from explorer.settings import Mode
from explorer.trace import Trace
from explorer.ui import pieces
from explorer.ui.answers import step_of, trace_of
from explorer.ui.figures import draw_figure
from explorer.ui.marking import marked
from explorer.ui.rows import Cell, Line, draw_rows
from explorer.ui.sources import Source
from explorer.units import exact, shortened, text

_GRAPHS_OF_MODE: dict[Mode, str] = {
    "eager": "NONE",
    "piecewise": "PIECEWISE",
    "cuda_graph": "FULL",
    "compile": "NONE, compiled",
    "compile_piecewise": "PIECEWISE, compiled",
    "compile_cuda_graph": "FULL, compiled",
}
_ROWS_SHOWN = 200


def draw_graph_view(sources: Sequence[Source]) -> None:
    """Draws the launches of every kind of graph on one model, then one recording's replayed kernels."""
    shown = _comparable(sources)
    if not shown:
        pieces.quiet_line("Record a model eagerly and with a CUDA graph on the Run page to see their launches here.")
        return
    rows = [row for row in (_launch_row(source) for source in shown) if row is not None]
    if rows:
        sentence = "; ".join(
            f"{row.label}: {text(row.launch_count, 'count')} launches for {text(row.kernel_count, 'count')} kernels, "
            f"{text(row.step_ns, 'ns')}"
            for row in rows
        )
        draw_figure(launches_and_kernels(rows, pieces.current_theme()), key="graph_launches", alt=sentence)
    replayed = [source for source in shown if source.settings and "NONE" not in _label(source)]
    if replayed:
        _draw_replay(replayed, shown)


def _comparable(sources: Sequence[Source]) -> list[Source]:
    """Decode recordings of the first such model and batch, one a mode, in the order NONE, PIECEWISE, FULL."""
    usable = [
        source
        for source in sources
        if source.has_trace
        and source.settings
        and source.settings.phase == "decode"
        and source.settings.mode in _GRAPHS_OF_MODE
        and source.settings.device == "cuda"
        and not (source.settings.joined_projections or source.settings.autotune)
    ]
    found: dict[Mode, Source] = {}
    for source in usable:
        first, own = usable[0].settings, source.settings
        if first and own and (own.model, own.batch_size) == (first.model, first.batch_size):
            found.setdefault(own.mode, source)
    return [found[mode] for mode in _GRAPHS_OF_MODE if mode in found]


def _label(source: Source) -> str:
    return marked(_GRAPHS_OF_MODE[source.settings.mode], source.facts) if source.settings else source.title


def _launch_row(source: Source) -> LaunchRow | None:
    try:
        step = step_of(source)
    except ExplorerError as problem:
        pieces.box(f"{source.title} cannot be read", [str(problem)])
        return None
    launches, kernels = step.value("host_launches_per_step"), step.value("kernels_per_step")
    if launches is None or kernels is None:
        return None
    return LaunchRow(_label(source), float(launches), float(kernels), step.value("step_ns"))


def _draw_replay(replayed: Sequence[Source], shown: Sequence[Source]) -> None:
    named = {source.source_id: source for source in replayed}
    pieces.part_title("What each replayed kernel is", "named by its place in the same step called plainly")
    chosen = st.selectbox(
        "Recording", list(named), format_func=lambda source_id: named[source_id].title, key="replay_source"
    )
    eager = next((source for source in shown if source.settings and source.settings.mode == "eager"), None)
    try:
        report = _replay(named[chosen].stamp, trace_of(named[chosen]), trace_of(eager) if eager else None)
    except ExplorerError as problem:
        pieces.box("This recording cannot be read", [str(problem)], loud=True)
        return
    pieces.quiet_line(_coverage_sentence(report))
    _draw_kernels(report)
    for note in report.notes:
        pieces.quiet_line(note)


def _coverage_sentence(report: Report) -> str:
    if not report.metrics:
        return "No step was found."
    value = report.value
    return (
        f"Coverage {text(value('coverage_ratio'), 'ratio')}: {text(value('matched_count'), 'count')} of "
        f"{text(value('work_count'), 'count')} pieces of GPU work have a place in the plain step ({report.window}); "
        f"{text(value('work_in_graphs_count'), 'count')} came from graphs. Host launches: "
        f"{text(value('launch_count'), 'count')}, of them {text(value('graph_launch_count'), 'count')} of a graph."
    )


def _draw_kernels(report: Report) -> None:
    if not report.tables:
        return
    frame = report.table("kernels")
    lines = [
        Line(
            (
                Cell(shortened(_without_namespaces(row["kernel"]), 44), hover=row["kernel"]),
                Cell(row["operator"] or "–", hover=row["input_dims"]),
                Cell(row["layer"] or "–"),
                Cell(row["submitted_by"]),
                Cell(text(row["replay_ns"], "ns"), hover=exact(row["replay_ns"], "ns")),
            )
        )
        for row in frame.head(_ROWS_SHOWN).to_dict("records")
    ]
    with st.container(height=300, border=False, key="replayed_kernels"):
        draw_rows(["kernel", "operator", "part", "submitted by", "time"], lines, (3, 2, 1, 1.2, 0.8))
    if len(frame) > _ROWS_SHOWN:
        pieces.quiet_line(f"The first {_ROWS_SHOWN:,} of {len(frame):,} are shown.")


def _without_namespaces(kernel: str) -> str:
    """What all of PyTorch's kernels begin with tells none of them apart."""
    for common in ("void ", "at::native::", "(anonymous namespace)::"):
        kernel = kernel.replace(common, "")
    return kernel


@st.cache_resource(show_spinner=False, max_entries=24)
def _replay(stamp: str, _trace: Trace, _reference: Trace | None) -> Report:
    del stamp  # only part of the cache's key
    return replay_report(_trace, _reference)
