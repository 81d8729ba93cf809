r"""What stands before the next value? Mostly the same text as last time, and then one comparison reads it. Compiled.

    ... 211|, "correlation": |7 ...      a literal: all from behind one value to the next, or a closing brace
              \n    }|                   kind CLOSE

A literal was read once in full and is kept with what it means. Which one comes next is guessed from the one before
and from the `mix`, a number for the event's phase and category; where no guess is right the text is read in full.
"""

from __future__ import annotations

import numpy as np

from explorer.ingest.interning import same_bytes, token_hash
from explorer.ingest.memory import (
    compiled,
    different,
    load_byte,
    load_eight,
    load_long,
    store_byte,
    store_long,
    to_int,
)
from explorer.ingest.scan_layout import (
    GUESSES_AT,
    LITERAL_BYTES,
    LITERAL_COUNT_AT,
    LITERAL_ROOM,
    LITERALS_AT,
    LONGEST_LITERAL_BYTES,
    MIX_COUNT,
    SLOTS_AT,
)

NO_LITERAL, ARGUMENTS_OPEN, EVENT_UNKNOWN, ARGUMENTS_UNKNOWN, _FIRST_LITERAL = 0, 1, 2, 3, 4
"""What is none: no literal, which is also what comes before an event's first key; before the first of its arguments;
and texts of the two kinds that are not kept.
"""
CLOSE, OTHER_KEY, KIND_MASK, IN_ARGUMENTS = 30, 31, 63, 64
"""What a literal ends in: a key of scan_layout, another one, or the closing brace; IN_ARGUMENTS is added there."""

_LOWER, _HIGHER, _KIND, _LENGTH, _VALUE, _VALUE_LENGTH = 64, 72, 80, 88, 96, 104
"""Behind a literal's text: which of its lower and upper 32 bytes count, its kind and length, and the last list or
object that followed.
"""
_SLOT_MASK = np.uint64(2 * LITERAL_ROOM - 1)
_ALL_32 = np.uint64(0xFFFFFFFF)


@compiled
def place_of_literal(literal: int, cursor: int) -> int:
    """Where a literal is kept."""
    return cursor + LITERALS_AT + LITERAL_BYTES * literal


@compiled
def kind_of_literal(literal: int, cursor: int) -> int:
    """Its kind, with IN_ARGUMENTS."""
    return load_long(place_of_literal(literal, cursor) + _KIND)


@compiled
def length_of_literal(literal: int, cursor: int) -> int:
    """Its length in bytes."""
    return load_long(place_of_literal(literal, cursor) + _LENGTH)


@compiled
def _stands_at(literal: int, address: int, cursor: int) -> bool:
    """Whether a literal's text is what the address points at, without a loop."""
    place = place_of_literal(literal, cursor)
    lower = different(address, place) & load_eight(place + _LOWER)
    higher = different(address + 32, place + 32) & load_eight(place + _HIGHER)
    is_same: bool = lower | higher == 0
    return is_same


@compiled
def guessed_literal(address: int, last: int, mix: int, cursor: int) -> int:
    """The literal at the address if it is one of the two guesses behind `last`; NO_LITERAL otherwise."""
    guesses = cursor + GUESSES_AT + 2 * (MIX_COUNT * last + mix)
    first = load_byte(guesses)
    if first != NO_LITERAL and _stands_at(first, address, cursor):
        return first
    second = load_byte(guesses + 1)
    if second != NO_LITERAL and _stands_at(second, address, cursor):
        store_byte(guesses, second)
        store_byte(guesses + 1, first)
        return second
    return NO_LITERAL


@compiled
def learned_literal(address: int, length: int, kind: int, last: int, mix: int, cursor: int) -> int:
    """Keeps a text that was read in full, and guesses it from now on behind `last`; an unknown one if that fails."""
    literal = NO_LITERAL
    if length <= LONGEST_LITERAL_BYTES:
        literal = _kept_literal(address, length, kind, cursor)
    if literal == NO_LITERAL:
        literal = ARGUMENTS_UNKNOWN if kind & IN_ARGUMENTS else EVENT_UNKNOWN
        store_long(place_of_literal(literal, cursor) + _KIND, kind)
        return literal
    guesses = cursor + GUESSES_AT + 2 * (MIX_COUNT * last + mix)
    if load_byte(guesses) != literal:
        store_byte(guesses + 1, load_byte(guesses))
        store_byte(guesses, literal)
    return literal


@compiled
def _kept_literal(address: int, length: int, kind: int, cursor: int) -> int:
    """The literal of that text and kind, made if there is room; NO_LITERAL if there is none."""
    slot = to_int(token_hash(address, length) & _SLOT_MASK)
    literal = load_byte(cursor + SLOTS_AT + slot)
    while literal != NO_LITERAL:
        place = place_of_literal(literal, cursor)
        is_kind = load_long(place + _KIND) == kind and load_long(place + _LENGTH) == length
        if is_kind and same_bytes(place, address, length):
            return literal
        slot = (slot + 1) & (2 * LITERAL_ROOM - 1)
        literal = load_byte(cursor + SLOTS_AT + slot)
    literal = load_long(cursor + LITERAL_COUNT_AT) + _FIRST_LITERAL
    if literal >= LITERAL_ROOM:
        return NO_LITERAL
    store_long(cursor + LITERAL_COUNT_AT, literal - _FIRST_LITERAL + 1)
    store_byte(cursor + SLOTS_AT + slot, literal)
    _write_literal(address, length, kind, place_of_literal(literal, cursor))
    return literal


@compiled
def _write_literal(address: int, length: int, kind: int, place: int) -> None:
    for byte in range(length):
        store_byte(place + byte, load_byte(address + byte))
    lower, higher = min(length, 32), max(length - 32, 0)
    store_long(place + _LOWER, to_int(_ALL_32 >> np.uint64(32 - lower)))
    store_long(place + _HIGHER, to_int(_ALL_32 >> np.uint64(32 - higher)))
    store_long(place + _KIND, kind)
    store_long(place + _LENGTH, length)


@compiled
def same_value_end(address: int, literal: int, cursor: int) -> int:
    """Behind the list or object at the address if the last one behind this literal was the same; 0 otherwise."""
    place = place_of_literal(literal, cursor)
    length = load_long(place + _VALUE_LENGTH)
    if length != 0 and same_bytes(load_long(place + _VALUE), address, length):
        return address + length
    return 0


@compiled
def keep_value(address: int, end: int, literal: int, cursor: int) -> None:
    """Notes the list or object behind a literal."""
    place = place_of_literal(literal, cursor)
    store_long(place + _VALUE, address)
    store_long(place + _VALUE_LENGTH, end - address)


@compiled
def forget_values(cursor: int) -> None:
    """Forgets all values: they stand in a text that is not there any more."""
    for literal in range(load_long(cursor + LITERAL_COUNT_AT) + _FIRST_LITERAL):
        store_long(place_of_literal(literal, cursor) + _VALUE_LENGTH, 0)
