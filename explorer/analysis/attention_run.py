"""Which attention backend did a run ask for, which was chosen, which ran, and what share of its step is attention?

A backend is told by the operator around the kernel where there is one (a matrix product of the math backend has no
name of its own), else by the kernel's name. What neither tells, and attention inside a replayed graph that only an
operator could tell, is not recorded: the coverage says how much of the attention time has a backend.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from explorer.analysis.pieces import Pieces, devices_of, no_pieces_text
from explorer.analysis.windows import WindowKind, default_window, device_windows
from explorer.attention_names import BACKEND_LABELS, Backends, backend_of_name, backend_that_ran
from explorer.facts import Facts
from explorer.report import Column, Metric, Report, ReportTable
from explorer.settings import RunSettings
from explorer.spans import NO_ROW, Rows
from explorer.trace import Trace, codes_and_words, values_or

QUESTION = "Which attention backend ran, and what share of the step is it?"
_UNTOLD = "not told"
_NONE = -1
_GRAPH_NOTE = (
    "Replayed kernels have no operators: their backend is told where a kernel's own name says it, and the math "
    "backend's products and softmax inside a graph are not recorded as attention."
)


def backends_of_run(settings: RunSettings | None, facts: Facts | None, trace: Trace | None) -> Backends:
    """The three of one run; what ran comes from the trace where there is one, else from the recorded kernel names."""
    ran = None
    if trace is not None:
        report = attention_share(trace)
        told = report.table("backends") if report.tables else pd.DataFrame({"backend": []})
        names = [name for name in told["backend"] if name != _UNTOLD]
        ran = names[0] if names else None
    if ran is None and facts is not None:
        ran = backend_that_ran(facts.attention_kernels)
    return Backends(settings.attention if settings else None, facts.attention_chosen if facts else None, ran)


def attention_share(trace: Trace, window: WindowKind | None = None) -> Report:
    """Attention's time a step on the first device, by backend, its share of the busy time and the coverage.

    Times are sums of durations, ns. An empty or attention-free trace gives zeros and a note.
    """
    devices = devices_of(trace)
    if not devices:
        return Report(QUESTION, no_pieces_text(trace), notes=("This trace has no work.",))
    windows = device_windows(trace, devices[0], window or default_window(trace))
    pieces = windows.pieces.where(windows.window_of_piece != NO_ROW)
    steps = max(len(windows.windows), 1)
    told = _told(trace, pieces)
    duration = pieces.end_ns - pieces.start_ns
    total, attention = int(duration.sum()), int(duration[told.is_attention].sum())
    known = int(duration[told.is_attention & (told.backend != _NONE)].sum())
    metrics = (
        Metric("attention_ns", "attention a step", attention / steps, "ns", "lower"),
        Metric("attention_ratio", "of the busy time", attention / total if total else None, "ratio"),
        Metric(
            "coverage_ratio",
            "of it with a known backend",
            known / attention if attention else None,
            "ratio",
            "higher",
            "" if attention else "No attention was recognised.",
        ),
    )
    notes = list(windows.notes)
    if not attention:
        notes.append("No attention kernel was recognised; the math backend outside operators is not recorded as such.")
    if not pieces.is_cpu and bool((pieces.position_in_launch > 0).any()):
        notes.append(_GRAPH_NOTE)
    return Report(QUESTION, windows.text, metrics, (_backends_table(told, pieces, steps),), tuple(notes))


@dataclass(frozen=True)
class _Told:
    """By piece: whether it is attention, its backend's place in `words` (−1: untold), whether an operator said so."""

    is_attention: np.ndarray[tuple[int], np.dtype[np.bool_]]
    backend: Rows
    by_operator: np.ndarray[tuple[int], np.dtype[np.bool_]]
    words: tuple[str, ...]


def _told(trace: Trace, pieces: Pieces) -> _Told:
    words = tuple(BACKEND_LABELS)
    places = {word: place for place, word in enumerate(words)}
    table = trace.operators if pieces.is_cpu else trace.work
    codes, names = codes_and_words(table, "name")
    of_name = np.array([places.get(backend_of_name(name) or "", _NONE) for name in names] or [_NONE])
    family_codes, families = codes_and_words(table, "family")
    attention_family = families.index("attention") if "attention" in families else _NONE
    in_family = (family_codes[pieces.row] == attention_family) & (attention_family != _NONE)
    around = pieces.row if pieces.is_cpu else values_or(trace.work, "operator_row", NO_ROW)[pieces.row]
    by_operator = _of_operators(trace, around, places)
    is_attention = in_family | (by_operator != _NONE)
    by_name = np.where(in_family, of_name[codes[pieces.row]], _NONE)
    backend = np.where(by_operator != _NONE, by_operator, by_name)
    return _Told(is_attention, backend, by_operator != _NONE, words)


def _of_operators(trace: Trace, rows: Rows, places: dict[str, int]) -> Rows:
    """The backend that the innermost telling operator at or around each row says; −1 for none."""
    codes, names = codes_and_words(trace.operators, "name")
    said = np.array([_said(name, places) for name in names] or [_NONE])
    parent = values_or(trace.operators, "parent_row", NO_ROW)
    found = np.full(len(rows), _NONE, np.int64)
    current = rows.copy()
    while True:
        open_places = np.flatnonzero((current != NO_ROW) & (found == _NONE))
        if not len(open_places):
            return found
        found[open_places] = said[codes[current[open_places]]]
        current[open_places] = parent[current[open_places]]


def _said(name: str, places: dict[str, int]) -> int:
    """Only operators that are attention themselves tell: a softmax of anything else is no math backend."""
    if "attention" not in name:
        return _NONE
    return places.get(backend_of_name(name) or "", _NONE)


def _backends_table(told: _Told, pieces: Pieces, steps: int) -> ReportTable:
    duration = pieces.end_ns - pieces.start_ns
    total = int(duration[told.is_attention].sum())
    rows = []
    for place in np.unique(told.backend[told.is_attention]):
        chosen = told.is_attention & (told.backend == place)
        time_ns = int(duration[chosen].sum())
        rows.append(
            {
                "backend": _UNTOLD if place == _NONE else told.words[place],
                "per_step_ns": time_ns / steps,
                "share_ratio": time_ns / total if total else None,
                "count_per_step": int(chosen.sum()) / steps,
                "told_by": "operator" if told.by_operator[chosen].all() else "kernel name",
            }
        )
    columns = (
        Column("backend", "backend", "text"),
        Column("per_step_ns", "time a step", "ns"),
        Column("share_ratio", "of attention", "ratio"),
        Column("count_per_step", "kernels a step", "count"),
        Column("told_by", "told by", "text"),
    )
    frame = pd.DataFrame(rows, columns=[column.key for column in columns])
    frame = frame.sort_values("per_step_ns", ascending=False, ignore_index=True)
    return ReportTable("backends", "Attention by backend", columns, frame)
