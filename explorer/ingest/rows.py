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

ROW_ROOM = 1 << 15
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


def _columns(names: tuple[str, ...], kind: type[np.generic]) -> npt.NDArray[Any]:
    """One row of the array a column: what compiled code finds ROW_ROOM values further on."""
    return np.zeros((len(names), ROW_ROOM), kind)


@dataclass
class RowBuffers:
    """Rows of at most ROW_ROOM events a side, taken away whenever they are full.

    `kinds` and `category_counts` are by token: what a category (or the phase of an event without one) means, and how
    many events had it.
    """

    host_kinds: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(ROW_ROOM, np.uint8))
    host_codes: npt.NDArray[np.int32] = field(default_factory=lambda: _columns(HOST_CODES, np.int32))
    host_longs: npt.NDArray[np.int64] = field(default_factory=lambda: _columns(HOST_LONGS, np.int64))
    work_kinds: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(ROW_ROOM, np.uint8))
    work_codes: npt.NDArray[np.int32] = field(default_factory=lambda: _columns(WORK_CODES, np.int32))
    work_longs: npt.NDArray[np.int64] = field(default_factory=lambda: _columns(WORK_LONGS, np.int64))
    occupancy: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(ROW_ROOM, np.float64))
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
        """Copies of the columns written so far, which are forgotten here; metadata events are taken separately."""
        host, work = self.count(HOST_COUNT), self.count(WORK_COUNT)
        taken: dict[str, npt.NDArray[Any]] = {
            "host.kind": self.host_kinds[:host].copy(),
            "work.kind": self.work_kinds[:work].copy(),
            "work.occupancy_percent": self.occupancy[:work].copy(),
        }
        for side, count, names, columns in (
            ("host", host, HOST_CODES, self.host_codes),
            ("host", host, HOST_LONGS, self.host_longs),
            ("work", work, WORK_CODES, self.work_codes),
            ("work", work, WORK_LONGS, self.work_longs),
        ):
            for name, column in zip(names, columns, strict=True):
                taken[f"{side}.{name}"] = column[:count].copy()
        self.layout[HOST_COUNT // 8 : METADATA_COUNT // 8] = 0
        return taken

    def take_metadata(self) -> list[tuple[int, int]]:
        """Start and end address of the metadata events found so far, which are forgotten here."""
        found = self.metadata[: self.count(METADATA_COUNT)].tolist()
        self.layout[METADATA_COUNT // 8] = 0
        return [(start, end) for start, end in found]

    def _lay_out(self) -> None:
        arrays = (
            self.host_kinds,
            self.host_codes,
            self.host_longs,
            self.work_kinds,
            self.work_codes,
            self.work_longs,
            self.occupancy,
            self.metadata,
            self.kinds,
            self.category_counts,
        )
        self.layout[: len(arrays)] = [array.ctypes.data for array in arrays]
        self.layout[KIND_ROOM // 8] = len(self.kinds)
