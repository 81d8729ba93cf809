"""How does compiled code give each distinct token of a text one code? In a `TokenTable`, by its layout's address."""

from __future__ import annotations

import numpy as np

from explorer.ingest.memory import (
    compiled,
    different,
    load_byte,
    load_code,
    load_eight,
    load_long,
    store_byte,
    store_code,
    store_long,
    to_int,
)
from explorer.ingest.scan_layout import (
    PADDING_BYTES,
    TOKENS_COUNT,
    TOKENS_HASHES,
    TOKENS_LENGTHS,
    TOKENS_MASK,
    TOKENS_POOL,
    TOKENS_POOL_ROOM,
    TOKENS_ROOM,
    TOKENS_SLOTS,
    TOKENS_STARTS,
    TOKENS_USED,
)

FULL = -2
"""Returned instead of a code when an array has to grow first."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@compiled
def token_hash(address: int, length: int) -> np.uint64:
    """A hash of the token's bytes: of long ones in four lanes of eight bytes, which do not wait for each other."""
    value = np.uint64(length)
    place = 0
    if length >= 32:
        one, two, three, four = value, ~value, value << np.uint64(32), _MULTIPLIER
        while place + 32 <= length:
            one = _mixed(one, load_eight(address + place))
            two = _mixed(two, load_eight(address + place + 8))
            three = _mixed(three, load_eight(address + place + 16))
            four = _mixed(four, load_eight(address + place + 24))
            place += 32
        value = _mixed(_mixed(_mixed(one, two), three), four)
    while place + 8 <= length:
        value = _mixed(value, load_eight(address + place))
        place += 8
    if place < length:
        value = _mixed(value, load_eight(address + place) & first_bytes(length - place))
    return value


@compiled
def _mixed(value: np.uint64, word: np.uint64) -> np.uint64:
    value = (value ^ word) * _MULTIPLIER
    return value ^ (value >> _SHIFT)


@compiled
def first_bytes(count: int) -> np.uint64:
    """A mask of the lowest 1 to 7 bytes."""
    return _ALL >> np.uint64(64 - 8 * count)


@compiled
def same_bytes(one: int, other: int, length: int) -> bool:
    """Whether the bytes at two addresses are the same."""
    while length > 32:
        if different(one, other) != 0:
            return False
        one, other, length = one + 32, other + 32, length - 32
    return different(one, other) << np.uint64(64 - length) == 0 if length else True


@compiled
def code_of_token(address: int, length: int, table: int) -> int:
    """The token's code, given to it now if it is new; FULL when an array has no room for a new one."""
    value = token_hash(address, length)
    slots, mask = load_long(table + TOKENS_SLOTS), np.uint64(load_long(table + TOKENS_MASK))
    pool, starts = load_long(table + TOKENS_POOL), load_long(table + TOKENS_STARTS)
    lengths, hashes = load_long(table + TOKENS_LENGTHS), load_long(table + TOKENS_HASHES)
    place = value & mask
    code = load_code(slots + to_int(place) * 4)
    while code >= 0:
        is_candidate = load_eight(hashes + 8 * code) == value and load_long(lengths + 8 * code) == length
        if is_candidate and same_bytes(pool + load_long(starts + 8 * code), address, length):
            return code
        place = (place + np.uint64(1)) & mask
        code = load_code(slots + to_int(place) * 4)
    code, start = load_long(table + TOKENS_COUNT), load_long(table + TOKENS_USED)
    if code == load_long(table + TOKENS_ROOM) or start + length + PADDING_BYTES > load_long(table + TOKENS_POOL_ROOM):
        return FULL
    for byte in range(length):
        store_byte(pool + start + byte, load_byte(address + byte))
    store_code(slots + to_int(place) * 4, code)
    store_long(starts + 8 * code, start)
    store_long(lengths + 8 * code, length)
    store_long(hashes + 8 * code, to_int(value))
    store_long(table + TOKENS_COUNT, code + 1)
    store_long(table + TOKENS_USED, start + length)
    return code
