"""Which operator does a replayed kernel come from? Names, layers and shapes by order from the same step run plainly.

A replay has no operators. But a graph holds the kernels that were recorded in their order, so where the step that was
recorded was also called plainly (`plain#0` in our own recordings, or an eager recording of the same step):

    plain    a b b c d      a kernel of the replay is the one at its place in the plain step,
    replay   i a b b c d    wherever the names agree in that order; `i` copies the inputs and has no counterpart

The share of the replay that found its counterpart is the coverage, and stands with every answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from explorer.analysis.pieces import has_word
from explorer.report import Column, Metric, Report, ReportTable
from explorer.spans import NO_ROW, Rows, distinct_rows
from explorer.trace import Trace, codes_and_words, values, values_or

QUESTION = "Which operator does each replayed kernel come from?"
PLAIN = "plain#0"
_COLUMNS = (
    Column("position", "place", "count"),
    Column("kernel", "kernel", "text"),
    Column("family", "family", "text"),
    Column("submitted_by", "submitted by", "text"),
    Column("operator", "operator", "text"),
    Column("layer", "layer", "text"),
    Column("input_dims", "input shapes", "text"),
    Column("replay_ns", "replayed", "ns"),
    Column("plain_ns", "plainly", "ns"),
)


@dataclass(frozen=True)
class PlainStep:
    """A step whose kernels have operators: the trace that holds it, and its rows of work in their order."""

    trace: Trace
    work_rows: Rows
    name: str


def plain_step_of(trace: Trace) -> PlainStep | None:
    """The trace's own `plain#0`, or the first step of an eager trace; None where no kernel has an operator."""
    for name in (PLAIN, None):
        found = _annotated_step(trace, name)
        if found is not None and (values_or(trace.work, "operator_row", NO_ROW)[found.work_rows] != NO_ROW).any():
            return found
    return None


def replay_report(trace: Trace, reference: Trace | None = None) -> Report:
    """One row a piece of work of the trace's first step, with what the plain step knows of it.

    The plain step is the trace's own where it has one, else that of `reference` (an eager recording of the same step).
    """
    step = _annotated_step(trace, None)
    if step is None:
        return Report(QUESTION, "nothing", (), (), ("The trace has no GPU work with a known launch.",))
    plain = plain_step_of(trace) if _has(trace, PLAIN) or reference is None else plain_step_of(reference)
    counterpart = _counterparts(step, plain)
    frame = _frame(step, plain, counterpart)
    matched = int((counterpart != NO_ROW).sum())
    notes = () if plain else ("No plain call of this step is known: record it with `explorer run`.",)
    return Report(
        QUESTION,
        f"{step.name}, by {plain.name}" if plain else step.name,
        (
            Metric("work_count", "pieces of GPU work in the step", len(step.work_rows), "count"),
            Metric("matched_count", "with a counterpart in the plain step", matched, "count"),
            Metric("coverage_ratio", "coverage", matched / max(1, len(step.work_rows)), "ratio", "higher"),
            *_launch_metrics(step),
        ),
        (ReportTable("kernels", "the step's work in its order", _COLUMNS, frame),),
        notes,
    )


def _annotated_step(trace: Trace, name: str | None) -> PlainStep | None:
    """The work that its process launched inside the annotation of that name, or inside the first step; without steps,
    all work.
    """
    marks = trace.annotations
    column, wanted = ("kind", "step") if name is None else ("name", name)
    chosen = marks.filter(pc.equal(marks[column].cast(pa.string()), wanted))
    calls = values_or(trace.work, "call_row", NO_ROW).astype(np.int64)
    is_inside = calls != NO_ROW
    if len(chosen):
        start, end = (int(values(chosen, edge)[0]) for edge in ("start_ns", "end_ns"))
        launched = np.append(values(trace.calls, "start_ns"), end)[calls]  # the last one serves NO_ROW
        is_here = np.append(has_word(trace.calls, "process", (chosen["process"][0].as_py(),)), False)[calls]
        is_inside &= is_here & (launched >= start) & (launched < end)
    elif name is not None:
        return None
    rows = np.flatnonzero(is_inside)
    words = str(chosen["name"][0].as_py()) if len(chosen) else "the whole trace"
    return PlainStep(trace, rows, words) if len(rows) else None


def _has(trace: Trace, name: str) -> bool:
    return bool(pc.any(pc.equal(trace.annotations["name"].cast(pa.string()), name)).as_py())


def _counterparts(step: PlainStep, plain: PlainStep | None) -> Rows:
    """For each piece of the step the row of work of the plain one, NO_ROW where the order of names has none."""
    found = np.full(len(step.work_rows), NO_ROW, np.int64)
    if plain is None:
        return found
    names = (_column(plain, "name"), _column(step, "name"))
    for block in SequenceMatcher(None, names[0], names[1], autojunk=False).get_matching_blocks():
        found[block.b : block.b + block.size] = plain.work_rows[block.a : block.a + block.size]
    return found


def _frame(step: PlainStep, plain: PlainStep | None, counterpart: Rows) -> pd.DataFrame:
    known = counterpart != NO_ROW
    durations = _durations(step.trace)
    frame = pd.DataFrame(
        {
            "position": np.arange(1, len(step.work_rows) + 1),
            "kernel": _column(step, "name"),
            "family": _column(step, "family"),
            "submitted_by": _submitted_by(step),
            "operator": "",
            "layer": "",
            "input_dims": "",
            "replay_ns": durations[step.work_rows],
            "plain_ns": pd.array([pd.NA] * len(known), dtype="Int64"),
        }
    )
    if plain is not None and known.any():
        rows = counterpart[known]
        operators = values_or(plain.trace.work, "operator_row", NO_ROW).astype(np.int64)[rows]
        frame.loc[known, "operator"] = _operator_column(plain.trace, operators, "name")
        frame.loc[known, "input_dims"] = _operator_column(plain.trace, operators, "input_dims")
        frame.loc[known, "layer"] = _layers(plain.trace, rows)
        frame.loc[known, "plain_ns"] = _durations(plain.trace)[rows]
    return frame


def _launch_metrics(step: PlainStep) -> tuple[Metric, ...]:
    calls, counts = np.unique(_calls(step), return_counts=True)
    graphs = counts > 1
    return (
        Metric("launch_count", "host launches", len(calls), "count", "lower"),
        Metric("graph_launch_count", "of them graphs", int(graphs.sum()), "count"),
        Metric("work_in_graphs_count", "pieces of GPU work in graphs", int(counts[graphs].sum()), "count"),
    )


def _submitted_by(step: PlainStep) -> list[str]:
    _, places, counts = np.unique(_calls(step), return_inverse=True, return_counts=True)
    order = np.cumsum(counts > 1)
    return [f"graph {order[place]}" if counts[place] > 1 else "a launch of its own" for place in places]


def _calls(step: PlainStep) -> Rows:
    return np.asarray(values_or(step.trace.work, "call_row", NO_ROW).astype(np.int64)[step.work_rows])


def _column(step: PlainStep, column: str) -> list[str]:
    return [str(word) for word in step.trace.work[column].take(pa.array(step.work_rows)).to_pylist()]


def _durations(trace: Trace) -> Rows:
    return np.asarray(values(trace.work, "end_ns") - values(trace.work, "start_ns"))


def _operator_column(trace: Trace, operators: Rows, column: str) -> list[str]:
    words = trace.operators[column].take(pa.array(operators, mask=operators == NO_ROW)).to_pylist()
    return [word or "" for word in words]


def _layers(trace: Trace, work_rows: Rows) -> list[str]:
    """The innermost `layer#i`, `piece#i` or `attention#i` around each piece's launch; empty outside of them."""
    calls = values_or(trace.work, "call_row", NO_ROW).astype(np.int64)[work_rows]
    launched = values(trace.calls, "start_ns")[calls]
    process, processes = codes_and_words(trace.calls, "process")
    names = trace.annotations["name"].to_pylist()
    is_mark = np.array([name.partition("#")[0] in ("layer", "piece", "attention") for name in names], bool)
    found = [""] * len(work_rows)
    for code in distinct_rows(process[calls]).tolist():
        marks = np.flatnonzero(is_mark & has_word(trace.annotations, "process", (processes[code],)))
        start, end = (values(trace.annotations, edge)[marks] for edge in ("start_ns", "end_ns"))
        pieces = np.flatnonzero(process[calls] == code)
        places = np.searchsorted(start, launched[pieces], side="right") - 1
        pieces, places = pieces[places >= 0], places[places >= 0]
        inside = launched[pieces] < end[places]
        for piece, place in zip(pieces[inside].tolist(), places[inside].tolist(), strict=True):
            found[piece] = names[marks[place]]
    return found
