"""How does one thread scan one piece of text after the other? With its own tables, so that several can work at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from explorer.ingest.categories import kind_of_category
from explorer.ingest.document import LONGEST_EVENT_BYTES
from explorer.ingest.events import Event
from explorer.ingest.machine_code import load_scan_block
from explorer.ingest.rows import NOT_KEPT, UNKNOWN_CATEGORY, RowBuffers
from explorer.ingest.scan_layout import (
    CURSOR_BYTES,
    IS_FIRST_AT,
    LIST_CLOSED,
    MORE_TEXT,
    NEW_CATEGORY,
    NEXT_AT,
    PADDING_BYTES,
    REFUSED,
    ROWS_FULL,
    TOKENS_FULL,
)
from explorer.ingest.token_table import TokenTable
from explorer.ingest.words import readable

Part = bytes | memoryview


class RefusedError(Exception):
    """The text is none that the fast path reads; the tolerant one takes it."""


@dataclass(frozen=True)
class Scanned:
    """What one piece of text held. Codes are those of `scanner`'s token table.

    `closed_at` is where the list of events ended, None where the whole piece was events.
    """

    scanner: Scanner
    batches: list[dict[str, npt.NDArray[Any]]]
    metadata: list[Event]
    category_counts: dict[str, int]
    closed_at: int | None


@dataclass(eq=False)
class Scanner:
    """One thread's tables."""

    tokens: TokenTable = field(default_factory=TokenTable)
    rows: RowBuffers = field(default_factory=RowBuffers)
    cursor: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(CURSOR_BYTES // 8, np.int64))
    text: npt.NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    scan_block: Callable[..., int] = field(default_factory=lambda: _scan_block())

    def scan(self, parts: Sequence[Part], is_first: bool) -> Scanned:
        """Scans a piece, given in parts: it begins before an event and ends behind one, or holds the list's end.

        `is_first` when the piece begins behind the list's `[`. Raises RefusedError for anything unusual.
        """
        buffer = self._padded(parts)
        origin = buffer.ctypes.data
        address, end = origin, origin + len(buffer) - PADDING_BYTES
        cursor, tokens, rows = (one.ctypes.data for one in (self.cursor, self.tokens.layout, self.rows.layout))
        batches: list[dict[str, npt.NDArray[Any]]] = []
        metadata: list[Event] = []
        while True:
            status = self.scan_block(address, end, is_first, cursor, tokens, rows)
            address, is_first = int(self.cursor[NEXT_AT // 8]), bool(self.cursor[IS_FIRST_AT // 8])
            if status == REFUSED:
                raise RefusedError("unusual text")
            if status in (MORE_TEXT, LIST_CLOSED, ROWS_FULL):
                batches.append(self.rows.take())
                metadata += [_event(buffer[one - origin : other - origin]) for one, other in self.rows.take_metadata()]
            if status == MORE_TEXT and buffer[address - origin : end - origin].tobytes().strip():
                raise RefusedError("a piece that ends inside an event")
            if status in (MORE_TEXT, LIST_CLOSED):
                closed_at = address - origin if status == LIST_CLOSED else None
                return Scanned(self, batches, metadata, self._take_category_counts(), closed_at)
            self._make_room(status)

    def _padded(self, parts: Sequence[Part]) -> npt.NDArray[np.uint8]:
        """All parts in one array, with the zeros behind them that compiled code stops at; the last piece's is gone."""
        length = sum(map(len, parts))
        if len(self.text) < length + PADDING_BYTES:
            self.text = np.empty(length + length // 8 + PADDING_BYTES, np.uint8)
        place = 0
        for part in parts:
            self.text[place : place + len(part)] = np.frombuffer(part, np.uint8)
            place += len(part)
        self.text[length : length + PADDING_BYTES] = 0
        return self.text[: length + PADDING_BYTES]

    def _make_room(self, status: int) -> None:
        if status == TOKENS_FULL:
            self.tokens.grow(LONGEST_EVENT_BYTES // 16)
        elif status == NEW_CATEGORY:
            self._resolve_category(self.rows.count(UNKNOWN_CATEGORY))

    def _resolve_category(self, code: int) -> None:
        self.rows.make_kinds(self.tokens.room)
        token = self.tokens.token(code)
        category, repairs = readable(token)
        if repairs or b"\\" in token:
            raise RefusedError("an unusual category")
        kind = None if _is_phase(token) else kind_of_category(category)
        self.rows.kinds[code] = NOT_KEPT if kind is None else kind

    def _take_category_counts(self) -> dict[str, int]:
        """How many events of each category there were since the last time."""
        counts = {}
        for code in np.flatnonzero(self.rows.category_counts).tolist():
            token = self.tokens.token(code)
            name = readable(token)[0]
            counts[f"ph:{name}" if _is_phase(token) else name] = int(self.rows.category_counts[code])
        self.rows.category_counts[:] = 0
        return counts


def _scan_block() -> Callable[..., int]:
    try:
        return load_scan_block()
    except OSError:
        raise RefusedError("the scanner is not compiled yet") from None


def _is_phase(token: bytes) -> bool:
    """Events without a category are counted by their phase, one letter in quotes."""
    return len(token) == len(b'"X"')


def _event(text: npt.NDArray[np.uint8]) -> Event:
    try:
        return msgspec.json.decode(text.tobytes(), type=Event)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise RefusedError("unusual metadata") from None
