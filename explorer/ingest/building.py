"""How do decoded events become the columns of a document?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from explorer.ingest.categories import FIRST_WORK_KIND, kind_of_category, kind_without_category
from explorer.ingest.columns import ABSENT, NO_WORD, Document, DroppedWork, HostEvents, WorkEvents
from explorer.ingest.events import Arguments, Event
from explorer.ingest.repair import Notes
from explorer.ingest.ticks import nanoseconds
from explorer.ingest.words import Repair, readable

_HOST_COLUMNS = (
    ("kind", np.uint8),
    ("start_ns", np.int64),
    ("end_ns", np.int64),
    ("name", np.int32),
    ("process", np.int32),
    ("thread", np.int32),
    ("correlation", np.int64),
    ("external_id", np.int64),
    ("input_dims", np.int32),
    ("input_strides", np.int32),
    ("input_types", np.int32),
    ("kernel_file", np.int32),
)
_WORK_COLUMNS = (
    ("kind", np.uint8),
    ("start_ns", np.int64),
    ("end_ns", np.int64),
    ("name", np.int32),
    ("process", np.int32),
    ("device", np.int32),
    ("stream", np.int32),
    ("correlation", np.int64),
    ("external_id", np.int64),
    ("grid", np.int32),
    ("block", np.int32),
    ("registers_per_thread", np.int64),
    ("shared_memory_bytes", np.int64),
    ("occupancy_percent", np.float64),
    ("copied_bytes", np.int64),
    ("communicator", np.int32),
)
_NO_ARGUMENTS = Arguments()
_INT64_LIMIT = 1 << 62


@dataclass
class Words:
    """Each distinct token once, decoded once."""

    codes: dict[bytes, int] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    repairs: dict[int, tuple[tuple[Repair, ...], int]] = field(default_factory=dict)

    def code(self, token: bytes, buffer: bytes, offset: int) -> int:
        """The code of a token; −1 for one that is not in the file or null."""
        found = self.codes.get(token)
        if found is not None:
            return found
        if not token or token == b"null":
            return NO_WORD
        text, repairs = readable(token)
        code = self.codes[token] = len(self.texts)
        self.texts.append(text)
        if repairs:
            self.repairs[code] = (repairs, offset + max(buffer.find(token), 0))
        return code


@dataclass
class _Columns:
    """Rows waiting to become arrays, and the arrays of earlier batches."""

    names: tuple[tuple[str, Any], ...]
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    finished: list[list[np.ndarray[Any, Any]]] = field(default_factory=list)

    def flush(self) -> None:
        if self.rows:
            columns = zip(*self.rows, strict=True)
            self.finished.append(
                [np.array(column, kind) for column, (_, kind) in zip(columns, self.names, strict=True)]
            )
            self.rows = []

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        self.flush()
        if not self.finished:
            return {name: np.zeros(0, kind) for name, kind in self.names}
        whole = {}
        for position, (name, _) in enumerate(self.names):
            whole[name] = np.concatenate([batch[position] for batch in self.finished])
        return whole


@dataclass
class DocumentBuilder:
    """Collects one document's events; `notes` says what was wrong with them."""

    notes: Notes
    words: Words = field(default_factory=Words)
    counts: dict[str, int] = field(default_factory=dict)
    dropped_work: list[DroppedWork] = field(default_factory=list)
    process_names: dict[str, str] = field(default_factory=dict)
    thread_names: dict[str, str] = field(default_factory=dict)
    _host: _Columns = field(default_factory=lambda: _Columns(_HOST_COLUMNS))
    _work: _Columns = field(default_factory=lambda: _Columns(_WORK_COLUMNS))
    _kinds: dict[str | None, int | None] = field(default_factory=dict)

    def add(self, events: Sequence[Event], buffer: bytes, offset: int) -> None:
        """Adds a batch; `buffer` is the text that it was decoded from, standing at `offset` in the whole."""
        for event in events:
            key = event.cat if event.cat is not None else f"ph:{event.ph}"
            self.counts[key] = self.counts.get(key, 0) + 1
            if event.ph == "X":
                kind = self._kind(event)
                if kind is not None:
                    self._add_complete(event, kind, buffer, offset)
            elif event.ph == "M":
                self.add_metadata(event)
            elif event.ph in ("B", "E"):
                self.notes.add("begin_end", None)
        self._host.flush()
        self._work.flush()

    def _kind(self, event: Event) -> int | None:
        if event.cat is None:
            return kind_without_category(_text(event.pid))
        if event.cat not in self._kinds:
            self._kinds[event.cat] = kind_of_category(event.cat)
        return self._kinds[event.cat]

    def _add_complete(self, event: Event, kind: int, buffer: bytes, offset: int) -> None:
        def word(token: msgspec.Raw) -> int:
            return words.code(bytes(token), buffer, offset)

        words = self.words
        start, duration = nanoseconds(bytes(event.ts)), nanoseconds(bytes(event.dur))
        if start is None or duration is None or duration < 0:
            self._drop(event, kind, start, duration, buffer, offset)
            return
        args = event.args or _NO_ARGUMENTS
        external_id = _integer(args.external_id or args.external_id_2021, words)
        name = word(event.name)
        if kind < FIRST_WORK_KIND:
            self._host.rows.append(
                (
                    kind,
                    start,
                    start + duration,
                    name,
                    words.code(_unquoted(event.pid), buffer, offset),
                    words.code(_unquoted(event.tid), buffer, offset),
                    _integer(args.correlation, words),
                    external_id,
                    word(args.input_dims),
                    word(args.input_strides),
                    word(args.input_types),
                    word(args.kernel_file),
                )
            )
            return
        self._work.rows.append(
            (
                kind,
                start,
                start + duration,
                name,
                words.code(_unquoted(event.pid), buffer, offset),
                words.code(_device(event, args), buffer, offset),
                words.code(_stream(event, args), buffer, offset),
                _integer(args.correlation, words),
                external_id,
                words.code(_sizes(args.grid), buffer, offset),
                words.code(_sizes(args.block), buffer, offset),
                _integer(args.registers, words),
                _integer(args.shared_memory, words),
                _float(args.occupancy),
                _integer(args.copied_bytes, words),
                words.code(_unquoted(args.communicator), buffer, offset),
            )
        )

    def _drop(
        self, event: Event, kind: int, start: int | None, duration: int | None, buffer: bytes, offset: int
    ) -> None:
        reason = "no_start" if start is None else "no_duration" if duration is None else "negative_duration"
        self.notes.add(reason, offset)
        if kind < FIRST_WORK_KIND or start is None:
            return
        device = _device(event, event.args or _NO_ARGUMENTS)
        name, process = bytes(event.name), _unquoted(event.pid)
        codes = [self.words.code(token, buffer, offset) for token in (name, process, device)]
        self.dropped_work.append(DroppedWork(start, codes[0], codes[1], codes[2], reason))

    def add_metadata(self, event: Event) -> None:
        args, name, process = event.args or _NO_ARGUMENTS, _text(event.name), _text(event.pid)
        if name == "process_name" and _text(args.name):
            self.process_names.setdefault(process, _text(args.name))
        elif name == "process_labels" and _text(args.labels):
            known = self.process_names.get(process)
            self.process_names[process] = f"{known} ({_text(args.labels)})" if known else _text(args.labels)
        elif name == "thread_name" and _text(args.name):
            self.thread_names[f"{process}/{_text(event.tid)}"] = _text(args.name)

    def document(self, head: Mapping[str, Any]) -> Document:
        """Everything collected, as columns."""
        host, work = HostEvents(**self._host.arrays()), WorkEvents(**self._work.arrays())
        self._note_words(host, work)
        return Document(
            host=host,
            work=work,
            words=self.words.texts,
            head=head,
            category_counts=self.counts,
            process_names=self.process_names,
            thread_names=self.thread_names,
            dropped_work=tuple(self.dropped_work),
            notes=self.notes.to_reading_notes(),
        )

    def _note_words(self, host: HostEvents, work: WorkEvents) -> None:
        used = np.bincount(np.concatenate([host.name, work.name]), minlength=len(self.words.texts))
        for code, (repairs, first_byte) in self.words.repairs.items():
            for repair in repairs:
                self.notes.add(repair, first_byte, int(used[code]))


def _unquoted(token: msgspec.Raw) -> bytes:
    """A process or thread as text, whether written as a number or as a string: 25738 is "25738"."""
    return bytes(token).strip(b'"')


def _text(token: msgspec.Raw) -> str:
    return readable(bytes(token))[0] if token else ""


def _device(event: Event, args: Arguments) -> bytes:
    if args.device:
        return _unquoted(args.device)
    process = _unquoted(event.pid)
    return b"0" if process == b"CUDA functions" else process


def _stream(event: Event, args: Arguments) -> bytes:
    token = args.stream or args.queue or event.tid
    return _unquoted(token).removeprefix(b"stream ")  # 2021's threads of a GPU are called so


def _sizes(token: msgspec.Raw) -> bytes:
    """`[8, 1, 1]` → `8,1,1`."""
    return bytes(token).translate(None, b"[] \t\r\n")


def _integer(token: msgspec.Raw, words: Words) -> int:
    """The number, ABSENT for none. One beyond 62 bits becomes a code of its own, so that it stays one identity."""
    if not token:
        return ABSENT
    text = bytes(token).strip(b'"')
    try:
        value = int(text)
    except ValueError:
        return _integral_float(text)
    if -_INT64_LIMIT < value < _INT64_LIMIT:
        return value
    return -_INT64_LIMIT - words.code(text, b"", 0)


def _integral_float(text: bytes) -> int:
    try:
        value = float(text)
    except ValueError:
        return ABSENT
    return int(value) if math.isfinite(value) and abs(value) < _INT64_LIMIT else ABSENT


def _float(token: msgspec.Raw) -> float:
    try:
        value = float(bytes(token).strip(b'"')) if token else math.nan
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan
