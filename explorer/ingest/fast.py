"""How is a well-formed trace read as fast as its bytes arrive? The scanner, block by block, or a refusal.

Reading and unpacking the next block goes on in another thread while the scanner, which runs without Python's lock,
works on this one.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from explorer.ingest.building import DocumentBuilder
from explorer.ingest.categories import kind_of_category
from explorer.ingest.columns import NO_WORD, Codes, Document, HostEvents, WorkEvents
from explorer.ingest.document import BARE_LIST, LONGEST_EVENT_BYTES, Text, other_keys
from explorer.ingest.event_scan import SPAN_COUNT
from explorer.ingest.events import Event
from explorer.ingest.interning import TokenTable
from explorer.ingest.memory import PADDING_BYTES
from explorer.ingest.open import Source
from explorer.ingest.repair import Notes
from explorer.ingest.rows import (
    NOT_KEPT,
    UNKNOWN_CATEGORY,
    RowBuffers,
)
from explorer.ingest.scanner import (
    LIST_CLOSED,
    MORE_TEXT,
    NEW_CATEGORY,
    REFUSED,
    ROWS_FULL,
    TOKENS_FULL,
    scan_block,
)
from explorer.ingest.words import readable
from explorer.spans import distinct_rows


class RefusedError(Exception):
    """The text is none that the fast path reads; the tolerant one takes it."""


def read_documents_fast(source: Source) -> list[Document]:
    """Every document of the source; raises RefusedError for text with anything unusual in it."""
    text = Text(_ahead(source.blocks()))
    documents = []
    while text.skip_blank():
        head = text.read_head()
        if head is None:
            raise RefusedError("no list of events")
        reader = _EventReader(text)
        reader.read_events()
        tail = b"" if head == BARE_LIST else text.read_tail()
        notes = Notes()
        documents.append(reader.document(other_keys(head, tail, notes)))
        if notes.counts:
            raise RefusedError("an unreadable head")
    if source.problem:
        raise RefusedError(source.problem)
    return documents


def _ahead(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The same blocks, each fetched while the one before it is in use."""
    with ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as worker:
        coming = worker.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = worker.submit(next, blocks, None)
            yield block


@dataclass
class _EventReader:
    """Reads one document's events; `text` stands behind the list's `[` and is left behind its `]`."""

    text: Text
    tokens: TokenTable = field(default_factory=TokenTable)
    rows: RowBuffers = field(default_factory=RowBuffers)
    batches: list[dict[str, npt.NDArray[Any]]] = field(default_factory=list)
    builder: DocumentBuilder = field(default_factory=lambda: DocumentBuilder(Notes()))

    def read_events(self) -> None:
        rest, is_first = self.text.rest(), True
        while True:
            closed, rest, is_first = self._read_block(rest, is_first)
            if closed:
                self.text.put_back(rest)
                return
            block = None if len(rest) > LONGEST_EVENT_BYTES else self.text.next_block()
            if block is None:
                raise RefusedError("the list of events is not closed")
            rest = rest + block

    def _read_block(self, text: bytes, is_first: bool) -> tuple[bool, bytes, bool]:
        """(whether the list is closed, the text that is left, whether the list's first event is still to come)."""
        buffer = np.empty(len(text) + PADDING_BYTES, np.uint8)
        buffer[: len(text)] = np.frombuffer(text, np.uint8)
        buffer[len(text) :] = 0
        origin = buffer.ctypes.data
        address, end = origin, origin + len(text)
        spans = np.zeros(2 * SPAN_COUNT, np.int64)
        tokens, rows = self.tokens.layout.ctypes.data, self.rows.layout.ctypes.data
        while True:
            status, address, is_first = scan_block(address, end, is_first, spans, tokens, rows)
            if status == REFUSED:
                raise RefusedError(f"unusual text near byte {self.text.at() - end + address:,}")
            if status in (MORE_TEXT, LIST_CLOSED, ROWS_FULL):
                self._take_rows(buffer, origin)
            if status in (MORE_TEXT, LIST_CLOSED):
                return status == LIST_CLOSED, text[address - origin :], is_first
            self._make_room(status)

    def _make_room(self, status: int) -> None:
        if status == TOKENS_FULL:
            self.tokens.grow(LONGEST_EVENT_BYTES // 16)
        elif status == NEW_CATEGORY:
            self._resolve_category(self.rows.count(UNKNOWN_CATEGORY))

    def _resolve_category(self, code: int) -> None:
        self.rows.make_kinds(self.tokens.room)
        token = self.tokens.token(code)
        category, repairs = readable(token)
        is_phase = len(token) == len(b'"X"')
        if repairs or b"\\" in token:
            raise RefusedError("an unusual category")
        kind = None if is_phase else kind_of_category(category)
        self.rows.kinds[code] = NOT_KEPT if kind is None else kind

    def _take_rows(self, buffer: npt.NDArray[np.uint8], origin: int) -> None:
        self.batches.append(self.rows.take())
        for start, end in self.rows.take_metadata():
            event = buffer[start - origin : end - origin].tobytes()
            try:
                self.builder.add_metadata(msgspec.json.decode(event, type=Event))
            except (msgspec.DecodeError, UnicodeDecodeError):
                raise RefusedError("unusual metadata") from None

    def document(self, head: dict[str, Any]) -> Document:
        """The columns; refuses when a word needs a repair, since only the tolerant reader counts those."""
        words = self._words()
        host, work = self._columns("host"), self._columns("work")
        work["grid"] = words.changed(work["grid"], _without_brackets)
        work["block"] = words.changed(work["block"], _without_brackets)
        work["stream"] = words.changed(work["stream"], lambda text: text.removeprefix("stream "))
        return Document(
            host=HostEvents(**host),
            work=WorkEvents(**work),
            words=words.texts,
            head=head,
            category_counts=self._category_counts(),
            process_names=self.builder.process_names,
            thread_names=self.builder.thread_names,
        )

    def _columns(self, side: str) -> dict[str, npt.NDArray[Any]]:
        """The whole columns of hosts or work; each batch's part is let go as soon as it is copied."""
        names = [name for name in self.batches[0] if name.startswith(f"{side}.")]
        return {
            name.removeprefix(f"{side}."): np.concatenate([batch.pop(name) for batch in self.batches]) for name in names
        }

    def _words(self) -> _Words:
        texts = []
        for code in range(len(self.tokens)):
            text, repairs = readable(self.tokens.token(code))
            if repairs:
                raise RefusedError(f"a string to repair: {repairs[0]}")
            texts.append(text)
        return _Words(texts)

    def _category_counts(self) -> dict[str, int]:
        counts = {}
        for code in np.flatnonzero(self.rows.category_counts).tolist():
            token = self.tokens.token(code)
            name = readable(token)[0]
            counts[f"ph:{name}" if len(token) == len(b'"X"') else name] = int(self.rows.category_counts[code])
        return counts


@dataclass
class _Words:
    texts: list[str]

    def changed(self, codes: Codes, change: Any) -> Codes:
        """The codes of changed texts; an empty one is NO_WORD."""
        lookup = np.full(len(self.texts) + 1, NO_WORD, np.int32)
        for code in distinct_rows(codes).tolist():
            text = change(self.texts[code])
            if text == self.texts[code]:
                lookup[code] = code
            elif text:
                lookup[code] = len(self.texts)
                self.texts.append(text)
        return lookup[codes]


def _without_brackets(text: str) -> str:
    return text.translate(_BRACKETS)


_BRACKETS = str.maketrans("", "", "[] \t\r\n")
