"""How is a trace read that may be broken anywhere? Block by block, keeping every event that is whole.

    { "schemaVersion": 1, ..., "traceEvents": [  {event},  {event},  ... ], "baseTimeNanoseconds": ... }
      └ head ──────────────────────────────────┘ └ events, a batch a block ┘ └ tail ──────────────────┘

A batch is decoded in one go; only where that fails are its events taken one by one, repaired, and if that fails too
dropped and counted. The next document of the file, if any, starts after the tail.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from explorer.ingest.building import DocumentBuilder
from explorer.ingest.columns import Document
from explorer.ingest.events import Event
from explorer.ingest.open import Source
from explorer.ingest.repair import STRING, Notes, repaired, repaired_ends

_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_FLAT = rb'(?:[^{}"]++|' + STRING + rb")"


def _balanced(depth: int) -> bytes:
    inner = _FLAT if depth == 0 else rb"(?:" + _FLAT + rb"|" + _balanced(depth - 1) + rb")"
    return rb"\{" + inner + rb"*+\}"


_ELEMENT = re.compile(_balanced(4), re.DOTALL)
_REST_OF_OBJECT = re.compile(rb"(?:" + _FLAT + rb"|" + _balanced(4) + rb")*+\}", re.DOTALL)
_BETWEEN = re.compile(rb"[\s,]*+")
_NEXT_EVENT = re.compile(rb',\s*\{\s*"(?:ph|name|cat|pid|tid|ts)"\s*:')
_SCALAR = re.compile(rb"[^\s,{}\[\]]++")
_LONGEST_EVENT_BYTES = 32 << 20


@dataclass
class _Text:
    """The part of the text that is not consumed yet; `offset` is where it starts in the whole."""

    blocks: Iterator[bytes]
    buffer: bytes = b""
    offset: int = 0
    position: int = 0
    is_complete: bool = False

    def extend(self) -> bool:
        """Appends the next block and forgets what was consumed; False when there is none."""
        block = next(self.blocks, None)
        if block is None:
            self.is_complete = True
            return False
        self.offset += self.position
        self.buffer = self.buffer[self.position :] + block
        self.position = 0
        return True

    def rest_is_blank(self) -> bool:
        return not self.buffer[self.position :].strip(b" \t\r\n,\x00\xef\xbb\xbf")

    def at(self) -> int:
        """Where the next byte stands in the whole text."""
        return self.offset + self.position


@dataclass
class _Reader:
    text: _Text
    decoder: msgspec.json.Decoder[Event] = field(default_factory=lambda: msgspec.json.Decoder(Event))
    batch_decoder: msgspec.json.Decoder[list[Event]] = field(default_factory=lambda: msgspec.json.Decoder(list[Event]))

    def documents(self) -> Iterator[Document]:
        while self._skip_blank():
            notes = Notes()
            builder = DocumentBuilder(notes)
            head = self._read_head()
            if head is None:
                builder.notes.add("foreign_document", self.text.at())
                yield builder.document({})
                return
            is_bare_list = head == b"["
            closed = self._read_events(builder)
            tail = b"" if is_bare_list or not closed else self._read_tail()
            yield builder.document({} if is_bare_list else _other_keys(head, tail, notes))

    def _skip_blank(self) -> bool:
        while self.text.rest_is_blank():
            self.text.position = len(self.text.buffer)
            if not self.text.extend():
                return False
        return True

    def _read_head(self) -> bytes | None:
        """The text before the events, `[` for a bare list, None when no events follow."""
        text = self.text
        while True:
            start = _BETWEEN.match(text.buffer, text.position)
            begin = start.end() if start else text.position
            if text.buffer[begin : begin + 3] == b"\xef\xbb\xbf":
                begin += 3
            if text.buffer[begin : begin + 1] == b"[":
                text.position = begin + 1
                return b"["
            key = _EVENTS_KEY.search(text.buffer, begin)
            if key:
                text.position = key.end()
                return text.buffer[begin : key.start()]
            if len(text.buffer) - begin > _LONGEST_EVENT_BYTES or not text.extend():
                text.position = len(text.buffer)
                return None

    def _read_events(self, builder: DocumentBuilder) -> bool:
        """Reads up to the list's `]`; False when the text ends before it."""
        text = self.text
        while True:
            self._read_batch(builder)
            while True:
                gap = _BETWEEN.match(text.buffer, text.position)
                text.position = gap.end() if gap else text.position
                if text.position == len(text.buffer):
                    break
                if text.buffer[text.position : text.position + 1] == b"]":
                    text.position += 1
                    return True
                if not self._read_one(builder):
                    break
            if not text.extend():
                self._note_end(builder)
                return False

    def _read_batch(self, builder: DocumentBuilder) -> None:
        text = self.text
        cut = _last_event_end(text.buffer, text.position)
        if cut <= text.position:
            return
        piece = text.buffer[text.position : cut]
        lead = _BETWEEN.match(piece)
        piece = piece[lead.end() :] if lead else piece
        try:
            events = self.batch_decoder.decode(b"[" + piece + b"]")
        except (msgspec.DecodeError, UnicodeDecodeError):
            return
        builder.add(events, text.buffer, text.offset)
        text.position = cut

    def _read_one(self, builder: DocumentBuilder) -> bool:
        """Takes one list entry; False when more text is needed first (or nothing can be read any more)."""
        text = self.text
        if text.buffer[text.position : text.position + 1] != b"{":
            return self._skip_odd_entry(builder)
        match = _ELEMENT.match(text.buffer, text.position)
        if match and self._add_one(match.group(), builder):
            text.position = match.end()
            return True
        following = _NEXT_EVENT.search(text.buffer, text.position + 1)
        if match is None and following is None and len(text.buffer) - text.position < _LONGEST_EVENT_BYTES:
            return False
        end = following.start() if following else (match.end() if match else len(text.buffer))
        if not self._add_one(repaired_ends(text.buffer[text.position : end]), builder):
            builder.notes.add("dropped_event", text.at())
        text.position = end
        return True

    def _add_one(self, element: bytes, builder: DocumentBuilder) -> bool:
        try:
            event = self.decoder.decode(element)
        except (msgspec.DecodeError, UnicodeDecodeError):
            attempt = Notes()
            try:
                event = self.decoder.decode(_ascii(repaired(element, self.text.at(), attempt)))
            except (msgspec.DecodeError, UnicodeDecodeError):
                return False
            builder.notes.merge(attempt)
        builder.add([event], element, self.text.at())
        return True

    def _skip_odd_entry(self, builder: DocumentBuilder) -> bool:
        text = self.text
        scalar = _SCALAR.match(text.buffer, text.position)
        end = scalar.end() if scalar else text.position + 1
        if end == len(text.buffer) and not text.is_complete:
            return False
        builder.notes.add("odd_event", text.at())
        text.position = end
        return True

    def _note_end(self, builder: DocumentBuilder) -> None:
        text = self.text
        rest = text.buffer[text.position :].strip()
        builder.notes.add("truncated" if rest else "unclosed", text.at())
        text.position = len(text.buffer)

    def _read_tail(self) -> bytes:
        text = self.text
        while True:
            match = _REST_OF_OBJECT.match(text.buffer, text.position)
            if match:
                text.position = match.end()
                return match.group()
            if not text.extend():
                rest = text.buffer[text.position :]
                text.position = len(text.buffer)
                return rest


def _ascii(element: bytes) -> bytes:
    r"""The same bytes where they are UTF-8; otherwise the odd ones are shown as `\\xb5`."""
    try:
        element.decode("utf-8")
    except UnicodeDecodeError:
        return element.decode("utf-8", "backslashreplace").replace("\\x", "\\\\x").encode("utf-8")
    return element


def _last_event_end(buffer: bytes, begin: int) -> int:
    """Just behind the last event that is surely whole: another one begins after it. `begin` when there is none."""
    end = len(buffer)
    for _ in range(64):
        end = buffer.rfind(b"}", begin, end)
        if end < 0:
            return begin
        if _NEXT_EVENT.match(buffer, _skip_space(buffer, end + 1)):
            return end + 1
    return begin


def _skip_space(buffer: bytes, position: int) -> int:
    while buffer[position : position + 1].isspace():
        position += 1
    return position


def _other_keys(head: bytes, tail: bytes, notes: Notes) -> dict[str, Any]:
    """The document's keys around its events; an unreadable head is no reason to lose the events."""
    text = head + b'"traceEvents":[]' + (tail or b"}")
    for attempt in (text, repaired(text, 0, Notes())):
        try:
            found = json.loads(attempt.decode("utf-8", "backslashreplace"), strict=False)
        except ValueError:
            continue
        return found if isinstance(found, dict) else {}
    notes.add("dropped_event", 0)
    return {}


def read_documents(source: Source) -> list[Document]:
    """Every document of the source; raises TraceError only for content that cannot be a trace."""
    return list(_Reader(_Text(source.blocks())).documents())
