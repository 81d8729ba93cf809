"""Where does the scanner write its rows? Arrays of Python's, with their addresses in one array for compiled code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

HOST_CODES = ("name", "process", "thread", "input_dims", "input_strides", "input_types", "kernel_file")
HOST_LONGS = ("start_ns", "end_ns", "correlation", "external_id")
WORK_CODES = ("name", "process", "device", "stream", "grid", "block", "communicator")
WORK_LONGS = (*HOST_LONGS, "registers_per_thread", "shared_memory_bytes", "copied_bytes")
"""What the columns of the code and number arrays are, in order."""

ROW_ROOM = (1 << 16) + 64
"""Rows of a block. No power of two: one row's values would then all compete for the same few lines of the cache."""
METADATA_ROOM = 1 << 10
UNRESOLVED, NOT_KEPT = -2, -1
"""In `kinds`: a category that Python has not seen yet, and one that no table takes."""

(
    HOST_KINDS,
    HOST_CODES_AT,
    HOST_LONGS_AT,
    WORK_KINDS,
    WORK_CODES_AT,
    WORK_LONGS_AT,
    OCCUPANCY_AT,
    METADATA_AT,
    KINDS,
    CATEGORY_COUNTS,
    KIND_ROOM,
    HOST_COUNT,
    WORK_COUNT,
    METADATA_COUNT,
    UNKNOWN_CATEGORY,
) = (8 * place for place in range(15))
"""Offsets in the layout: ten addresses, a length, then what compiled code writes."""


@dataclass(frozen=True)
class _Block:
    """Room for ROW_ROOM rows; one row of an array a column: what compiled code finds ROW_ROOM values further on.

    Memory that no row is written to costs nothing, so nothing is cleared here.
    """

    kinds: npt.NDArray[np.uint8]
    codes: npt.NDArray[np.int32]
    longs: npt.NDArray[np.int64]
    occupancy: npt.NDArray[np.float64]


@dataclass
class _Side:
    """Hosts' or works' rows: the block in use, how many of its rows were handed out, and where its addresses stand."""

    name: str
    code_names: tuple[str, ...]
    long_names: tuple[str, ...]
    count_at: int
    handed_out: int = 0
    block: _Block = field(init=False)

    def __post_init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Begins a block; the one before lives on in what was handed out."""
        self.handed_out = 0
        self.block = _Block(
            kinds=np.empty(ROW_ROOM, np.uint8),
            codes=np.empty((len(self.code_names), ROW_ROOM), np.int32),
            longs=np.empty((len(self.long_names), ROW_ROOM), np.int64),
            occupancy=np.empty(ROW_ROOM if self.name == "work" else 0, np.float64),
        )

    def hand_out(self, count: int) -> dict[str, npt.NDArray[Any]]:
        """The columns of the rows since the last time, up to the block's `count`-th."""
        rows = slice(self.handed_out, count)
        self.handed_out = count
        found: dict[str, npt.NDArray[Any]] = {"kind": self.block.kinds[rows]}
        for names, columns in ((self.code_names, self.block.codes), (self.long_names, self.block.longs)):
            found.update(zip(names, columns[:, rows], strict=True))
        if len(self.block.occupancy):
            found["occupancy_percent"] = self.block.occupancy[rows]
        return {f"{self.name}.{key}": column for key, column in found.items()}


@dataclass
class RowBuffers:
    """Rows of both sides, handed out piece by piece.

    `kinds` and `category_counts` are by token: what a category (or the phase of an event without one) means, and how
    many events had it.
    """

    host: _Side = field(default_factory=lambda: _Side("host", HOST_CODES, HOST_LONGS, HOST_COUNT))
    work: _Side = field(default_factory=lambda: _Side("work", WORK_CODES, WORK_LONGS, WORK_COUNT))
    metadata: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros((METADATA_ROOM, 2), np.int64))
    kinds: npt.NDArray[np.int8] = field(default_factory=lambda: np.full(0, UNRESOLVED, np.int8))
    category_counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    layout: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(15, np.int64))

    def __post_init__(self) -> None:
        self._lay_out()

    def count(self, which: int) -> int:
        """A number that compiled code left in the layout."""
        return int(self.layout[which // 8])

    def make_kinds(self, room: int) -> None:
        """Makes room for the kinds of that many tokens."""
        missing = max(room - len(self.kinds), 0)
        self.kinds = np.concatenate([self.kinds, np.full(missing, UNRESOLVED, np.int8)])
        self.category_counts = np.concatenate([self.category_counts, np.zeros(missing, np.int64)])
        self._lay_out()

    def take(self) -> dict[str, npt.NDArray[Any]]:
        """The columns written since the last time, as they lie here; metadata events are taken separately."""
        taken = {}
        for side in (self.host, self.work):
            taken.update(side.hand_out(self.count(side.count_at)))
            if side.handed_out == ROW_ROOM:
                side.renew()
                self.layout[side.count_at // 8] = 0
        self._lay_out()
        return taken

    def take_metadata(self) -> list[tuple[int, int]]:
        """Start and end address of the metadata events found so far, which are forgotten here."""
        found = self.metadata[: self.count(METADATA_COUNT)].tolist()
        self.layout[METADATA_COUNT // 8] = 0
        return [(start, end) for start, end in found]

    def _lay_out(self) -> None:
        host, work = self.host.block, self.work.block
        arrays = (
            host.kinds,
            host.codes,
            host.longs,
            work.kinds,
            work.codes,
            work.longs,
            work.occupancy,
            self.metadata,
            self.kinds,
            self.category_counts,
        )
        self.layout[: len(arrays)] = [array.ctypes.data for array in arrays]
        self.layout[KIND_ROOM // 8] = len(self.kinds)
