"""Where does each value of an event stand, and which number is it? Compiled; text to places, digits to numbers.

    { "ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, ..., "args": { "stream": 7, ... } }
            └┘ start_of(spans, PH), end_of(spans, PH)

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
    skip_space,
    skip_string,
    skip_value,
)
from explorer.ingest.memory import compiled, load_byte, load_eight, load_long, store_long, to_int

PH, CAT, NAME, PID, TID, TS, DUR, ARGS = 0, 1, 2, 3, 4, 5, 6, 7
CORRELATION, EXTERNAL_ID, EXTERNAL_ID_2021, INPUT_DIMS, INPUT_STRIDES, INPUT_TYPES, KERNEL_FILE = (
    8,
    9,
    10,
    11,
    12,
    13,
    14,
)
DEVICE, STREAM, QUEUE, GRID, BLOCK, REGISTERS, SHARED_MEMORY, OCCUPANCY = 15, 16, 17, 18, 19, 20, 21, 22
COPIED_BYTES, COMMUNICATOR = 23, 24
SPAN_COUNT = 25
RECENT = 16 * SPAN_COUNT
"""Behind the spans: start, length and code of each key's token in an earlier event of the same text."""
SPANS_BYTES = RECENT + 24 * SPAN_COUNT
"""What `spans` everywhere is the address of: an array costs more to pass on than the scan of a key."""
OTHER_KEY = -1
FIRST_ARGUMENT = CORRELATION


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
    slots = np.full(64, OTHER_KEY, np.int32)
    for place, key in enumerate(_ARGUMENT_KEYS):
        slot = (int(_eight(key)) * int(_KEY_MULTIPLIER) % 2**64) >> int(_KEY_SHIFT)
        assert slots[slot] == OTHER_KEY, "two keys in one slot: look for another multiplier"
        slots[slot] = place
    return slots


_KEY_AT = _slots()
_ARGUMENT_LENGTHS = np.array([len(key) for key in _ARGUMENT_KEYS])
_ARGUMENT_STARTS = np.array([_eight(key) for key in _ARGUMENT_KEYS])
_ARGUMENT_MIDDLES = np.array([_eight(key[8:]) for key in _ARGUMENT_KEYS])
_ARGUMENT_THIRDS = np.array([_eight(key[16:]) for key in _ARGUMENT_KEYS])
_ARGUMENT_ENDS = np.array([_eight(key[24:]) for key in _ARGUMENT_KEYS])


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
def _value_of_key(address: int) -> tuple[int, int, int]:
    """(start and length of a key, start of its value); the value's start is negative for a failure."""
    if load_byte(address) != QUOTE:
        return address, 0, -address
    behind = skip_string(address)
    if behind < 0:
        return address, 0, behind
    colon = skip_space(behind)
    if load_byte(colon) != COLON:
        return address, 0, -colon
    return address + 1, behind - address - 2, skip_space(colon + 1)


@compiled
def _next_key(address: int) -> int:
    """From behind a value to the next key; the failure of a closing brace is its own address."""
    address = skip_space(address)
    if load_byte(address) != COMMA:
        return -address
    return skip_space(address + 1)


@compiled
def start_of(spans: int, key: int) -> int:
    """Where the value of a key starts; 0 when the event has none."""
    return load_long(spans + 16 * key)


@compiled
def end_of(spans: int, key: int) -> int:
    """Where the value of a key ends."""
    return load_long(spans + 16 * key + 8)


@compiled
def forget_spans(spans: int) -> None:
    """Makes all values absent, for the next event."""
    for place in range(spans, spans + RECENT, 8):
        store_long(place, 0)


@compiled
def _keep_span(spans: int, key: int, key_start: int, key_length: int, start: int, end: int) -> bool:
    """Notes a value of interest; False for what the tolerant reader has to decide: repeated or escaped keys."""
    if key == OTHER_KEY:
        return not _holds_backslash(key_start, key_length)
    if start_of(spans, key) != 0:
        return False
    store_long(spans + 16 * key, start)
    store_long(spans + 16 * key + 8, end)
    return True


@compiled
def _scan_arguments(address: int, spans: int) -> int:
    """Behind the object at `address`, the places of its values of interest in `spans`."""
    address = skip_space(address + 1)
    while load_byte(address) != CLOSE_BRACE:
        key_start, length, start = _value_of_key(address)
        if start < 0:
            return start
        address = skip_value(start)
        if address < 0:
            return address
        if not _keep_span(spans, _argument_key(key_start, length), key_start, length, start, address):
            return -key_start
        address = _next_key(address)
        if address < 0:
            if load_byte(-address) != CLOSE_BRACE:
                return address
            address = -address
        elif load_byte(address) == CLOSE_BRACE:  # a comma before it
            return -address
    return address + 1


@compiled
def scan_event(address: int, spans: int) -> int:
    """As _scan_arguments, for an event with its arguments."""
    address = skip_space(address + 1)
    while load_byte(address) != CLOSE_BRACE:
        key_start, length, start = _value_of_key(address)
        if start < 0:
            return start
        key = _event_key(key_start, length)
        has_arguments = key == ARGS and load_byte(start) == OPEN_BRACE
        address = _scan_arguments(start, spans) if has_arguments else skip_value(start)
        if address < 0:
            return address
        if not _keep_span(spans, key, key_start, length, start, address):
            return -key_start
        address = _next_key(address)
        if address < 0:
            if load_byte(-address) != CLOSE_BRACE:
                return address
            address = -address
        elif load_byte(address) == CLOSE_BRACE:
            return -address
    return address + 1
