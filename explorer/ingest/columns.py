"""What do both readers hand to the linker? One document's events as columns, its words once each, its leftovers.

Codes are positions in `words`; −1 and ABSENT stand for "not in the file". Times are nanoseconds as the document
writes them, before its base time is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from explorer.trace import ReadingNote

ABSENT = -(1 << 63)
"""A number that the event does not carry."""
NO_WORD = -1

Longs = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class HostEvents:
    """Operators, calls, annotations and frames, in file order."""

    kind: npt.NDArray[np.uint8]
    start_ns: Longs
    end_ns: Longs
    name: Codes
    process: Codes
    thread: Codes
    correlation: Longs
    external_id: Longs
    input_dims: Codes
    input_strides: Codes
    input_types: Codes
    kernel_file: Codes


@dataclass(frozen=True)
class WorkEvents:
    """GPU work, in file order. `device` falls back to the process, `stream` to the queue and then the thread."""

    kind: npt.NDArray[np.uint8]
    start_ns: Longs
    end_ns: Longs
    name: Codes
    process: Codes
    device: Codes
    stream: Codes
    correlation: Longs
    external_id: Longs
    grid: Codes
    block: Codes
    registers_per_thread: Longs
    shared_memory_bytes: Longs
    occupancy_percent: npt.NDArray[np.float64]  # NaN when absent
    copied_bytes: Longs
    communicator: Codes


@dataclass(frozen=True)
class DroppedWork:
    """One piece of GPU work without a usable duration."""

    start_ns: int
    name: int
    process: int
    device: int
    reason: str


@dataclass(frozen=True)
class Document:
    """Everything one JSON document of a file says. A file of several ranks has several."""

    host: HostEvents
    work: WorkEvents
    words: list[str]
    head: Mapping[str, Any]  # the document's other keys: baseTimeNanoseconds, deviceProperties, ...
    category_counts: Mapping[str, int]
    process_names: Mapping[str, str]
    thread_names: Mapping[str, str]
    dropped_work: tuple[DroppedWork, ...] = ()
    notes: tuple[ReadingNote, ...] = field(default=())

    @property
    def event_count(self) -> int:
        """Events of every category, those that no table takes included."""
        return sum(self.category_counts.values())
