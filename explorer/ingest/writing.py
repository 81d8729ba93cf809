"""How does one value of an event get into its place in a column? Compiled; what is unusual is reported, not guessed."""

from __future__ import annotations

from explorer.ingest.digits import UNREADABLE, parse_integer, parse_ticks
from explorer.ingest.event_scan import end_of, start_of
from explorer.ingest.interning import FULL, code_of_token, same_bytes
from explorer.ingest.json_scan import BACKSLASH, QUOTE, opens
from explorer.ingest.memory import compiled, load_byte, load_long, store_code, store_long
from explorer.ingest.rows import ROW_ROOM
from explorer.ingest.scan_layout import CORRELATION, DUR, EXTERNAL_ID, EXTERNAL_ID_2021, RECENT_AT, TS

OK = 0
LONG_COLUMN = 8 * ROW_ROOM
"""Bytes from one column of numbers to the next."""


@compiled
def is_null(cursor: int, key: int) -> bool:
    """Whether a value is absent, null or the empty string."""
    start = start_of(cursor, key)
    return start == 0 or load_byte(start) == 110 or (end_of(cursor, key) == start + 2 and load_byte(start) == QUOTE)


@compiled
def write_token(cursor: int, key: int, tokens: int, place: int) -> int:
    """Writes the code of a value as it stands, −1 for an absent or empty one; FULL when there is no room."""
    if is_null(cursor, key):
        store_code(place, -1)
        return OK
    return _write_code(cursor, key, start_of(cursor, key), end_of(cursor, key), tokens, place)


@compiled
def write_label(cursor: int, key: int, tokens: int, place: int) -> int:
    """As _write_token, for a process, thread, device or stream: the same as a number and as a string."""
    start, end = start_of(cursor, key), end_of(cursor, key)
    if start != 0 and load_byte(start) == QUOTE:
        start, end = start + 1, end - 1
    elif start != 0 and load_byte(start) == 110:
        end = start
    if end == start:
        store_code(place, -1)
        return OK
    return _write_code(cursor, key, start, end, tokens, place)


@compiled
def _write_code(cursor: int, key: int, start: int, end: int, tokens: int, place: int) -> int:
    """Writes a token's code. Most are those of the event before, so these are compared before any table is asked."""
    recent, length = cursor + RECENT_AT + 24 * key, end - start
    if load_long(recent + 8) == length and same_bytes(load_long(recent), start, length):
        store_code(place, load_long(recent + 16))
        return OK
    code = code_of_token(start, length, tokens)
    if code == FULL:
        return FULL
    store_code(place, code)
    store_long(recent, start)
    store_long(recent + 8, length)
    store_long(recent + 16, code)
    return OK


@compiled
def is_odd_label(cursor: int, key: int) -> bool:
    """Whether a process, thread, device or stream is no plain number or string."""
    start, end = start_of(cursor, key), end_of(cursor, key)
    if start == 0:
        return False
    if opens(load_byte(start)):
        return True
    for place in range(start + 1, end - 1):
        byte = load_byte(place)
        if byte in (BACKSLASH, QUOTE):
            return True
    return False


@compiled
def write_integer(cursor: int, key: int, place: int) -> bool:
    value = parse_integer(start_of(cursor, key), end_of(cursor, key))
    store_long(place, value)
    return value != UNREADABLE


@compiled
def write_common(cursor: int, place: int) -> bool:
    """Start, end, correlation and external id; False for what the tolerant reader has to decide."""
    start = parse_ticks(start_of(cursor, TS), end_of(cursor, TS))
    duration = parse_ticks(start_of(cursor, DUR), end_of(cursor, DUR))
    if start == UNREADABLE or duration < 0:
        return False
    store_long(place, start)
    store_long(place + LONG_COLUMN, start + duration)
    key = EXTERNAL_ID if start_of(cursor, EXTERNAL_ID) != 0 else EXTERNAL_ID_2021
    return write_integer(cursor, CORRELATION, place + 2 * LONG_COLUMN) and write_integer(
        cursor, key, place + 3 * LONG_COLUMN
    )
