"""How do decoded events become the columns of a document? A batch at a time, and inside it a column at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Raw

from explorer.ingest.categories import FIRST_WORK_KIND, kind_of_category, kind_without_category
from explorer.ingest.columns import Document, DroppedWork, HostEvents, WorkEvents
from explorer.ingest.events import NOTHING, Arguments, Event, Label
from explorer.ingest.repair import Notes
from explorer.ingest.tokens import (
    ChangedCodes,
    WordCodes,
    all_exact,
    codes_column,
    floats_column,
    ids_column,
    label,
    name,
    raw_text,
    sizes,
    sizes_column,
    stream,
    ticks_column,
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

    def add(self, events: Sequence[Event], buffer: bytes, offset: int) -> bool:
        """Adds a batch; `buffer` is the text that it was decoded from, standing at `offset` in the whole.

        False, and nothing is added, when a time became a float that is not the one its digits say.
        """
        kinds = [self._kinds[event.cat] for event in events]
        told = [(event, kind) for event, kind in zip(events, kinds, strict=True) if event.ph == "X" and kind != _NONE]
        complete = [(event, self._kind_without(event)) if kind == _UNTOLD else (event, kind) for event, kind in told]
        hosts = [one for one in complete if 0 <= one[1] < FIRST_WORK_KIND]
        works = [one for one in complete if one[1] >= FIRST_WORK_KIND]
        if not all_exact([event for event, _ in hosts]) or not all_exact([event for event, _ in works]):
            return False
        self._codes.words.buffer, self._codes.words.offset = buffer, offset
        self.counts.update([event.cat if event.cat is not None else f"ph:{event.ph}" for event in events])
        for event in [event for event in events if event.ph in _RARE_PHASES]:
            if event.ph == "M":
                self.add_metadata(event)
            else:
                self.notes.add("begin_end", None)
        if hosts:
            self._hosts.append(self._host_columns([event for event, _ in hosts], [kind for _, kind in hosts]))
        if works:
            self._works.append(self._work_columns([event for event, _ in works], [kind for _, kind in works]))
        return True

    def _kind_without(self, event: Event) -> int:
        kind = kind_without_category(label(event.pid))
        return _NONE if kind is None else kind

    def _timed(self, events: list[Event], kinds: list[int]) -> tuple[list[Event], _Columns]:
        """Events with a usable time, and their kinds, starts and ends; the others are dropped and noted."""
        starts = ticks_column([event.ts for event in events])
        durations = ticks_column([event.dur for event in events])
        usable = [
            start is not None and duration is not None and duration >= 0
            for start, duration in zip(starts, durations, strict=True)
        ]
        if not all(usable):
            for place in [place for place, is_usable in enumerate(usable) if not is_usable]:
                self._drop(events[place], kinds[place], starts[place], durations[place])
            kept = [place for place, is_usable in enumerate(usable) if is_usable]
            events, kinds = [events[place] for place in kept], [kinds[place] for place in kept]
            starts, durations = [starts[place] for place in kept], [durations[place] for place in kept]
        start_ns = np.array(starts, np.int64)
        return events, {
            "kind": np.array(kinds, np.uint8),
            "start_ns": start_ns,
            "end_ns": start_ns + np.array(durations, np.int64),
        }

    def _common(self, events: list[Event], arguments: list[Arguments]) -> _Columns:
        codes, words = self._codes, self._codes.words
        external = [one.external_id if one.external_id is not None else one.external_id_2021 for one in arguments]
        return {
            "name": codes_column(codes.names, [event.name for event in events]),
            "process": codes_column(codes.labels, [event.pid for event in events]),
            "correlation": ids_column([one.correlation for one in arguments], words),
            "external_id": ids_column(external, words),
        }

    def _host_columns(self, events: list[Event], kinds: list[int]) -> _Columns:
        events, columns = self._timed(events, kinds)
        arguments = [event.args or _NO_ARGUMENTS for event in events]
        codes = self._codes
        return {
            **columns,
            **self._common(events, arguments),
            "thread": codes_column(codes.labels, [event.tid for event in events]),
            "input_dims": _raw_column(codes.raw, [one.input_dims for one in arguments]),
            "input_strides": _raw_column(codes.raw, [one.input_strides for one in arguments]),
            "input_types": _raw_column(codes.raw, [one.input_types for one in arguments]),
            "kernel_file": codes_column(codes.words, [one.kernel_file for one in arguments]),
        }

    def _work_columns(self, events: list[Event], kinds: list[int]) -> _Columns:
        events, columns = self._timed(events, kinds)
        arguments = [event.args or _NO_ARGUMENTS for event in events]
        codes = self._codes
        return {
            **columns,
            **self._common(events, arguments),
            "device": codes_column(codes.labels, list(map(_device, events, arguments))),
            "stream": codes_column(codes.streams, list(map(_stream, events, arguments))),
            "grid": _raw_column(codes.sizes, [one.grid for one in arguments]),
            "block": _raw_column(codes.sizes, [one.block for one in arguments]),
            "communicator": _raw_column(codes.raw, [one.communicator for one in arguments]),
            "registers_per_thread": sizes_column([one.registers for one in arguments]),
            "shared_memory_bytes": sizes_column([one.shared_memory for one in arguments]),
            "copied_bytes": sizes_column([one.copied_bytes for one in arguments]),
            "occupancy_percent": floats_column([one.occupancy for one in arguments]),
        }

    def _drop(self, event: Event, kind: int, start: int | None, duration: int | None) -> None:
        reason = "no_start" if start is None else "no_duration" if duration is None else "negative_duration"
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
        self._hosts = self._hosts or [self._host_columns([], [])]
        self._works = self._works or [self._work_columns([], [])]
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


def _raw_column(codes: dict[bytes, int], tokens: list[Raw]) -> npt.NDArray[np.int32]:
    return codes_column(codes, [b"" if token is NOTHING else bytes(token) for token in tokens])


def _joined(batches: list[_Columns]) -> _Columns:
    """Whole columns; each batch's part is let go as soon as it is copied."""
    return {key: np.concatenate([batch.pop(key) for batch in batches]) for key in list(batches[0])}
