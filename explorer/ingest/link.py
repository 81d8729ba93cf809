"""How do events become a Trace: launches, operators and their nesting, graph launches, steps?

Order of work: one clock and one word table (merge) → rows sorted by start → work clipped where a stream would run
out of order → launches by correlation → operators nested by thread → each call's innermost operator → tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.ingest import categories
from explorer.ingest.calls import call_kind, copies_pageable_memory, is_blocking_kind
from explorer.ingest.columns import ABSENT, Codes, Document, Longs
from explorer.ingest.correlate import Side, launch_of_work
from explorer.ingest.families import kernel_family, operator_family
from explorer.ingest.marks import Mark, mark_of, step_source
from explorer.ingest.merge import Merged, merge
from explorer.ingest.tables import table
from explorer.spans import NO_ROW, Rows, distinct_rows, innermost, nest
from explorer.trace import ANNOTATIONS, CALLS, DROPPED_WORK, FRAMES, OPERATORS, WORK, ReadingNote

_COMPILE_PREFIXES = (
    "TorchDynamo Cache Lookup",
    "Torch-Compiled Region",
    "CompiledFunction",
    "Pregraph bytecode",
    "AOTDispatcher Runtime Wrapper",
)
_COMPILE_PARTS = ("(dynamo_timed)", "compile_fx", "inductor_compile", "_compile.compile_inner", "backend_compile")


@dataclass(frozen=True)
class Linked:
    """The tables of a trace, and what linking had to say."""

    operators: pa.Table
    calls: pa.Table
    work: pa.Table
    annotations: pa.Table
    frames: pa.Table
    dropped_work: pa.Table
    base_time_ns: int | None
    notes: tuple[ReadingNote, ...]


def link(documents: list[Document]) -> Linked:
    """All documents of one file as the tables of one trace. Empties the list, for its memory."""
    merged = merge(documents)
    return _Linker(merged).linked()


def is_compile_event(name: str) -> bool:
    """Whether an operator is one of Dynamo's or Inductor's own events and not part of the model."""
    return name.startswith(_COMPILE_PREFIXES) or any(part in name for part in _COMPILE_PARTS)


class _Linker:
    """Holds the columns while the tables are made; each step reads what earlier ones left."""

    def __init__(self, merged: Merged) -> None:
        self.merged = merged
        self.host = merged.host
        self.words = merged.words
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
        return rows[np.lexsort((-self.host.end_ns[rows], self.host.start_ns[rows]))]

    def _thread_keys(self) -> Longs:
        return self.host.process.astype(np.int64) * (len(self.words) + 1) + self.host.thread

    def linked(self) -> Linked:
        work, work_end = self._sorted_work()
        device, device_words = self._device_scopes()
        calls, host, events = self.call_rows, self.host, self.merged.work
        call_of_work = launch_of_work(
            Side(
                host.start_ns[calls],
                host.end_ns[calls],
                host.correlation[calls],
                self.merged.host_document[calls],
                host.process[calls],
                host.thread[calls],
            ),
            Side(
                events.start_ns[work],
                work_end,
                events.correlation[work],
                self.merged.work_document[work],
                device[work],
                device[work],
            ),
        )
        operator_of_call = self._operators_of_calls()
        return Linked(
            operators=self._operator_table(),
            calls=self._call_table(call_of_work, operator_of_call, work),
            work=self._work_table(work, work_end, (device[work], device_words), call_of_work, operator_of_call),
            annotations=self._annotation_table(),
            frames=self._frame_table(),
            dropped_work=self._dropped_table(),
            base_time_ns=self.merged.base_time_ns,
            notes=tuple(self.notes),
        )

    def _note(self, kind: str, count: int, text: str) -> None:
        if count:
            self.notes.append(ReadingNote(kind, count, f"{count:,} {text}"))

    # --- work

    def _sorted_work(self) -> tuple[Rows, Longs]:
        """Rows by start, and their ends after clipping what ends after the end of the next piece on its stream."""
        events = self.merged.work
        order = np.lexsort((-events.end_ns, events.start_ns))
        end = events.end_ns[order].copy()
        lane = (events.device.astype(np.int64) * (len(self.words) + 1) + events.stream) * 2**20
        lane = (lane + self.merged.work_document)[order]
        # Two that start together: the shorter one goes first, so that an empty one clips nothing.
        by_lane = np.lexsort((end, events.start_ns[order], lane))
        following_same = lane[by_lane[1:]] == lane[by_lane[:-1]]
        overruns = by_lane[:-1][following_same & (end[by_lane[:-1]] > end[by_lane[1:]])]
        following = by_lane[1:][following_same & (end[by_lane[:-1]] > end[by_lane[1:]])]
        end[overruns] = events.start_ns[order][following]
        self._note(
            "clipped",
            len(overruns),
            "pieces of GPU work that end after the end of the next piece on their stream, which no stream does: "
            "clipped to its start, the recorded ends kept beside",
        )
        return order, end

    def _device_scopes(self) -> tuple[Codes, list[str]]:
        """Code and name of each piece's device: "0", "rank1/0" in files of ranks, "4242/0" where processes differ."""
        events, merged = self.merged.work, self.merged
        size = len(self.words) + 1
        keys = (merged.work_document.astype(np.int64) * size + events.process) * size + events.device
        unique, inverse = np.unique(keys, return_inverse=True)
        scopes = [(key // size // size, key // size % size, key % size) for key in unique.tolist()]
        names = [
            scope_name(merged.scopes[document], self.words[process], self.words[device])
            for document, process, device in scopes
        ]
        plain = [merged.scopes[document] + self.words[device] for document, _, device in scopes]
        chosen = [short if plain.count(short) == 1 else full for short, full in zip(plain, names, strict=True)]
        return inverse.reshape(-1).astype(np.int32), chosen

    def _work_table(
        self,
        rows: Rows,
        end: Longs,
        device: tuple[Codes, list[str]],
        call_of_work: Rows,
        operator_of_call: Rows,
    ) -> pa.Table:
        events, words = self.merged.work, self.words
        name = events.name[rows]
        kind = events.kind[rows]
        has_call = call_of_work != NO_ROW
        operator = np.full(len(rows), NO_ROW, np.int64)
        operator[has_call] = operator_of_call[call_of_work[has_call]]
        kind_words = ["kernel", "memcpy", "memset"]
        return table(
            WORK,
            {
                "start_ns": events.start_ns[rows],
                "end_ns": end,
                "recorded_end_ns": events.end_ns[rows],
                "name": (name, words),
                "kind": ((kind - categories.KERNEL).astype(np.int32), kind_words),
                "family": _per_word(name, words, kernel_family, override=(kind != categories.KERNEL, "memory")),
                "device": device,
                "stream": (events.stream[rows], words),
                "correlation": events.correlation[rows],
                "call_row": call_of_work,
                "operator_row": operator,
                "position_in_launch": _positions(call_of_work),
                "grid": (events.grid[rows], words),
                "block": (events.block[rows], words),
                "registers_per_thread": events.registers_per_thread[rows],
                "shared_memory_bytes": events.shared_memory_bytes[rows],
                "occupancy_ratio": events.occupancy_percent[rows] / 100,
                "copied_bytes": events.copied_bytes[rows],
                "communicator": (events.communicator[rows], words),
            },
        )

    def _dropped_table(self) -> pa.Table:
        dropped = self.merged.dropped_work
        reasons = sorted({item.reason for item in dropped})
        return table(
            DROPPED_WORK,
            {
                "start_ns": np.array([item.start_ns for item in dropped], np.int64),
                "name": (np.array([item.name for item in dropped], np.int32), self.words),
                "device": (np.array([item.device for item in dropped], np.int32), self.words),
                "reason": (np.array([reasons.index(item.reason) for item in dropped], np.int32), reasons),
            },
        )

    # --- host

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
        self._note(f"crossing_{what}", crossing_count, f"{what} that end after the one around them, kept as they are")
        return depth, parent

    def _operator_table(self) -> pa.Table:
        rows, host, words = self.operator_rows, self.host, self.words
        depth, parent = self._nested(rows, "operators")
        name = host.name[rows]
        return table(
            OPERATORS,
            {
                **self._host_columns(rows),
                "kind": _per_word(name, words, lambda word: "compile" if is_compile_event(word) else "operator"),
                "family": _per_word(name, words, operator_family),
                "depth": depth,
                "parent_row": parent,
                "external_id": host.external_id[rows],
                "input_dims": (host.input_dims[rows], words),
                "input_strides": (host.input_strides[rows], words),
                "input_types": (host.input_types[rows], words),
                "kernel_file": (host.kernel_file[rows], words),
            },
        )

    def _frame_table(self) -> pa.Table:
        depth, parent = self._nested(self.frame_rows, "Python frames")
        return table(FRAMES, {**self._host_columns(self.frame_rows), "depth": depth, "parent_row": parent})

    def _operators_of_calls(self) -> Rows:
        """The innermost operator around each call: by time on its thread; where the call's external id names an
        operator that is around it too, that one.
        """
        host, operators, calls = self.host, self.operator_rows, self.call_rows
        chosen = np.full(len(calls), NO_ROW, np.int64)
        operators_of_thread = {
            int(self.thread_key[operators[members[0]]]): members for members in _groups(self.thread_key[operators])
        }
        for members in _groups(self.thread_key[calls]):
            inside = operators_of_thread.get(int(self.thread_key[calls[members[0]]]))
            if inside is None:
                continue
            steps = innermost(host.start_ns[operators[inside]], host.end_ns[operators[inside]])
            found = steps.at(host.start_ns[calls[members]])
            hit = found != NO_ROW
            chosen[members[hit]] = inside[found[hit]]
        return self._prefer_named(chosen)

    def _prefer_named(self, chosen: Rows) -> Rows:
        host, operators, calls = self.host, self.operator_rows, self.call_rows
        with_id = operators[host.external_id[operators] != ABSENT]
        order = np.argsort(host.external_id[with_id], kind="stable")
        ids = host.external_id[with_id][order]
        position_of_row = np.full(len(host.kind), NO_ROW, np.int64)
        position_of_row[operators] = np.arange(len(operators))
        wanted = host.external_id[calls]
        place = np.minimum(np.searchsorted(ids, wanted, side="right") - 1, len(ids) - 1)
        if len(ids) == 0:
            return chosen
        named = with_id[order][place]
        is_around = (
            (ids[place] == wanted)
            & (place >= 0)
            & (self.thread_key[named] == self.thread_key[calls])
            & (host.start_ns[named] <= host.start_ns[calls])
            & (host.end_ns[named] >= host.end_ns[calls])
        )
        return np.where(is_around, position_of_row[named], chosen)

    def _call_table(self, call_of_work: Rows, operator_of_call: Rows, work: Rows) -> pa.Table:
        rows, host, words = self.call_rows, self.host, self.words
        name = host.name[rows]
        kinds = _per_word(name, words, call_kind)
        blocking_kinds = np.array([is_blocking_kind(kind) for kind in kinds[1]] or [False])
        linked = call_of_work[call_of_work != NO_ROW]
        work_name = self.merged.work.name[work]
        pageable = np.array([copies_pageable_memory(word) for word in words] or [False])
        is_blocking = blocking_kinds[kinds[0]] if len(rows) else np.zeros(0, bool)
        is_blocking[call_of_work[(call_of_work != NO_ROW) & pageable[work_name]]] = True
        return table(
            CALLS,
            {
                **self._host_columns(rows),
                "kind": kinds,
                "is_blocking": is_blocking,
                "correlation": host.correlation[rows],
                "operator_row": operator_of_call,
                "work_count": np.bincount(linked, minlength=len(rows)).astype(np.int32),
            },
        )

    def _annotation_table(self) -> pa.Table:
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


def scope_name(scope: str, process: str, device: str) -> str:
    """The long name of a device, where its number alone would be ambiguous."""
    return f"{scope}{process}/{device}"


def _kind_of_mark(mark: Mark, source: str) -> str:
    if mark.source:
        return "step" if mark.source == source else "phase"
    return mark.kind


def _groups(keys: Longs) -> list[Rows]:
    """Positions of each distinct key, in order."""
    order = np.argsort(keys, kind="stable")
    edges = np.flatnonzero(np.diff(keys[order])) + 1
    return [group for group in np.split(order, edges) if len(group)]


def _positions(call_of_work: Rows) -> Rows:
    """Which piece of its launch each is, in order of start; NO_ROW for one without a launch."""
    position = np.full(len(call_of_work), NO_ROW, np.int64)
    linked = np.flatnonzero(call_of_work != NO_ROW)
    order = linked[np.argsort(call_of_work[linked], kind="stable")]
    calls = call_of_work[order]
    first = np.concatenate([[True], calls[1:] != calls[:-1]]) if len(order) else np.zeros(0, bool)
    begin = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    position[order] = np.arange(len(order)) - begin
    return position


def _per_word(
    codes: Codes,
    words: Sequence[str],
    answer: Callable[[str], str],
    override: tuple[npt.NDArray[np.bool_], str] | None = None,
) -> tuple[Codes, list[str]]:
    """The answer for each row, asked once a distinct word; `override` sets rows to a fixed answer."""
    used = distinct_rows(codes).tolist()
    answers = {code: answer(words[code]) for code in used}
    answers[-1] = answer("")
    distinct = sorted({*answers.values(), *([override[1]] if override else [])})
    lookup = np.zeros(len(words) + 1, np.int32)
    for code, text in answers.items():
        lookup[code] = distinct.index(text)
    chosen = lookup[codes]
    if override is not None:
        chosen = np.where(override[0], np.int32(distinct.index(override[1])), chosen)
    return chosen.astype(np.int32), distinct
