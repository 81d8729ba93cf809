"""Where does a JSON value end? Compiled and strict: what it accepts, every JSON reader reads the same way.

Every function takes the address of a value and returns the address behind it. A failure is the negative address of
the byte that did not fit: at or behind the text's end it only means that more text is needed.
"""

from __future__ import annotations

import numpy as np

from explorer.ingest.memory import compiled, load_byte, load_eight, string_stops, to_int, trailing_zeros

_HIGH = np.uint64(0x8080808080808080)
_SPACES = np.uint64(0x2020202020202020)

QUOTE, BACKSLASH, COMMA, COLON, MINUS, DOT = 34, 92, 44, 58, 45, 46
OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET = 123, 125, 91, 93
_ZERO, _NINE = 48, 57
_DEEPEST = 60
_NULL, _TRUE, _FALS = 0x6C6C756E, 0x65757274, 0x736C6166
_ZEROS = np.uint64(0x3030303030303030)
_TO_HIGH_BIT = np.uint64(0x7676767676767676)
_WHITE = 1 << 32 | 1 << 10 | 1 << 13 | 1 << 9
_FOUR_BYTES = np.uint64(0xFFFFFFFF)


@compiled
def skip_space(address: int) -> int:
    """The next byte that is no white space."""
    byte = load_byte(address)
    while byte <= 32 and (_WHITE >> byte) & 1:
        # A line feed, most often, and the spaces that indent the next line: those at once.
        address += 1 + to_int(trailing_zeros(load_eight(address + 1) ^ _SPACES) >> np.uint64(3))
        byte = load_byte(address)
    return address


@compiled
def skip_string(address: int) -> int:
    """Behind the closing quote; `address` is the opening one. Control characters and unknown escapes fail."""
    address += 1
    while True:
        stops = string_stops(address)
        if stops == np.uint64(0):
            address += 32
            continue
        address += to_int(trailing_zeros(stops))
        byte = load_byte(address)
        if byte == QUOTE:
            return address + 1
        if byte != BACKSLASH:
            return -address
        address = _skip_escape(address)
        if address < 0:
            return address


@compiled
def _skip_escape(address: int) -> int:
    kind = load_byte(address + 1)
    if kind == 117:  # u
        for place in range(address + 2, address + 6):
            byte = load_byte(place) | 32
            if not (_ZERO <= byte <= _NINE or 97 <= byte <= 102):
                return -place
        return address + 6
    # " \ / b f n r t
    if kind in (34, 92, 47, 98, 102, 110, 114, 116):
        return address + 2
    return -(address + 1)


@compiled
def skip_digits(address: int) -> int:
    """Behind the digits, eight at a time."""
    while True:
        digits = load_eight(address) ^ _ZEROS
        # A byte above 9 sets its highest bit here, and the lowest such byte is the first that is no digit.
        count = to_int(trailing_zeros(((digits + _TO_HIGH_BIT) | digits) & _HIGH) >> np.uint64(3))
        address += count
        if count < 8:
            return address


@compiled
def skip_number(address: int) -> int:
    """Behind a number as JSON writes it: no leading zeros, no bare dot."""
    if load_byte(address) == MINUS:
        address += 1
    first = load_byte(address)
    behind = skip_digits(address)
    if behind == address or (first == _ZERO and behind > address + 1):
        return -behind
    address = behind
    if load_byte(address) == DOT:
        behind = skip_digits(address + 1)
        if behind == address + 1:
            return -behind
        address = behind
    if load_byte(address) | 32 == 101:  # e
        address += 1
        sign = load_byte(address)
        if sign in (MINUS, 43):
            address += 1
        behind = skip_digits(address)
        if behind == address:
            return -behind
        address = behind
    return address


@compiled
def _skip_word(address: int) -> int:
    """Behind `null`, `true` or `false`."""
    four = to_int(load_eight(address) & _FOUR_BYTES)
    if four in (_NULL, _TRUE):
        return address + 4
    if four == _FALS and load_byte(address + 4) == 101:
        return address + 5
    return -_first_odd_byte(address)


@compiled
def _first_odd_byte(address: int) -> int:
    """Behind the letters of a word that is none of JSON's; at the text's end it may only be cut."""
    byte = load_byte(address) | 32
    while 97 <= byte <= 122:
        address += 1
        byte = load_byte(address) | 32
    return address


@compiled
def skip_scalar(address: int) -> int:
    """Behind a string, a number or a word."""
    byte = load_byte(address)
    if byte == QUOTE:
        return skip_string(address)
    if byte == MINUS or _ZERO <= byte <= _NINE:
        return skip_number(address)
    return _skip_word(address)


@compiled
def opens(byte: int) -> bool:
    """Whether a byte opens an object or a list."""
    return byte | 32 == OPEN_BRACE


@compiled
def skip_value(address: int) -> int:
    """Behind any value."""
    byte = load_byte(address)
    if opens(byte):
        return skip_container(address)
    return skip_scalar(address)


@compiled
def skip_container(address: int) -> int:
    """Behind an object or a list, without recursion; one bit a level says which of the two it is."""
    objects, depth = 0, 0
    while True:
        byte = load_byte(address)
        if opens(byte):
            if depth == _DEEPEST:
                return -address
            is_object = byte == OPEN_BRACE
            objects, depth = (objects << 1) | is_object, depth + 1
            address = skip_space(address + 1)
            byte = load_byte(address)
            if byte != (CLOSE_BRACE if is_object else CLOSE_BRACKET):
                if is_object:
                    address = skip_key(address)
                    if address < 0:
                        return address
                continue
        else:
            address = skip_scalar(address)
            if address < 0:
                return address
            address = skip_space(address)
        address, objects, depth = _close(address, objects, depth)
        if depth == 0 or address < 0:
            return address


@compiled
def _close(address: int, objects: int, depth: int) -> tuple[int, int, int]:
    """Behind all that closes here and the comma that follows; depth 0 when the outermost is closed."""
    while True:
        byte, is_object = load_byte(address), objects & 1
        if byte == (CLOSE_BRACE if is_object else CLOSE_BRACKET):
            objects, depth, address = objects >> 1, depth - 1, address + 1
            if depth == 0:
                return address, objects, depth
            address = skip_space(address)
        elif byte == COMMA:
            address = skip_space(address + 1)
            if is_object:
                address = skip_key(address)
            return address, objects, depth
        else:
            return -address, objects, depth


@compiled
def skip_key(address: int) -> int:
    """From a key to its value."""
    if load_byte(address) != QUOTE:
        return -address
    behind = skip_string(address)
    if behind < 0:
        return behind
    address = skip_space(behind)
    if load_byte(address) != COLON:
        return -address
    return skip_space(address + 1)
