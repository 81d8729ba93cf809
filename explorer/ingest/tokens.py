"""How do many values become a column at once: codes of words, whole numbers, nanoseconds?

Dictionaries with `__missing__` keep the common case inside the interpreter's own loops; only a value that is new, or a
column with something unusual in it, is looked at one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from explorer.ingest.columns import ABSENT, NO_WORD, Longs
from explorer.ingest.events import Tick
from explorer.ingest.ticks import LIMIT_NS, NANOSECONDS_OF_MICROSECOND, are_exact, nanoseconds
from explorer.ingest.words import Repair, readable, shown

_INTEGER_LIMIT = 1 << 62
Value = TypeVar("Value")


class WordCodes(dict[str | None, int]):
    """Text → code, each distinct one looked at once; −1 for None and for the empty text.

    `buffer` and `offset` say where the texts asked for come from, so that a repair knows its first byte.
    """

    def __init__(self) -> None:
        super().__init__({None: NO_WORD, "": NO_WORD})
        self.texts: list[str] = []
        self.repairs: dict[int, tuple[tuple[Repair, ...], int]] = {}
        self.buffer, self.offset = b"", 0

    def __missing__(self, text: str) -> int:
        visible, repairs = shown(text)
        code = self[text] = len(self.texts)
        self.texts.append(visible)
        if repairs:
            self.repairs[code] = (repairs, self.first_byte(_as_written(text)))
        return code

    def first_byte(self, token: bytes) -> int:
        """Where the token stands in the whole text, as far as the current buffer tells."""
        return self.offset + max(self.buffer.find(token), 0)


class ChangedCodes(dict[Value, int], Generic[Value]):
    """Value → code of the text that a function makes of it."""

    def __init__(self, words: WordCodes, change: Callable[[Value], str]) -> None:
        super().__init__()
        self._words, self._change = words, change

    def __missing__(self, value: Value) -> int:
        code = self[value] = self._words[self._change(value)]
        return code


def _as_written(text: str) -> bytes:
    try:
        return msgspec.json.encode(text)
    except UnicodeEncodeError:  # half of a surrogate pair
        return b""


def raw_text(token: bytes) -> str:
    """A value as it stands in the file, a string without its quotes; empty for null."""
    return "" if token == b"null" else readable(token)[0]


def label(value: int | str | None) -> str:
    """A process or thread as text; one that is not given still is one."""
    return "?" if value in (None, "") else str(value)


def stream(value: int | str | None) -> str:
    """A stream as text; 2021's threads of a GPU are called "stream 7"."""
    return "" if value is None else str(value).removeprefix("stream ")


def name(value: str | None) -> str:
    """An event's name; one without still is an event."""
    return value or "(unnamed)"


def sizes(token: bytes) -> str:
    """`[8, 1, 1]` → `8,1,1`."""
    return raw_text(token.translate(None, b"[] \t\r\n"))


def codes_column(codes: dict[Any, int], values: Sequence[Any]) -> npt.NDArray[np.int32]:
    """The code of each value."""
    return np.fromiter(map(codes.__getitem__, values), np.int32, len(values))


def all_exact(values: Sequence[Tick]) -> bool:
    """Whether every time that became a float is the one that its digits say."""
    return are_exact(np.array([value for value in values if type(value) is float], np.float64))


def ticks_column(values: Sequence[Tick]) -> Longs | None:
    """Nanoseconds of each time; None where not all are exact and plain numbers: then `ticks` has to look at each."""
    try:
        found = np.array(values)
    except (ValueError, OverflowError):
        return None
    if found.dtype == np.int64 and (np.abs(found) < LIMIT_NS // NANOSECONDS_OF_MICROSECOND).all():
        return np.asarray(found * NANOSECONDS_OF_MICROSECOND)
    if found.dtype == np.float64 and are_exact(found):
        return np.asarray(np.rint(found * NANOSECONDS_OF_MICROSECOND), np.int64)
    return None


def ticks(value: Tick) -> int | None:
    """Nanoseconds of one time; None for what is no finite number. A float must be exact (see ticks.is_exact)."""
    return (
        None
        if value is None
        else nanoseconds(repr(value).encode() if isinstance(value, float) else str(value).encode())
    )


def sizes_column(values: Sequence[int | None]) -> Longs:
    """The numbers, ABSENT for None and for those that no size can be."""
    if values.count(None) == len(values):
        return np.full(len(values), ABSENT, np.int64)
    usable = [ABSENT if value is None or abs(value) >= _INTEGER_LIMIT else value for value in values]
    return np.array(usable, np.int64)


def ids_column(values: Sequence[int | None], words: WordCodes) -> Longs:
    """The ids, ABSENT for None. One beyond 62 bits becomes a code of its own: still one identity."""
    if values.count(None) == len(values):
        return np.full(len(values), ABSENT, np.int64)
    try:
        found = np.array([ABSENT if value is None else value for value in values], np.int64)
        is_usual = bool((np.abs(found[found != ABSENT]) < _INTEGER_LIMIT).all())
    except OverflowError:
        is_usual = False
    return found if is_usual else np.array([_identity(value, words) for value in values], np.int64)


def _identity(value: int | None, words: WordCodes) -> int:
    if value is None:
        return ABSENT
    return value if -_INTEGER_LIMIT < value < _INTEGER_LIMIT else -_INTEGER_LIMIT - words[str(value)]


def floats_column(values: Sequence[float | None]) -> npt.NDArray[np.float64]:
    """The numbers, NaN for None and for what is not finite."""
    found = np.array(values, np.float64)  # None becomes NaN
    found[~np.isfinite(found)] = np.nan
    return found
