"""Where do a file's JSON documents begin and end, and what stands around their events?

    { "schemaVersion": 1, ..., "traceEvents": [  {event},  {event},  ... ], "baseTimeNanoseconds": ... }
      └ head ──────────────────────────────────┘                        └ tail ──────────────────────┘

Both readers walk a file with this; they differ in how they take the events between.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from explorer.ingest.repair import STRING, Notes, repaired

LONGEST_EVENT_BYTES = 32 << 20
"""An event, a head without events or a tail beyond this is given up: nothing legal is that long."""
BARE_LIST = b"["
"""The head of a document that is a list of events and nothing else."""

_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_FLAT = rb'(?:[^{}"]++|' + STRING + rb")"
_BLANK = re.compile(rb"[ \t\r\n,\x00\xef\xbb\xbf]*+")
_MARK = b"\xef\xbb\xbf"


def balanced(depth: int) -> bytes:
    """A pattern for an object with up to `depth` levels of objects inside it; lists need no counting."""
    inner = _FLAT if depth == 0 else rb"(?:" + _FLAT + rb"|" + balanced(depth - 1) + rb")"
    return rb"\{" + inner + rb"*+\}"


_REST_OF_OBJECT = re.compile(rb"(?:" + _FLAT + rb"|" + balanced(4) + rb")*+\}", re.DOTALL)
NEXT_EVENT = re.compile(rb',\s*\{\s*"(?:ph|name|cat|pid|tid|ts)"\s*:')
"""What stands between two events; inside one it is very rare."""
BETWEEN_EVENTS = re.compile(rb"[\s,]*+")
_BRACE = re.compile(STRING + rb"|[{}]", re.DOTALL)


@dataclass
class Text:
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

    def extend_twofold(self) -> bool:
        """Appends as much text again as is not consumed, so that looking at it anew costs twice as much in all."""
        wanted = 2 * (len(self.buffer) - self.position)
        is_longer = self.extend()
        while is_longer and len(self.buffer) < wanted and self.extend():
            continue
        return is_longer

    def rest(self) -> bytes:
        """All that has been fetched and not consumed; consumed now."""
        rest = self.buffer[self.position :]
        self.offset += len(self.buffer)
        self.buffer, self.position = b"", 0
        return rest

    def next_block(self) -> bytes | None:
        """The next block, consumed at once; None when there is none."""
        block = next(self.blocks, None)
        self.offset += len(block or b"")
        return block

    def put_back(self, rest: bytes) -> None:
        """Undoes the consuming of the last bytes."""
        self.offset -= len(rest)
        self.buffer, self.position = rest, 0

    def at(self) -> int:
        """Where the next byte stands in the whole text."""
        return self.offset + self.position

    def skip_blank(self) -> bool:
        """Goes to the next document; False when nothing but white space is left."""
        while _BLANK.fullmatch(self.buffer, self.position):
            self.position = len(self.buffer)
            if not self.extend():
                return False
        return True

    def read_head(self) -> bytes | None:
        """The text before the events, BARE_LIST for a bare list, None when no events follow."""
        while True:
            gap = BETWEEN_EVENTS.match(self.buffer, self.position)
            begin = gap.end() if gap else self.position
            if self.buffer.startswith(_MARK, begin):
                begin += len(_MARK)
            if self.buffer.startswith(BARE_LIST, begin):
                self.position = begin + 1
                return BARE_LIST
            key = _EVENTS_KEY.search(self.buffer, begin)
            if key:
                self.position = key.end()
                return self.buffer[begin : key.start()]
            if len(self.buffer) - begin > LONGEST_EVENT_BYTES or not self.extend_twofold():
                self.position = len(self.buffer)
                return None

    def read_tail(self) -> bytes:
        """The text from behind the events' `]` to behind the document's `}`, or to the end of what can be one."""
        while True:
            match = _REST_OF_OBJECT.match(self.buffer, self.position)
            if match:
                self.position = match.end()
                return match.group()
            if len(self.buffer) - self.position > LONGEST_EVENT_BYTES or not self.extend_twofold():
                rest = self.buffer[self.position :]
                self.position = len(self.buffer)
                return rest


def _missing(_word: str) -> None:
    """What NaN and Infinity stand for in a head."""


def other_keys(head: bytes, tail: bytes, notes: Notes) -> dict[str, Any]:
    """The document's keys around its events; an unreadable head is no reason to lose the events."""
    if head == BARE_LIST:
        return {}
    text = head + b'"traceEvents":[]' + (tail or b"}")
    for attempt in (text, repaired(text, 0, Notes())):
        try:
            found = json.loads(attempt.decode("utf-8", "backslashreplace"), strict=False, parse_constant=_missing)
        except (ValueError, RecursionError):
            continue
        return found if isinstance(found, dict) else {}
    notes.add("unreadable_head", 0)
    return {}


def last_event_end(buffer: bytes, begin: int) -> int:
    """Just behind the last event that is surely whole: another one begins after it. `begin` when there is none."""
    end = len(buffer)
    for _ in range(64):
        end = buffer.rfind(b"}", begin, end)
        if end < 0:
            return begin
        if NEXT_EVENT.match(buffer, _skip_space(buffer, end + 1)):
            return end + 1
    return begin


def object_end(buffer: bytes, begin: int) -> int | None:
    """Just behind the object that begins there, however deep it is; None when it is not closed."""
    depth = 0
    for brace in _BRACE.finditer(buffer, begin):
        depth += {b"{": 1, b"}": -1}.get(brace.group(), 0)
        if depth == 0:
            return brace.end()
    return None


def _skip_space(buffer: bytes, position: int) -> int:
    while buffer[position : position + 1].isspace():
        position += 1
    return position
