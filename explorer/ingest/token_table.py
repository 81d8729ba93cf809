"""Where does the compiled scanner keep each distinct token of a text? In arrays of Python's, which grow here.

An open-addressing hash table over a pool of bytes. Compiled code (`interning`) reports when an array is full; codes
never change when it grows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from explorer.ingest.scan_layout import PADDING_BYTES, TOKENS_COUNT, TOKENS_USED


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
        return int(self.layout[TOKENS_COUNT // 8])

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
        used = int(self.layout[TOKENS_USED // 8])
        if used + wanted_bytes + PADDING_BYTES > len(self.pool):
            room = max(2 * len(self.pool), used + wanted_bytes + PADDING_BYTES)
            self.pool = np.concatenate([self.pool, np.zeros(room - len(self.pool), np.uint8)])
        if len(self) == self.room:
            self.starts, self.lengths, self.hashes = (
                np.concatenate([array, np.zeros_like(array)]) for array in (self.starts, self.lengths, self.hashes)
            )
            self.slots = _slots(self.hashes[: len(self)], 2 * len(self.slots))
        self._lay_out()

    def _lay_out(self) -> None:
        arrays = (self.slots, self.starts, self.lengths, self.hashes, self.pool)
        slots, starts, lengths, hashes, pool = (array.ctypes.data for array in arrays)
        self.layout[:8] = slots, len(self.slots) - 1, starts, lengths, hashes, pool, len(self.starts), len(self.pool)


def _slots(hashes: npt.NDArray[np.uint64], slot_count: int) -> npt.NDArray[np.int32]:
    """The codes of those hashes by linear probing: whoever finds its slot taken moves on by one."""
    slots = np.full(slot_count, -1, np.int32)
    places = (hashes & np.uint64(slot_count - 1)).astype(np.int64)
    waiting = np.arange(len(hashes))
    while len(waiting):
        here = places[waiting]
        free = slots[here] < 0
        slots[here[free]] = waiting[free]
        waiting = waiting[slots[here] != waiting]
        places[waiting] = (places[waiting] + 1) & (slot_count - 1)
    return slots
