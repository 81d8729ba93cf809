"""What did the host do? Operators and their nesting, calls and what they were for, annotations, Python frames."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.ingest import categories
from explorer.ingest.calls import call_kind, is_blocking_kind
from explorer.ingest.columns import ABSENT, Longs
from explorer.ingest.families import operator_family
from explorer.ingest.marks import Mark, mark_of, step_source
from explorer.ingest.merge import Merged
from explorer.ingest.sides import Side
from explorer.ingest.tables import per_word, table
from explorer.spans import NO_ROW, Rows, by_start, distinct_rows, innermost_at, nest
from explorer.trace import ANNOTATIONS, CALLS, FRAMES, OPERATORS, ReadingNote

_COMPILE_PREFIXES = (
    "TorchDynamo Cache Lookup",
    "Torch-Compiled Region",
    "CompiledFunction",
    "Pregraph bytecode",
    "AOTDispatcher Runtime Wrapper",
    "PythonDispatchMode",
)
_COMPILE_PARTS = ("(dynamo_timed)", "compile_fx", "inductor_compile", "_compile.compile_inner", "backend_compile")


def is_compile_event(name: str) -> bool:
    """Whether an operator is one of Dynamo's or Inductor's own events and not part of the model."""
    return name.startswith(_COMPILE_PREFIXES) or any(part in name for part in _COMPILE_PARTS)


class HostSide:
    """The host's events, sorted by start; rows of its tables are positions in `operator_rows` and its like."""

    def __init__(self, merged: Merged) -> None:
        self.merged, self.host, self.words = merged, merged.host, merged.words
        self.notes: list[ReadingNote] = []
        self.marks = self._marks_of_names()
        kind = self._kinds_after_marks()
        self.operator_rows = self._sorted_host(kind == categories.OPERATOR)
        self.call_rows = self._sorted_host(kind == categories.CALL)
        self.annotation_rows = self._sorted_host(kind == categories.ANNOTATION)
        self.frame_rows = self._sorted_host(kind == categories.FRAME)
        self.thread_key = self._thread_keys()

    def _marks_of_names(self) -> dict[int, Mark]:
        candidates = (self.host.kind == categories.ANNOTATION) | (self.host.kind == categories.OPERATOR)
        return {code: mark_of(self.words[code]) for code in distinct_rows(self.host.name[candidates]).tolist()}

    def _kinds_after_marks(self) -> npt.NDArray[np.uint8]:
        """Until 2021 a step's mark was written as an operator; it is none."""
        step_codes = [code for code, mark in self.marks.items() if mark.kind == "step"]
        is_step = np.isin(self.host.name, step_codes) & (self.host.kind == categories.OPERATOR)
        return np.where(is_step, np.uint8(categories.ANNOTATION), self.host.kind)

    def _sorted_host(self, mask: npt.NDArray[np.bool_]) -> Rows:
        rows = np.flatnonzero(mask)
        return np.asarray(rows[by_start(self.host.start_ns[rows], -self.host.end_ns[rows])])

    def _thread_keys(self) -> Longs:
        return self.host.process.astype(np.int64) * (len(self.words) + 1) + self.host.thread

    def calls_side(self) -> Side:
        """What finding launches needs of the calls."""
        calls, host = self.call_rows, self.host
        return Side(
            host.start_ns[calls],
            host.end_ns[calls],
            host.correlation[calls],
            self.merged.host_document[calls],
            host.process[calls],
            host.thread[calls],
            calls,
        )

    def _host_columns(self, rows: Rows) -> dict[str, Any]:
        host, words = self.host, self.words
        return {
            "start_ns": host.start_ns[rows],
            "end_ns": host.end_ns[rows],
            "name": (host.name[rows], words),
            "process": (host.process[rows], words),
            "thread": (host.thread[rows], words),
        }

    def _nested(self, rows: Rows, what: str) -> tuple[npt.NDArray[np.int32], Rows]:
        """Depth and parent (positions in `rows`), thread by thread."""
        depth = np.zeros(len(rows), np.int32)
        parent = np.full(len(rows), NO_ROW, np.int64)
        crossing_count = 0
        for members in _groups(self.thread_key[rows]):
            nesting = nest(self.host.start_ns[rows[members]], self.host.end_ns[rows[members]])
            depth[members] = nesting.depth
            has_parent = nesting.parent != NO_ROW
            parent[members[has_parent]] = members[nesting.parent[has_parent]]
            crossing_count += nesting.crossing_count
        if crossing_count:
            text = f"{crossing_count:,} {what} that end after the one around them, kept as they are"
            self.notes.append(ReadingNote(f"crossing_{what}", crossing_count, text))
        return depth, parent

    def operator_table(self) -> pa.Table:
        """Operators with their nesting; notes those that cross."""
        rows, host, words = self.operator_rows, self.host, self.words
        depth, parent = self._operator_nesting
        name = host.name[rows]
        return table(
            OPERATORS,
            {
                **self._host_columns(rows),
                "kind": per_word(name, words, lambda word: "compile" if is_compile_event(word) else "operator"),
                "family": per_word(name, words, operator_family),
                "depth": depth,
                "parent_row": parent,
                "external_id": host.external_id[rows],
                "input_dims": (host.input_dims[rows], words),
                "input_strides": (host.input_strides[rows], words),
                "input_types": (host.input_types[rows], words),
                "kernel_file": (host.kernel_file[rows], words),
            },
        )

    def frame_table(self) -> pa.Table:
        """Python frames with their nesting; notes those that cross."""
        depth, parent = self._nested(self.frame_rows, "Python frames")
        return table(FRAMES, {**self._host_columns(self.frame_rows), "depth": depth, "parent_row": parent})

    @cached_property
    def _operator_nesting(self) -> tuple[npt.NDArray[np.int32], Rows]:
        return self._nested(self.operator_rows, "operators")

    def operators_of_calls(self) -> Rows:
        """The innermost operator around each call: by time on its thread; where the call's external id names an
        operator that is around it too, that one.
        """
        host, operators, calls = self.host, self.operator_rows, self.call_rows
        start, end, parent = host.start_ns[operators], host.end_ns[operators], self._operator_nesting[1]
        chosen = np.full(len(calls), NO_ROW, np.int64)
        operators_of_thread = {
            int(self.thread_key[operators[members[0]]]): members for members in _groups(self.thread_key[operators])
        }
        for members in _groups(self.thread_key[calls]):
            inside = operators_of_thread.get(int(self.thread_key[calls[members[0]]]))
            if inside is not None:
                times = host.start_ns[calls[members]]
                chosen[members] = innermost_at(times, inside, start, end, parent)
        return self._prefer_named(chosen)

    def _prefer_named(self, chosen: Rows) -> Rows:
        host, operators, calls = self.host, self.operator_rows, self.call_rows
        ids = host.external_id[operators]
        wanted = host.external_id[calls]
        has_other = (chosen == NO_ROW) | (ids[chosen] != wanted) if len(ids) else np.zeros(len(calls), bool)
        asking = np.flatnonzero(has_other & (wanted != ABSENT))
        with_id = np.flatnonzero(ids != ABSENT)
        if len(asking) == 0 or len(with_id) == 0:
            return chosen
        with_id = with_id[np.argsort(ids[with_id], kind="stable")]
        place = np.searchsorted(ids[with_id], wanted[asking], side="right") - 1
        named = with_id[np.maximum(place, 0)]
        operator, call = operators[named], calls[asking]
        is_around = (
            (place >= 0)
            & (ids[named] == wanted[asking])
            & (self.thread_key[operator] == self.thread_key[call])
            & (host.start_ns[operator] <= host.start_ns[call])
            & (host.end_ns[operator] >= host.end_ns[call])
        )
        chosen[asking[is_around]] = named[is_around]
        return chosen

    def call_table(self, call_of_work: Rows, operator_of_call: Rows, is_pageable: npt.NDArray[np.bool_]) -> pa.Table:
        """The calls; `is_pageable` says which pieces of work copy pageable memory, for which their calls wait."""
        rows, host, words = self.call_rows, self.host, self.words
        kinds = per_word(host.name[rows], words, call_kind)
        linked = call_of_work != NO_ROW
        is_blocking = np.array([is_blocking_kind(kind) for kind in kinds[1]])[kinds[0]]
        is_blocking[call_of_work[linked & is_pageable]] = True
        return table(
            CALLS,
            {
                **self._host_columns(rows),
                "kind": kinds,
                "is_blocking": is_blocking,
                "correlation": host.correlation[rows],
                "operator_row": operator_of_call,
                "work_count": np.bincount(call_of_work[linked], minlength=len(rows)).astype(np.int32),
            },
        )

    def annotation_table(self) -> pa.Table:
        """Annotations, with what those that are marks say."""
        rows, name = self.annotation_rows, self.host.name[self.annotation_rows]
        present = {code: self.marks[code] for code in distinct_rows(name).tolist()}
        source = step_source(present.values())
        kinds = {code: _kind_of_mark(mark, source) for code, mark in present.items()}

        def numbers(of: Callable[[Mark], int | None]) -> Longs:
            known = {code: of(mark) for code, mark in present.items()}
            return np.array(
                [ABSENT if (value := known.get(code)) is None else value for code in name.tolist()], np.int64
            )

        phases = sorted({mark.phase for mark in present.values() if mark.phase})
        phase_codes = [
            phases.index(phase) if (mark := present.get(code)) and (phase := mark.phase) else -1
            for code in name.tolist()
        ]
        index = numbers(lambda mark: mark.index)
        kind_words = ["step", "layer", "phase", "other"]
        kind_codes = np.array([kind_words.index(kinds.get(code, "other")) for code in name.tolist()], np.int32)
        kind_codes[self._inner_steps(kind_codes == 0)] = kind_words.index("phase")
        if source == "engine":  # an engine's marks carry no number: they are counted
            is_step = kind_codes == 0
            index[is_step] = np.arange(int(is_step.sum()))
        return table(
            ANNOTATIONS,
            {
                **self._host_columns(rows),
                "kind": (kind_codes, kind_words),
                "index": index,
                "phase": (np.array(phase_codes, np.int32), phases),
                "batch_size": numbers(lambda mark: mark.batch_size),
                "padded_batch_size": numbers(lambda mark: mark.padded_batch_size),
            },
        )

    def _inner_steps(self, is_step: npt.NDArray[np.bool_]) -> Rows:
        """Of the annotations that mark steps those inside another one of their thread: they are parts of that step."""
        start, end = self.host.start_ns[self.annotation_rows], self.host.end_ns[self.annotation_rows]
        steps = np.flatnonzero(is_step)
        inner = [np.zeros(0, np.int64)]
        for members in _groups(self.thread_key[self.annotation_rows[steps]]):
            marks = steps[members]
            reach, later = np.maximum.accumulate(end[marks])[:-1], marks[1:]
            inner.append(later[(start[later] < reach) & (end[later] <= reach)])
        return np.concatenate(inner)


def _kind_of_mark(mark: Mark, source: str) -> str:
    if mark.source:
        return "step" if mark.source == source else "phase"
    return mark.kind


def _groups(keys: Longs) -> list[Rows]:
    """Positions of each distinct key, in order."""
    order = np.argsort(keys, kind="stable")
    edges = np.flatnonzero(np.diff(keys[order])) + 1
    return [group for group in np.split(order, edges) if len(group)]
