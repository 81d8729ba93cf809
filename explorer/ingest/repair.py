"""How is one broken event made readable again, and what is then said about it?

Repairs touch only what JSON refuses: backslashes written raw, control characters inside strings, bare `inf`, `nan`
and `N/A` where a number belongs, a comma behind the last key or entry. Strings that were escaped correctly stay as
they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from explorer.ingest.words import escape_raw_backslashes, has_raw_backslashes, is_utf8, visible_bytes
from explorer.trace import ReadingNote

STRING = rb'"(?:[^"\\]++|\\.)*+"'
_TOKEN = re.compile(rb"(" + STRING + rb")|([^\"]+)", re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_BARE_WORD = re.compile(rb"(?<=[:,\[\s])(?:-?(?:inf(?:inity)?|nan(?:\(\w*\))?)|n/a|none|undefined)(?=[,\]}\s])", re.I)
_TRAILING_COMMA = re.compile(rb",(?=\s*[}\]])")
_ESCAPED_END = re.compile(rb'\\"(?=\s*(?:[}\]]|,\s*"[^"]{1,80}"\s*:))')

_TEXTS = {
    "raw_backslash": "[string|strings] with unescaped backslashes, shown with [its|their] backslashes",
    "control_character": "[string|strings] with raw control characters, shown as their pictures",
    "not_utf8": "[string|strings] with bytes that are not UTF-8, shown as \\x..",
    "not_a_number": "bare inf, nan or N/A where a number belongs, taken as missing",
    "trailing_comma": "[comma|commas] with nothing behind [it|them], taken as absent",
    "dropped_event": "[event|events] that could not be read at all",
    "no_start": "[event|events] without a usable start time",
    "far_start": "[event that begins|events that begin] more than 146 years after 0, left out of every figure: "
    "[its time|their times] may be nanoseconds, where a trace has microseconds",
    "unfilled": "[event|events] that the profiler never filled in ([it begins|they begin] at exactly 0, far before all "
    "others), left out of every figure",
    "no_duration": "[event|events] whose duration is missing or not a number, left out of every figure",
    "negative_duration": "[event|events] with a negative duration, left out of every figure",
    "unclosed": "[document|documents] whose event list is not closed; every event is whole",
    "truncated": "[place|places] where the file ends or breaks in the middle of an event: what was whole was kept, and "
    "the workload may have gone on",
    "gzip_damaged": "compressed [stream that ends early or is|streams that end early or are] damaged: what unpacked "
    "was kept",
    "begin_end": "[event|events] written as a begin and an end (ph B and E), left out: only complete events (ph X) are "
    "read, as torch.profiler writes them",
    "unknown_kind": "[event|events] of no kind that is known here, left out: another tool than torch.profiler may have "
    "written [it|them]",
    "unreadable_head": "[document|documents] whose keys around the events could not be read",
    "odd_event": "list [entry that is no event|entries that are no events]",
    "foreign_document": "JSON [document|documents] without events in the file, left out",
}
"""What a note says behind its count; brackets hold the words of one and of several."""
_ONE_OR_SEVERAL = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")


@dataclass
class Notes:
    """What reading repaired or dropped: how often, and at which byte of the text first."""

    counts: dict[str, int] = field(default_factory=dict)
    first_bytes: dict[str, int | None] = field(default_factory=dict)

    def add(self, kind: str, first_byte: int | None, count: int = 1) -> None:
        """Counts one more of that kind."""
        if count:
            self.counts[kind] = self.counts.get(kind, 0) + count
            self.first_bytes.setdefault(kind, first_byte)

    def merge(self, others: Notes) -> None:
        """Adds what another collection noted."""
        for kind, count in others.counts.items():
            self.add(kind, others.first_bytes[kind], count)

    def to_reading_notes(self) -> tuple[ReadingNote, ...]:
        """One note a kind."""
        return tuple(
            ReadingNote(kind, count, f"{count:,} {_counted(_TEXTS[kind], count)}", self.first_bytes[kind])
            for kind, count in self.counts.items()
        )


def _counted(words: str, count: int) -> str:
    return _ONE_OR_SEVERAL.sub(r"\1" if count == 1 else r"\2", words)


def repaired(element: bytes, offset: int, notes: Notes) -> bytes:
    """The event with what JSON refuses repaired and noted; `offset` is its place in the text."""
    return b"".join(_repaired_tokens(element, offset, notes))


def repaired_ends(element: bytes) -> bytes:
    r"""The event with `C:\dir\"` read as a string that ends in a backslash, every backslash in it being meant."""
    return _ESCAPED_END.sub(rb'\\\\"', escape_raw_backslashes(element))


def _repaired_tokens(element: bytes, offset: int, notes: Notes) -> Iterator[bytes]:
    for match in _TOKEN.finditer(element):
        token = match.group()
        if match.group(1) is None:
            token, words = _BARE_WORD.subn(b"null", token)
            notes.add("not_a_number", offset + match.start(), words)
            token, commas = _TRAILING_COMMA.subn(b"", token)
            notes.add("trailing_comma", offset + match.start(), commas)
        else:
            if has_raw_backslashes(token):
                token = escape_raw_backslashes(token)
                notes.add("raw_backslash", offset + match.start())
            if not is_utf8(token):
                token = visible_bytes(token)
                notes.add("not_utf8", offset + match.start())
            token, controls = _CONTROL.subn(lambda found: chr(0x2400 + found.group()[0]).encode(), token)
            notes.add("control_character", offset + match.start(), min(controls, 1))
        yield token
