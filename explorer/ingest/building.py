"""How do decoded events become the columns of a document? A batch at a time, and inside it a column at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, repeat
from operator import eq
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from msgspec import Raw

from explorer.ingest.categories import FIRST_WORK_KIND, kind_of_category, kind_without_category
from explorer.ingest.columns import NO_WORD, Document, DroppedWork, HostEvents, WorkEvents
from explorer.ingest.events import NOTHING, Arguments, Event, Label, Phased
from explorer.ingest.repair import Notes
from explorer.ingest.ticks import is_beyond_limit
from explorer.ingest.timed import Timed, each
from explorer.ingest.tokens import (
    ChangedCodes,
    WordCodes,
    codes_column,
    floats_column,
    ids_column,
    label,
    name,
    raw_text,
    sizes,
    sizes_column,
    stream,
    ticks,
)
from explorer.ingest.words import shown

_NO_ARGUMENTS = Arguments()
_NONE, _UNTOLD = -1, -2
"""Of no table; without a category, so that its process decides."""
_RARE_PHASES = frozenset({"M", "B", "E"})
_Columns = dict[str, npt.NDArray[Any]]


class _Kinds(dict[str | None, int]):
    """Category → kind, _NONE for what no table takes."""

    def __missing__(self, category: str) -> int:
        kind = kind_of_category(category)
        found = self[category] = _NONE if kind is None else kind
        return found


@dataclass
class _Codes:
    """What the tokens of each kind of column become, over one table of words."""

    words: WordCodes = field(default_factory=WordCodes)

    def __post_init__(self) -> None:
        self.names: dict[str | None, int] = ChangedCodes(self.words, name)
        self.labels: dict[Label, int] = ChangedCodes(self.words, label)
        self.streams: dict[Label, int] = ChangedCodes(self.words, stream)
        self.raw: dict[bytes, int] = ChangedCodes(self.words, raw_text)
        self.sizes: dict[bytes, int] = ChangedCodes(self.words, sizes)


@dataclass
class DocumentBuilder:
    """Collects one document's events; `notes` says what was wrong with them."""

    notes: Notes
    counts: Counter[str] = field(default_factory=Counter)
    dropped_work: list[DroppedWork] = field(default_factory=list)
    process_names: dict[str, str] = field(default_factory=dict)
    thread_names: dict[str, str] = field(default_factory=dict)
    _codes: _Codes = field(default_factory=_Codes)
    _hosts: list[_Columns] = field(default_factory=list)
    _works: list[_Columns] = field(default_factory=list)
    _kinds: dict[str | None, int] = field(default_factory=lambda: _Kinds({None: _UNTOLD}))

    def add(self, events: Sequence[Event | Phased], buffer: bytes, offset: int) -> bool:
        """Adds a batch; `buffer` is the text that it was decoded from, standing at `offset` in the whole.

        False, and nothing is added, when a time became a float that is not the one its digits say.
        """
        phases, categories = each("ph", events), each("cat", events)
        is_complete = list(map(eq, phases, repeat("X")))
        complete = cast("list[Event]", list(compress(events, is_complete)))
        kinds = np.fromiter(map(self._kinds.__getitem__, compress(categories, is_complete)), np.int8, len(complete))
        untold = np.flatnonzero(kinds == _UNTOLD).tolist()
        for place in untold:
            kinds[place] = self._kind_without(complete[place])
        hosts = Timed.of(complete, kinds, (kinds >= 0) & (kinds < FIRST_WORK_KIND))
        works = Timed.of(complete, kinds, kinds >= FIRST_WORK_KIND)
        if not hosts.are_exact() or not works.are_exact():
            return False
        self._codes.words.buffer, self._codes.words.offset = buffer, offset
        self._count(events, phases, categories)
        self.notes.add("unknown_kind", None, sum(kinds[place] == _NONE for place in untold))
        if hosts.events:
            self._hosts.append(self._host_columns(hosts))
        if works.events:
            self._works.append(self._work_columns(works))
        return True

    def _count(self, events: Sequence[Event | Phased], phases: list[str | None], categories: list[str | None]) -> None:
        """Counts the events by category, and takes those that are neither work nor the host's."""
        counts = Counter(categories)
        if counts.pop(None, 0):
            pairs = zip(phases, categories, strict=True)
            self.counts.update(f"ph:{phase}" for phase, category in pairs if category is None)
        self.counts.update(cast("Counter[str]", counts))
        if not _RARE_PHASES.isdisjoint(phases):
            for event, phase in zip(events, phases, strict=True):
                if phase == "M":
                    self.add_metadata(cast("Event", event))
                elif phase in _RARE_PHASES:
                    self.notes.add("begin_end", None)

    def _kind_without(self, event: Event) -> int:
        kind = kind_without_category(label(event.pid))
        return _NONE if kind is None else kind

    def _usable(self, timed: Timed) -> tuple[list[Event], _Columns]:
        """Events with a usable time, and their kinds, starts and ends; the others are dropped and noted."""
        events, kinds = timed.events, timed.kinds
        start_ns, duration_ns = timed.start_ns, timed.duration_ns
        if start_ns is None or duration_ns is None or (duration_ns < 0).any():
            starts, durations = list(map(ticks, timed.starts)), list(map(ticks, timed.durations))
            kept = []
            for place, (start, duration) in enumerate(zip(starts, durations, strict=True)):
                if start is None or duration is None or duration < 0:
                    self._drop(events[place], int(kinds[place]), start, duration)
                else:
                    kept.append(place)
            events, kinds = [events[place] for place in kept], kinds[kept]
            start_ns, duration_ns = (
                np.array([column[place] for place in kept], np.int64) for column in (starts, durations)
            )
        return events, {"kind": kinds.astype(np.uint8), "start_ns": start_ns, "end_ns": start_ns + duration_ns}

    def _common(self, events: list[Event], arguments: list[Arguments]) -> _Columns:
        codes, words = self._codes, self._codes.words
        external = each("external_id", arguments)
        if None in external:
            older = each("external_id_2021", arguments)
            external = [two if one is None else one for one, two in zip(external, older, strict=True)]
        return {
            "name": codes_column(codes.names, each("name", events)),
            "process": codes_column(codes.labels, each("pid", events)),
            "correlation": ids_column(each("correlation", arguments), words),
            "external_id": ids_column(external, words),
        }

    def _host_columns(self, timed: Timed) -> _Columns:
        events, columns = self._usable(timed)
        arguments = _arguments(events)
        codes = self._codes
        return {
            **columns,
            **self._common(events, arguments),
            "thread": codes_column(codes.labels, each("tid", events)),
            "input_dims": _raw_column(codes.raw, each("input_dims", arguments)),
            "input_strides": _raw_column(codes.raw, each("input_strides", arguments)),
            "input_types": _raw_column(codes.raw, each("input_types", arguments)),
            "kernel_file": codes_column(codes.words, each("kernel_file", arguments)),
        }

    def _work_columns(self, timed: Timed) -> _Columns:
        events, columns = self._usable(timed)
        arguments = _arguments(events)
        codes = self._codes
        return {
            **columns,
            **self._common(events, arguments),
            "device": codes_column(codes.labels, list(map(_device, events, arguments))),
            "stream": codes_column(codes.streams, list(map(_stream, events, arguments))),
            "grid": _raw_column(codes.sizes, each("grid", arguments)),
            "block": _raw_column(codes.sizes, each("block", arguments)),
            "communicator": _raw_column(codes.raw, each("communicator", arguments)),
            "registers_per_thread": sizes_column(each("registers", arguments)),
            "shared_memory_bytes": sizes_column(each("shared_memory", arguments)),
            "copied_bytes": sizes_column(each("copied_bytes", arguments)),
            "occupancy_percent": floats_column(each("occupancy", arguments)),
        }

    def _drop(self, event: Event, kind: int, start: int | None, duration: int | None) -> None:
        if start is None:
            reason = "far_start" if is_beyond_limit(event.ts) else "no_start"
        else:
            reason = "no_duration" if duration is None else "negative_duration"
        codes = self._codes
        self.notes.add(reason, codes.words.first_byte(str(event.ts).encode()))
        if kind >= FIRST_WORK_KIND and start is not None:
            device = codes.labels[_device(event, event.args or _NO_ARGUMENTS)]
            named, process = codes.names[event.name], codes.labels[event.pid]
            self.dropped_work.append(DroppedWork(start, named, process, device, reason))

    def add_metadata(self, event: Event) -> None:
        """Takes the names of processes and threads."""
        args, process = event.args or _NO_ARGUMENTS, label(event.pid)
        given, labels = shown(args.name or "")[0], shown(args.labels or "")[0]
        if event.name == "process_name" and given:
            self.process_names.setdefault(process, given)
        elif event.name == "process_labels" and labels:
            known = self.process_names.get(process)
            self.process_names[process] = f"{known} ({labels})" if known else labels
        elif event.name == "thread_name" and given:
            self.thread_names[f"{process}/{label(event.tid)}"] = given

    def document(self, head: Mapping[str, Any]) -> Document:
        """Everything collected, as columns."""
        nothing = Timed.of([], np.zeros(0, np.int8), np.zeros(0, bool))
        self._hosts = self._hosts or [self._host_columns(nothing)]
        self._works = self._works or [self._work_columns(nothing)]
        host, work = HostEvents(**_joined(self._hosts)), WorkEvents(**_joined(self._works))
        self._note_words(host, work)
        return Document(
            host=host,
            work=work,
            words=self._codes.words.texts,
            head=head,
            category_counts=dict(self.counts),
            process_names=self.process_names,
            thread_names=self.thread_names,
            dropped_work=tuple(self.dropped_work),
            notes=self.notes.to_reading_notes(),
        )

    def _note_words(self, host: HostEvents, work: WorkEvents) -> None:
        words = self._codes.words
        used = np.bincount(np.concatenate([host.name, work.name]), minlength=len(words.texts))
        for code, (repairs, first_byte) in words.repairs.items():
            for repair in repairs:
                self.notes.add(repair, first_byte, int(used[code]))


def _device(event: Event, args: Arguments) -> Label:
    """The device that the event names, else its process, which is the device's number for GPU work."""
    if args.device not in (None, ""):
        return args.device
    return "0" if event.pid == "CUDA functions" else event.pid


def _stream(event: Event, args: Arguments) -> Label:
    """The stream that the event names, else its queue (Intel), else its thread."""
    if args.stream is not None:
        return args.stream
    return event.tid if args.queue is None else args.queue


def _arguments(events: list[Event]) -> list[Arguments]:
    arguments = each("args", events)
    return [one or _NO_ARGUMENTS for one in arguments] if None in arguments else arguments


def _raw_column(codes: dict[bytes, int], tokens: list[Raw]) -> npt.NDArray[np.int32]:
    if tokens.count(NOTHING) == len(tokens):
        return np.full(len(tokens), NO_WORD, np.int32)
    return codes_column(codes, list(map(bytes, tokens)))


def _joined(batches: list[_Columns]) -> _Columns:
    """Whole columns; each batch's part is let go as soon as it is copied."""
    return {key: np.concatenate([batch.pop(key) for batch in batches]) for key in list(batches[0])}
