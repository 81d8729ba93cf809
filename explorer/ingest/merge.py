"""How do a file's documents become one set of columns on one clock, with one word table?

A file may hold several ranks. Their processes and devices keep apart by a prefix ("rank1/0"), and their clocks are
set by each document's base time where every document has one. Where none has, their times are taken as one clock's;
where only some have, nothing says how the clocks go together, and each document begins with its own first event.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from explorer.ingest.columns import NO_WORD, Codes, Document, DroppedWork, HostEvents, WorkEvents
from explorer.trace import ReadingNote

_HOST_CODES = ("name", "process", "thread", "input_dims", "input_strides", "input_types", "kernel_file")
_WORK_CODES = ("name", "process", "device", "stream", "grid", "block", "communicator")
_LATEST_BASE_NS = 1 << 62
Events = TypeVar("Events", HostEvents, WorkEvents)


@dataclass(frozen=True)
class Merged:
    """All documents' events in file order; `host_document` and `work_document` say whose a row is."""

    host: HostEvents
    work: WorkEvents
    words: list[str]
    host_document: Codes
    work_document: Codes
    dropped_work: tuple[DroppedWork, ...]
    base_time_ns: int | None
    scopes: tuple[str, ...]  # what stands before a document's processes and devices: "" or "rank1/"
    notes: tuple[ReadingNote, ...] = ()


def merge(documents: list[Document]) -> Merged:
    """One set of columns, relative to the earliest event's start. Empties the list, for its memory."""
    bases = [base_time_ns(document.head) for document in documents]
    firsts = [_first_start_ns(document) for document in documents]
    told = [base for base in bases if base is not None]
    can_align = len(told) in (0, len(bases))
    clocks = [base or 0 for base in bases] if can_align else [-(first or 0) for first in firsts]
    starts = [clock + first for clock, first in zip(clocks, firsts, strict=True) if first is not None]
    origin = min(starts, default=0)
    vocabulary = _Vocabulary()
    hosts, works, dropped = [], [], []
    scopes = _scopes(documents)
    for clock, scope in zip(clocks, scopes, strict=True):
        document = documents.pop(0)
        codes = vocabulary.codes_of(document.words)
        shift = clock - origin
        hosts.append(_shifted(document.host, codes, _HOST_CODES, shift))
        works.append(_shifted(document.work, codes, _WORK_CODES, shift))
        dropped += [_shifted_drop(item, codes, shift) for item in document.dropped_work]
        if scope:
            hosts[-1] = dataclasses.replace(hosts[-1], process=vocabulary.prefixed(scope, hosts[-1].process))
    return Merged(
        host=_joined(HostEvents, hosts),
        work=_joined(WorkEvents, works),
        words=vocabulary.words,
        host_document=_document_numbers(hosts),
        work_document=_document_numbers(works),
        dropped_work=tuple(dropped),
        base_time_ns=origin if None not in bases else None,
        scopes=scopes,
        notes=() if can_align else (_unaligned(len(bases) - len(told)),),
    )


def _first_start_ns(document: Document) -> int | None:
    starts = [int(times.min()) for times in (document.host.start_ns, document.work.start_ns) if len(times)]
    return min(starts, default=None)


def _unaligned(missing_count: int) -> ReadingNote:
    text = (
        f"{missing_count:,} documents without a base time beside others with one: the clocks of the documents cannot "
        "be aligned, each begins with its own first event, and times of different documents cannot be compared"
    )
    return ReadingNote("unaligned_clocks", missing_count, text)


def base_time_ns(head: Mapping[str, Any]) -> int | None:
    """The document's `baseTimeNanoseconds`, None when it is absent or no time."""
    value = head.get("baseTimeNanoseconds")
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    is_time = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LATEST_BASE_NS
    return value if is_time else None


def rank_of(document: Document) -> int | None:
    """The document's rank, from its `distributedInfo`."""
    info = document.head.get("distributedInfo")
    rank = info.get("rank") if isinstance(info, Mapping) else None
    return rank if isinstance(rank, int) else None


def _scopes(documents: Sequence[Document]) -> tuple[str, ...]:
    if len(documents) == 1:
        return ("",)
    ranks = [rank_of(document) for document in documents]
    if None not in ranks and len(set(ranks)) == len(ranks):
        return tuple(f"rank{rank}/" for rank in ranks)
    return tuple(f"part{number}/" for number in range(len(documents)))


class _Vocabulary:
    def __init__(self) -> None:
        self.words: list[str] = []
        self._codes: dict[str, int] = {}

    def code(self, word: str) -> int:
        found = self._codes.setdefault(word, len(self.words))
        if found == len(self.words):
            self.words.append(word)
        return found

    def codes_of(self, words: Sequence[str]) -> Codes:
        """The code of each word, and −1 at the end, so that an old −1 stays one."""
        return np.array([*map(self.code, words), NO_WORD], np.int32)

    def prefixed(self, scope: str, codes: Codes) -> Codes:
        changed = {code: self.code(scope + self.words[code]) for code in set(codes.tolist()) if code != NO_WORD}
        changed[NO_WORD] = NO_WORD
        return np.array([changed[code] for code in codes.tolist()], np.int32)


def _shifted(events: Events, codes: Codes, code_columns: tuple[str, ...], shift: int) -> Events:
    """The events on the common clock, with the common words' codes. Times change in place: the document is consumed."""
    for times in (events.start_ns, events.end_ns):
        times += shift
    if np.array_equal(codes[:-1], np.arange(len(codes) - 1)):
        return events
    return dataclasses.replace(events, **{name: codes[getattr(events, name)] for name in code_columns})


def _shifted_drop(item: DroppedWork, codes: Codes, shift: int) -> DroppedWork:
    return dataclasses.replace(
        item,
        start_ns=item.start_ns + shift,
        name=int(codes[item.name]),
        process=int(codes[item.process]),
        device=int(codes[item.device]),
    )


def _joined(kind: type[Events], parts: Sequence[Events]) -> Events:
    if len(parts) == 1:
        return parts[0]
    names = [field.name for field in dataclasses.fields(kind)]
    return kind(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def _document_numbers(parts: Sequence[HostEvents] | Sequence[WorkEvents]) -> Codes:
    return np.repeat(np.arange(len(parts), dtype=np.int32), [len(part.start_ns) for part in parts])
