"""Which batches does an engine's trace show, and did each step run as a graph, as pieces, or without one?

vLLM and SGLang annotate their steps with the number of requests (see `ingest.marks`). A step whose work came from
one graph launch ran a full graph; from several, pieces; from none, no graph.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow.compute as pc

from explorer.analysis.metrics import graph_launches
from explorer.analysis.pieces import has_word
from explorer.analysis.traffic import Traffic, traffic_of_batches
from explorer.errors import TraceError
from explorer.report import Column, Metric, Report, ReportTable
from explorer.spans import NO_ROW
from explorer.trace import Trace, values, values_or

_ONE_PROMPT = re.compile(r"^execute_(?:\d+_)?context_1\((\d{1,6})\)_")
"""vLLM's mark of a step with one prefill, and how many of the prompt's tokens that step took."""
QUESTION = "Which batches ran, and as graphs?"
_COLUMNS = (
    Column("name", "step", "text"),
    Column("batch", "rows", "count"),
    Column("padded", "padded to", "count"),
    Column("phase", "phase", "text"),
    Column("graph_launch_count", "graph launches", "count"),
    Column("work_in_graphs_count", "pieces of work in graphs", "count"),
    Column("work_count", "pieces of work", "count"),
    Column("ran_as", "ran as", "text"),
)


def traffic_from_trace(trace: Trace) -> Traffic:
    """Decode batches of the trace's steps; raises TraceError when no annotation says how many rows a step had.

    Steps marked as prefill or mixed are left out, with a note: decode graphs do not run them.
    """
    steps = engine_steps(trace)
    if steps.empty:
        raise TraceError(
            f"{trace.source.name} has no step that says its batch size. Record with vLLM's or SGLang's profiler, whose "
            "steps are annotated, or upload batch sizes as CSV."
        )
    decodes = steps[steps["phase"].isin(("decode", ""))]
    notes = []
    if len(decodes) < len(steps):
        notes.append(f"{len(steps) - len(decodes):,} of {len(steps):,} steps are prefills or mixed and are left out.")
    return traffic_of_batches(trace.source.name, decodes["batch"].to_numpy(), tuple(notes))


@dataclass(frozen=True)
class SizeSequence:
    """Sizes as an engine met them, in order, a size that stays being given once; `note` says what was left out."""

    axis: Literal["batch", "length"]
    sizes: tuple[int, ...]
    note: str


def sequence_from_trace(trace: Trace, axis: Literal["batch", "length"], most: int) -> SizeSequence:
    """The first `most` sizes that an engine's decode steps, or its single prefills, went through.

    Lengths stand in vLLM's marks alone. Raises TraceError where no mark says any.
    """
    if axis == "batch":
        steps = engine_steps(trace)
        found = steps.loc[steps["phase"].isin(("decode", "")), "batch"].tolist()
        wanted = "its batch size. Record with vLLM's or SGLang's profiler"
    else:
        names = trace.annotations.sort_by("start_ns")["name"].to_pylist()
        found = [int(mark[1]) for name in names if (mark := _ONE_PROMPT.match(name))]
        wanted = "the tokens of one prompt. Record with vLLM's profiler"
    if not found:
        raise TraceError(f"{trace.source.name} has no step that says {wanted}, or give the sizes as a list.")
    changing = [size for at, size in enumerate(found) if at == 0 or size != found[at - 1]]
    cut = f" The first {most} of them are taken." if len(changing) > most else ""
    note = f"{len(found):,} steps, in which the {axis} changes {len(changing) - 1:,} times.{cut}"
    return SizeSequence(axis, tuple(changing[:most]), note)


def engine_steps(trace: Trace) -> pd.DataFrame:
    """One row a step that says its batch: columns as in this file's table, in the order of their start.

    Where such annotations stand in each other the outermost is the step; a padded size may come from an inner one.
    """
    marks = trace.annotations.filter(pc.is_valid(trace.annotations["batch_size"])).to_pandas()
    steps = _outermost(marks)
    call_of_work = values_or(trace.work, "call_row", NO_ROW).astype(np.int64)
    call_of_work = call_of_work[call_of_work != NO_ROW]
    is_graph = np.zeros(len(trace.calls), np.int64)
    is_graph[graph_launches(trace, call_of_work)] = 1
    works = np.bincount(call_of_work, minlength=len(trace.calls))
    launches = _summed_inside(trace, steps, is_graph)
    return pd.DataFrame(
        {
            "name": steps["name"].astype(str),
            "batch": steps["batch_size"].astype("int64"),
            "padded": steps["padded_batch_size"],
            "phase": steps["phase"].astype(object).where(steps["phase"].notna(), ""),
            "graph_launch_count": launches,
            "work_in_graphs_count": _summed_inside(trace, steps, works * is_graph),
            "work_count": _summed_inside(trace, steps, works),
            "ran_as": [_ran_as(int(count)) for count in launches],
        }
    )


def _summed_inside(trace: Trace, steps: pd.DataFrame, amounts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Amounts of calls, summed over those that each step's own process begins inside it."""
    summed = np.zeros(len(steps), np.int64)
    processes = steps["process"].astype(str)
    for process in processes.unique():
        calls = np.flatnonzero(has_word(trace.calls, "process", (process,)))
        begun = values(trace.calls, "start_ns")[calls]
        before = np.concatenate(([0], np.cumsum(amounts[calls])))
        here = (processes == process).to_numpy()
        first, behind = (np.searchsorted(begun, steps.loc[here, edge]) for edge in ("start_ns", "end_ns"))
        summed[here] = before[behind] - before[first]
    return summed


def _outermost(marks: pd.DataFrame) -> pd.DataFrame:
    """Without the marks inside another one of their thread, whose padded sizes go to the outer ones."""
    kept: list[int] = []
    outer_of_thread: dict[tuple[str, str], int] = {}
    padded = marks["padded_batch_size"].to_list()
    for place, (process, thread, start, end) in enumerate(
        zip(marks["process"], marks["thread"], marks["start_ns"], marks["end_ns"], strict=True)
    ):
        outer = outer_of_thread.get((process, thread))
        if outer is not None and start < marks["end_ns"].iat[outer] and end <= marks["end_ns"].iat[outer]:
            padded[outer] = padded[place] if pd.isna(padded[outer]) else padded[outer]
            continue
        outer_of_thread[process, thread] = place
        kept.append(place)
    return marks.assign(padded_batch_size=padded).iloc[kept].reset_index(drop=True)


def engine_report(trace: Trace) -> Report:
    """The steps and how many ran as a full graph, as pieces and without a graph."""
    steps = engine_steps(trace)
    metrics = tuple(
        Metric(f"{key}_count", label, int((steps["ran_as"] == label).sum()), "count")
        for key, label in (("full", "full graph"), ("pieces", "pieces"), ("none", "no graph"))
    )
    table = ReportTable("steps", "engine steps", _COLUMNS, steps)
    return Report(QUESTION, f"{len(steps):,} annotated step{'' if len(steps) == 1 else 's'}", metrics, (table,))


def _ran_as(graph_launch_count: int) -> str:
    return ("no graph", "full graph")[graph_launch_count] if graph_launch_count < 2 else "pieces"
