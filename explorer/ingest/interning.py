"""How does compiled code give each distinct token of a text one code?

An open-addressing hash table over a pool of bytes. Python owns the arrays and makes larger ones when compiled code
reports that one is full; codes never change. Compiled code gets the arrays as addresses, in `layout`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from explorer.ingest.memory import (
    PADDING_BYTES,
    compiled,
    load_byte,
    load_code,
    load_eight,
    load_long,
    store_byte,
    store_code,
    store_long,
    to_int,
)

FULL = -2
"""Returned instead of a code when an array has to grow first."""

_SLOTS, _MASK, _STARTS, _LENGTHS, _HASHES, _POOL, _TOKEN_ROOM, _POOL_ROOM, _COUNT, _USED = (
    8 * place for place in range(10)
)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass
class TokenTable:
    """Each distinct token's bytes once: `pool[start : start + length]`; `slots` holds codes, −1 is empty."""

    slots: npt.NDArray[np.int32] = field(default_factory=lambda: np.full(1 << 12, -1, np.int32))
    starts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(1 << 11, np.int64))
    lengths: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(1 << 11, np.int64))
    hashes: npt.NDArray[np.uint64] = field(default_factory=lambda: np.zeros(1 << 11, np.uint64))
    pool: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(1 << 20, np.uint8))
    layout: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(10, np.int64))

    def __post_init__(self) -> None:
        self._lay_out()

    def __len__(self) -> int:
        return int(self.layout[_COUNT // 8])

    @property
    def room(self) -> int:
        """How many tokens fit before the table grows."""
        return len(self.starts)

    def token(self, code: int) -> bytes:
        """The bytes of a token."""
        start, length = int(self.starts[code]), int(self.lengths[code])
        return self.pool[start : start + length].tobytes()

    def grow(self, wanted_bytes: int) -> None:
        """Makes room for twice the tokens, or for `wanted_bytes` more in the pool, whichever is short."""
        used = int(self.layout[_USED // 8])
        if used + wanted_bytes + PADDING_BYTES > len(self.pool):
            room = max(2 * len(self.pool), used + wanted_bytes + PADDING_BYTES)
            self.pool = np.concatenate([self.pool, np.zeros(room - len(self.pool), np.uint8)])
        if len(self) == self.room:
            self.starts, self.lengths, self.hashes = (
                np.concatenate([column, np.zeros_like(column)]) for column in (self.starts, self.lengths, self.hashes)
            )
            self.slots = np.full(2 * len(self.slots), -1, np.int32)
            _fill_slots(self.slots, self.hashes, len(self))
        self._lay_out()

    def _lay_out(self) -> None:
        arrays = (self.slots, self.starts, self.lengths, self.hashes, self.pool)
        slots, starts, lengths, hashes, pool = (array.ctypes.data for array in arrays)
        self.layout[:8] = slots, len(self.slots) - 1, starts, lengths, hashes, pool, len(self.starts), len(self.pool)


@compiled
def _fill_slots(slots: npt.NDArray[np.int32], hashes: npt.NDArray[np.uint64], count: int) -> None:
    mask = np.uint64(len(slots) - 1)
    for code in range(count):
        place = hashes[code] & mask
        while slots[place] >= 0:
            place = (place + np.uint64(1)) & mask
        slots[place] = code


@compiled
def token_hash(address: int, length: int) -> np.uint64:
    """A hash of the token's bytes, eight at a time."""
    value = np.uint64(length)
    place = 0
    while place + 8 <= length:
        value = (value ^ load_eight(address + place)) * _MULTIPLIER
        value ^= value >> _SHIFT
        place += 8
    if place < length:
        value = (value ^ (load_eight(address + place) & first_bytes(length - place))) * _MULTIPLIER
        value ^= value >> _SHIFT
    return value


@compiled
def first_bytes(count: int) -> np.uint64:
    """A mask of the lowest 1 to 7 bytes."""
    return _ALL >> np.uint64(64 - 8 * count)


@compiled
def same_bytes(one: int, other: int, length: int) -> bool:
    """Whether the bytes at two addresses are the same."""
    place = 0
    while place + 8 <= length:
        if load_eight(one + place) != load_eight(other + place):
            return False
        place += 8
    while place < length:
        if load_byte(one + place) != load_byte(other + place):
            return False
        place += 1
    return True


@compiled
def code_of_token(address: int, length: int, table: int) -> int:
    """The token's code, given to it now if it is new; FULL when an array has no room for a new one."""
    value = token_hash(address, length)
    slots, mask = load_long(table + _SLOTS), np.uint64(load_long(table + _MASK))
    pool, starts = load_long(table + _POOL), load_long(table + _STARTS)
    lengths, hashes = load_long(table + _LENGTHS), load_long(table + _HASHES)
    place = value & mask
    code = load_code(slots + to_int(place) * 4)
    while code >= 0:
        is_candidate = load_eight(hashes + 8 * code) == value and load_long(lengths + 8 * code) == length
        if is_candidate and same_bytes(pool + load_long(starts + 8 * code), address, length):
            return code
        place = (place + np.uint64(1)) & mask
        code = load_code(slots + to_int(place) * 4)
    code, start = load_long(table + _COUNT), load_long(table + _USED)
    if code == load_long(table + _TOKEN_ROOM) or start + length + PADDING_BYTES > load_long(table + _POOL_ROOM):
        return FULL
    for byte in range(length):
        store_byte(pool + start + byte, load_byte(address + byte))
    store_code(slots + to_int(place) * 4, code)
    store_long(starts + 8 * code, start)
    store_long(lengths + 8 * code, length)
    store_long(hashes + 8 * code, to_int(value))
    store_long(table + _COUNT, code + 1)
    store_long(table + _USED, start + length)
    return code
