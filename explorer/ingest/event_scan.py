"""Where does each value of an event stand? Compiled; text to places.

    { "ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, ..., "args": { "stream": 7, ... } }
            └┘ start_of(cursor, PH), end_of(cursor, PH)

Whatever is unusual (escapes in keys, repeated keys, broken text) fails; the tolerant reader then takes the file.
"""

from __future__ import annotations

import numpy as np

from explorer.ingest.columns import Codes
from explorer.ingest.interning import first_bytes
from explorer.ingest.json_scan import (
    BACKSLASH,
    CLOSE_BRACE,
    COLON,
    COMMA,
    OPEN_BRACE,
    QUOTE,
    opens,
    skip_container,
    skip_scalar,
    skip_space,
    skip_string,
)
from explorer.ingest.literals import (
    ARGUMENTS_OPEN,
    ARGUMENTS_UNKNOWN,
    CLOSE,
    EVENT_UNKNOWN,
    IN_ARGUMENTS,
    KIND_MASK,
    NO_LITERAL,
    OTHER_KEY,
    guessed_literal,
    keep_value,
    kind_of_literal,
    learned_literal,
    length_of_literal,
    same_value_end,
)
from explorer.ingest.memory import compiled, load_byte, load_eight, load_long, store_long, to_int
from explorer.ingest.scan_layout import ARGS, CAT, FIRST_ARGUMENT, KEY_COUNT, PH


def _eight(key: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(key[:8].ljust(8, b"\0"), "little"))


_EVENT_KEYS = np.array([_eight(key) for key in (b"ph", b"cat", b"name", b"pid", b"tid", b"ts", b"dur", b"args")])
_ARGUMENT_KEYS = (
    b"correlation",
    b"External id",
    b"external id",
    b"Input Dims",
    b"Input Strides",
    b"Input type",
    b"kernel_file",
    b"device",
    b"stream",
    b"sycl queue",
    b"grid",
    b"block",
    b"registers per thread",
    b"shared memory",
    b"est. achieved occupancy %",
    b"bytes",
    b"Comms Id",
)
_KEY_MULTIPLIER, _KEY_SHIFT = np.uint64(0x5C6E433715BA2BDD), np.uint64(58)
"""Found by trial: puts the first eight bytes of every argument key into a slot of its own, of 64."""


def _slots() -> Codes:
    slots = np.full(64, -1, np.int32)
    for place, key in enumerate(_ARGUMENT_KEYS):
        slot = (int(_eight(key)) * int(_KEY_MULTIPLIER) % 2**64) >> int(_KEY_SHIFT)
        assert slots[slot] < 0, "two keys in one slot: look for another multiplier"
        slots[slot] = place
    return slots


_KEY_AT = _slots()
_ARGUMENT_LENGTHS = np.array([len(key) for key in _ARGUMENT_KEYS])
_ARGUMENT_STARTS = np.array([_eight(key) for key in _ARGUMENT_KEYS])
_ARGUMENT_MIDDLES = np.array([_eight(key[8:]) for key in _ARGUMENT_KEYS])
_ARGUMENT_THIRDS = np.array([_eight(key[16:]) for key in _ARGUMENT_KEYS])
_ARGUMENT_ENDS = np.array([_eight(key[24:]) for key in _ARGUMENT_KEYS])
_CATEGORY_SHIFT = np.uint64(61)


@compiled
def _part(address: int, length: int) -> np.uint64:
    """The first eight bytes of a key of that length, zeros behind its end."""
    if length <= 0:
        return np.uint64(0)
    word = load_eight(address)
    return word if length >= 8 else word & first_bytes(length)


@compiled
def _event_key(address: int, length: int) -> int:
    if length > 4:
        return OTHER_KEY
    word = _part(address, length)
    for key in range(8):
        if _EVENT_KEYS[key] == word:
            return key
    return OTHER_KEY


@compiled
def _argument_key(address: int, length: int) -> int:
    if length > 32:
        return OTHER_KEY
    word = _part(address, length)
    key: int = _KEY_AT[to_int((word * _KEY_MULTIPLIER) >> _KEY_SHIFT)]
    if key >= 0 and (
        _ARGUMENT_STARTS[key] == word
        and _ARGUMENT_LENGTHS[key] == length
        and _ARGUMENT_MIDDLES[key] == _part(address + 8, length - 8)
        and _ARGUMENT_THIRDS[key] == _part(address + 16, length - 16)
        and _ARGUMENT_ENDS[key] == _part(address + 24, length - 24)
    ):
        return key + FIRST_ARGUMENT
    return OTHER_KEY


@compiled
def _holds_backslash(address: int, length: int) -> bool:
    place = address
    while place < address + length and load_byte(place) != BACKSLASH:
        place += 1
    return place < address + length


@compiled
def start_of(cursor: int, key: int) -> int:
    """Where the value of a key starts; 0 when the event has none."""
    return load_long(cursor + 16 * key)


@compiled
def end_of(cursor: int, key: int) -> int:
    """Where the value of a key ends."""
    return load_long(cursor + 16 * key + 8)


@compiled
def _keep_start(key: int, address: int, cursor: int) -> bool:
    """Notes where a value starts; False for a repeated key."""
    if start_of(cursor, key) != 0:
        return False
    store_long(cursor + 16 * key, address)
    return True


@compiled
def _forget_places(cursor: int) -> None:
    for place in range(cursor, cursor + 16 * KEY_COUNT, 8):
        store_long(place, 0)


@compiled
def _read_key(address: int, last: int, level: int) -> tuple[int, int]:
    """(start of the next value, kind of what is before it), or behind the closing brace and CLOSE, read in full.

    `address` is behind a value or an opening brace, which `last` tells. A failure is negative, as in json_scan.
    """
    place = skip_space(address)
    byte = load_byte(place)
    if byte == CLOSE_BRACE:
        return place + 1, CLOSE | level
    if last > ARGUMENTS_OPEN:
        if byte != COMMA:
            return -place, CLOSE
        place = skip_space(place + 1)
    if load_byte(place) != QUOTE:
        return -place, CLOSE
    behind = skip_string(place)
    if behind < 0:
        return behind, CLOSE
    colon = skip_space(behind)
    if load_byte(colon) != COLON:
        return -colon, CLOSE
    length = behind - place - 2
    key = _argument_key(place + 1, length) if level else _event_key(place + 1, length)
    if key == OTHER_KEY and _holds_backslash(place + 1, length):
        return -place, CLOSE
    return skip_space(colon + 1), key | level


@compiled
def _behind_value(address: int, literal: int, cursor: int) -> int:
    if not opens(load_byte(address)):
        return skip_scalar(address)
    behind = same_value_end(address, literal, cursor)
    if behind == 0:
        behind = skip_container(address)
        if behind > 0:
            keep_value(address, behind, literal, cursor)
    return behind


@compiled
def _mix_with(mix: int, key: int, start: int) -> int:
    """The event's mix after its phase or its category: three bits of each."""
    if key == PH:
        return (mix & 56) | (load_byte(start + 1) & 7)
    if key == CAT:
        word = load_eight(start + 1) * _KEY_MULTIPLIER
        return (mix & 7) | (to_int(word >> _CATEGORY_SHIFT) << 3)
    return mix


@compiled
def _next_literal(address: int, last: int, mix: int, level: int, cursor: int) -> tuple[int, int]:
    """(start of the next value or behind the closing brace, the literal before it); a failure is negative."""
    literal = guessed_literal(address, last, mix, cursor)
    if literal != NO_LITERAL:
        return address + length_of_literal(literal, cursor), literal
    behind, kind = _read_key(address, last, level)
    if behind < 0:
        return behind, literal
    return behind, learned_literal(address, behind - address, kind, last, mix, cursor)


@compiled
def scan_event(address: int, cursor: int) -> int:
    """Behind the event at `address`, the places of its values of interest in the cursor."""
    _forget_places(cursor)
    address, last, mix, level = address + 1, NO_LITERAL, 0, 0
    while True:
        address, last = _next_literal(address, last, mix, level, cursor)
        if address < 0:
            return address
        key = kind_of_literal(last, cursor) & KIND_MASK
        if key == CLOSE and level == 0:
            return address
        if key == CLOSE:
            store_long(cursor + 16 * ARGS + 8, address)
            level, last = 0, EVENT_UNKNOWN if last == ARGUMENTS_UNKNOWN else last
            continue
        address = skip_space(address)
        if key != OTHER_KEY and not _keep_start(key, address, cursor):
            return -address
        if key == ARGS and load_byte(address) == OPEN_BRACE:
            address, last, level = address + 1, ARGUMENTS_OPEN, IN_ARGUMENTS
            continue
        start, address = address, _behind_value(address, last, cursor)
        if address < 0:
            return address
        if key != OTHER_KEY:
            store_long(cursor + 16 * key + 8, address)
            mix = _mix_with(mix, key, start)
