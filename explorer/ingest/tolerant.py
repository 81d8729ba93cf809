"""How is a trace read that may be broken anywhere? Block by block, keeping every event that is whole.

A batch of events is decoded in one go; only where that fails are its events taken one by one, repaired, and if that
fails too dropped and counted. The next document of the file, if any, starts after the tail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import msgspec

from explorer.ingest.building import DocumentBuilder
from explorer.ingest.columns import Document
from explorer.ingest.document import (
    BARE_LIST,
    BETWEEN_EVENTS,
    LONGEST_EVENT_BYTES,
    NEXT_EVENT,
    Text,
    balanced,
    last_event_end,
    object_end,
    other_keys,
)
from explorer.ingest.events import PHASED, Event, LooseEvent, Phased, event_of
from explorer.ingest.open import Source, ahead
from explorer.ingest.repair import Notes, repaired, repaired_ends
from explorer.ingest.ticks import is_exact
from explorer.ingest.words import is_utf8

_ELEMENT = re.compile(balanced(4), re.DOTALL)
_SCALAR = re.compile(rb"[^\s,{}\[\]]++")


@dataclass
class _Reader:
    text: Text
    decoder: msgspec.json.Decoder[Event] = field(default_factory=lambda: msgspec.json.Decoder(Event))
    loose_decoder: msgspec.json.Decoder[LooseEvent] = field(default_factory=lambda: msgspec.json.Decoder(LooseEvent))
    batch_decoder: msgspec.json.Decoder[list[Event]] = field(default_factory=lambda: msgspec.json.Decoder(list[Event]))
    phased_decoder: msgspec.json.Decoder[list[Phased]] = field(
        default_factory=lambda: msgspec.json.Decoder(list[PHASED])
    )

    def documents(self) -> Iterator[Document]:
        while self.text.skip_blank():
            notes = Notes()
            builder = DocumentBuilder(notes)
            head = self.text.read_head()
            if head is None:
                notes.add("foreign_document", self.text.at())
                yield builder.document({})
                return
            closed = self._read_events(builder)
            tail = self.text.read_tail() if closed and head != BARE_LIST else b""
            yield builder.document(other_keys(head, tail, notes))

    def _read_events(self, builder: DocumentBuilder) -> bool:
        """Reads up to the list's `]`; False when the text ends before it."""
        text = self.text
        while True:
            self._read_batch(builder)
            while True:
                gap = BETWEEN_EVENTS.match(text.buffer, text.position)
                text.position = gap.end() if gap else text.position
                if text.position == len(text.buffer):
                    break
                if text.buffer[text.position : text.position + 1] == b"]":
                    text.position += 1
                    return True
                if not self._read_one(builder):
                    break
            if not text.extend_twofold():
                self._note_end(builder)
                return False

    def _read_batch(self, builder: DocumentBuilder) -> None:
        text = self.text
        cut = last_event_end(text.buffer, text.position)
        if cut <= text.position:
            return
        lead = BETWEEN_EVENTS.match(text.buffer, text.position)
        piece = b"".join((b"[", memoryview(text.buffer)[lead.end() if lead else text.position : cut], b"]"))
        events = self._decoded_batch(piece)
        if events is not None and builder.add(events, text.buffer, text.offset):
            text.position = cut

    def _decoded_batch(self, piece: bytes) -> Sequence[Event | Phased] | None:
        """The events; None when one of them is broken. One without a phase, or of an odd one, is not."""
        try:
            return self.phased_decoder.decode(piece)
        except (UnicodeDecodeError, RecursionError):
            return None
        except msgspec.DecodeError:
            pass
        try:
            return self.batch_decoder.decode(piece)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def _read_one(self, builder: DocumentBuilder) -> bool:
        """Takes one list entry; False when more text is needed first (or nothing can be read any more)."""
        text = self.text
        if text.buffer[text.position : text.position + 1] != b"{":
            return self._skip_odd_entry(builder)
        match = _ELEMENT.match(text.buffer, text.position)
        following = None if match else NEXT_EVENT.search(text.buffer, text.position + 1)
        end = match.end() if match else None
        if match is None and following is None:
            end = object_end(text.buffer, text.position)
        if end is not None and self._add_one(text.buffer[text.position : end], builder):
            text.position = end
            return True
        following = following or NEXT_EVENT.search(text.buffer, text.position + 1)
        if end is None and following is None and len(text.buffer) - text.position < LONGEST_EVENT_BYTES:
            return False
        end = following.start() if following else end or len(text.buffer)
        if not self._add_one(repaired_ends(text.buffer[text.position : end]), builder):
            builder.notes.add("dropped_event", text.at())
        text.position = end
        return True

    def _add_one(self, element: bytes, builder: DocumentBuilder) -> bool:
        attempt = Notes()
        event = self._decoded(element) if is_utf8(element) else None
        if event is None:
            event = self._decoded(repaired(element, self.text.at(), attempt))
        if event is None:
            return False
        builder.notes.merge(attempt)
        builder.add([event], element, self.text.at())
        return True

    def _decoded(self, element: bytes) -> Event | None:
        """The event, with values of unusual kinds understood as far as they can be.

        None when it is not JSON, or nested deeper than any decoder goes.
        """
        try:
            event = self.decoder.decode(element)
            if is_exact(event.ts) and is_exact(event.dur):
                return event
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
        try:
            return event_of(self.loose_decoder.decode(element))
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError):
            return None

    def _skip_odd_entry(self, builder: DocumentBuilder) -> bool:
        text = self.text
        scalar = _SCALAR.match(text.buffer, text.position)
        end = scalar.end() if scalar else text.position + 1
        if end == len(text.buffer) and not text.is_complete and end - text.position < LONGEST_EVENT_BYTES:
            return False
        builder.notes.add("odd_event", text.at())
        text.position = end
        return True

    def _note_end(self, builder: DocumentBuilder) -> None:
        text = self.text
        rest = text.buffer[text.position :].strip()
        builder.notes.add("truncated" if rest else "unclosed", text.at())
        text.position = len(text.buffer)


def read_documents(source: Source) -> list[Document]:
    """Every document of the source; raises TraceError only for content that cannot be a trace."""
    with ThreadPoolExecutor(1) as reader:
        return list(_Reader(Text(ahead(source.blocks(), reader))).documents())
