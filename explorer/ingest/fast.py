"""How is a well-formed trace read as fast as its bytes arrive? By compiled scanners, two at a time, or not at all.

    text   [ piece 0 | piece 1 | piece 2 | piece 3 ] tail     pieces end behind an event
    thread     A         B         A         B                 each with its own tables
    joined in the order of the text

Where anything is unusual the whole file is refused, and the tolerant reader takes it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt

from explorer.ingest.building import DocumentBuilder
from explorer.ingest.columns import NO_WORD, Codes, Document, HostEvents, WorkEvents
from explorer.ingest.document import BARE_LIST, LONGEST_EVENT_BYTES, Text, last_event_end, other_keys
from explorer.ingest.open import Source, ahead
from explorer.ingest.repair import Notes
from explorer.ingest.rows import HOST_CODES, WORK_CODES
from explorer.ingest.scanning import Part, RefusedError, Scanned, Scanner
from explorer.ingest.words import readable
from explorer.spans import distinct_rows

__all__ = ["RefusedError", "load_machine_code", "read_documents_fast"]

_SCANNER_COUNT = 2
_MOST_WAITING = _SCANNER_COUNT + 2
"""Pieces in work: more than scanners, so that none of them waits for this thread, or for text while another is slow."""
_KEPT_BYTES = 16 << 20
_CODES = {"host": HOST_CODES, "work": WORK_CODES}
_BRACKETS = str.maketrans("", "", "[] \t\r\n")


def read_documents_fast(source: Source) -> list[Document]:
    """Every document of the source; raises RefusedError for text with anything unusual in it."""
    documents = []
    _keep_freed_memory()
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(_SCANNER_COUNT) as threads:
        text = Text(ahead(source.blocks(), reader))
        while text.skip_blank():
            head = text.read_head()
            if head is None:
                raise RefusedError("no list of events")
            scanned = _EventsScan(text, threads).scan()
            tail = b"" if head == BARE_LIST else text.read_tail()
            notes = Notes()
            documents.append(_document(scanned, other_keys(head, tail, notes)))
            if notes.counts:
                raise RefusedError("an unreadable head")
    if source.problem:
        raise RefusedError(source.problem)
    return documents


def load_machine_code() -> None:
    """Loads the compiled scanner, which the first piece would otherwise wait for."""
    Scanner().scan([b"]"], is_first=True)


def _keep_freed_memory() -> None:
    """Has columns reuse the memory of earlier ones, where page faults would cost a small file more than its arithmetic.

    Linux's allocator keeps blocks as large as the largest one that was freed so far, so one is freed here, untouched.
    """
    np.empty(_KEPT_BYTES, np.uint8)


@dataclass
class _EventsScan:
    """Scans one document's events; `text` stands behind the list's `[` and is left behind its `]`."""

    text: Text
    threads: ThreadPoolExecutor
    idle: SimpleQueue[Scanner] = field(default_factory=SimpleQueue)
    waiting: deque[tuple[Sequence[Part], Future[Scanned]]] = field(default_factory=deque)
    finished: list[Scanned] = field(default_factory=list)

    def scan(self) -> list[Scanned]:
        """The pieces in the order of the text."""
        for _ in range(_SCANNER_COUNT):
            self.idle.put(Scanner())
        rest, block, is_first = b"", self.text.rest(), True
        while True:
            cut = last_event_end(block, 0)
            if cut:
                self._submit((rest, memoryview(block)[:cut]), is_first)
                rest, is_first = block[cut:], False
            else:
                rest += block
            if len(self.waiting) == _MOST_WAITING and self._is_closed_by_next(rest):
                return self.finished
            coming = None if len(rest) > LONGEST_EVENT_BYTES else self.text.next_block()
            if coming is None:
                break
            block = coming
        self._submit((rest,), is_first)
        while self.waiting:
            if self._is_closed_by_next(b""):
                return self.finished
        raise RefusedError("the list of events is not closed")

    def _submit(self, parts: Sequence[Part], is_first: bool) -> None:
        self.waiting.append((parts, self.threads.submit(self._scan_piece, parts, is_first)))

    def _scan_piece(self, parts: Sequence[Part], is_first: bool) -> Scanned:
        scanner = self.idle.get()
        try:
            return scanner.scan(parts, is_first)
        finally:
            self.idle.put(scanner)

    def _is_closed_by_next(self, rest: bytes) -> bool:
        """Takes the oldest piece; when the list ends in it, gives back all text behind that."""
        parts, future = self.waiting.popleft()
        scanned = future.result()
        self.finished.append(scanned)
        if scanned.closed_at is None:
            return False
        later = [part for parts_behind, _ in self.waiting for part in parts_behind]
        for _, unneeded in self.waiting:  # text of another document, or none
            unneeded.exception()
        self.text.put_back(b"".join([b"".join(parts)[scanned.closed_at :], *later, rest]))
        return True


def _document(pieces: list[Scanned], head: dict[str, Any]) -> Document:
    """The pieces as one document; refuses when a word needs a repair, since only the tolerant reader counts those."""
    words = _Words()
    host, work = _columns(pieces, "host", words), _columns(pieces, "work", words)
    work["grid"] = words.changed(work["grid"], _without_brackets)
    work["block"] = words.changed(work["block"], _without_brackets)
    work["stream"] = words.changed(work["stream"], lambda text: text.removeprefix("stream "))
    names, counts = DocumentBuilder(Notes()), Counter[str]()
    for piece in pieces:
        counts.update(piece.category_counts)
        for event in piece.metadata:
            names.add_metadata(event)
    return Document(
        host=HostEvents(**host),
        work=WorkEvents(**work),
        words=list(words.texts),
        head=head,
        category_counts=dict(counts),
        process_names=names.process_names,
        thread_names=names.thread_names,
    )


def _columns(pieces: list[Scanned], side: str, words: _Words) -> dict[str, npt.NDArray[Any]]:
    """The whole columns of hosts or work; each batch's part is let go as soon as it is copied."""
    whole = {}
    for key in [key for key in pieces[0].batches[0] if key.startswith(f"{side}.")]:
        name = key.removeprefix(f"{side}.")
        parts = []
        for piece in pieces:
            lookup = words.lookup_of(piece.scanner) if name in _CODES[side] else None
            for batch in piece.batches:
                part = batch.pop(key)
                parts.append(part if lookup is None else lookup.take(part))
        whole[name] = np.concatenate(parts)
    return whole


@dataclass
class _Words:
    """All scanners' tokens as texts, with the code of each: each text once, so that merging finds nothing to change."""

    texts: dict[str, int] = field(default_factory=dict)
    codes: dict[bytes, int] = field(default_factory=dict)
    lookups: dict[Scanner, Codes] = field(default_factory=dict)

    def lookup_of(self, scanner: Scanner) -> Codes:
        """From that scanner's codes to those of `texts`; its last entry serves NO_WORD."""
        if scanner not in self.lookups:
            tokens = [scanner.tokens.token(code) for code in range(len(scanner.tokens))]
            self.lookups[scanner] = np.array([*map(self._code, tokens), NO_WORD], np.int32)
        return self.lookups[scanner]

    def _code(self, token: bytes) -> int:
        code = self.codes.get(token)
        if code is None:
            text, repairs = readable(token)
            if repairs:
                raise RefusedError(f"a string to repair: {repairs[0]}")
            code = self.codes[token] = self._code_of_text(text)
        return code

    def _code_of_text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def changed(self, codes: Codes, change: Callable[[str], str]) -> Codes:
        """The codes of changed texts; an empty one is NO_WORD."""
        texts = list(self.texts)
        lookup = np.full(len(texts) + 1, NO_WORD, np.int32)
        for code in distinct_rows(codes).tolist():
            text = change(texts[code])
            if text:
                lookup[code] = self._code_of_text(text)
        return lookup.take(codes)


def _without_brackets(text: str) -> str:
    return text.translate(_BRACKETS)
