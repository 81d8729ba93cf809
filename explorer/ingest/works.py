"""What did the devices do? Work sorted and clipped where a stream would run out of order, devices told apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.ingest import categories
from explorer.ingest.calls import copies_pageable_memory
from explorer.ingest.columns import Codes, Longs
from explorer.ingest.families import kernel_family
from explorer.ingest.merge import Merged
from explorer.ingest.sides import Side
from explorer.ingest.tables import per_word, table
from explorer.spans import NO_ROW, Rows, by_start
from explorer.trace import DROPPED_WORK, WORK, ReadingNote

_KIND_WORDS = ("kernel", "memcpy", "memset")


class WorkSide:
    """GPU work sorted by start; rows of its table are positions in `rows`. `dropped_document` says whose each piece of
    the merged `dropped_work` is.
    """

    def __init__(self, merged: Merged, dropped_document: Rows) -> None:
        self.merged, self.events, self.words = merged, merged.work, merged.words
        self.notes: list[ReadingNote] = []
        self.rows = by_start(self.events.start_ns, -self.events.end_ns)
        self.start_ns = self.events.start_ns[self.rows]
        self.dropped_document = dropped_document
        device, self.device_words, self.scope_of = self._device_scopes()
        self.device = device[self.rows]
        self.end_ns = self._clipped_ends()

    def side(self) -> Side:
        """What finding launches needs of the work."""
        correlation, document = self.events.correlation[self.rows], self.merged.work_document[self.rows]
        return Side(self.start_ns, self.end_ns, correlation, document, self.device, self.device, self.rows)

    def is_pageable(self) -> npt.NDArray[np.bool_]:
        """Which pieces copy from or to pageable memory."""
        by_word = np.array([*map(copies_pageable_memory, self.words), False])
        return by_word[self.events.name[self.rows]]

    def _clipped_ends(self) -> Longs:
        """The ends, with what ends after the end of the next piece on its stream cut to that piece's start."""
        end = self.events.end_ns[self.rows].copy()
        lane = self.device.astype(np.int64) * (len(self.words) + 1) + self.events.stream[self.rows]
        # Two that start together: the shorter one goes first, so that an empty one clips nothing.
        order = np.lexsort((end, self.start_ns, lane))
        overruns = (lane[order[1:]] == lane[order[:-1]]) & (end[order[:-1]] > end[order[1:]])
        clipped, following = order[:-1][overruns], order[1:][overruns]
        end[clipped] = self.start_ns[following]
        if len(clipped):
            text = (
                f"{len(clipped):,} pieces of GPU work that end after the end of the next piece on their stream, which "
                "no stream does: clipped to its start, the recorded ends kept beside"
            )
            self.notes.append(ReadingNote("clipped", len(clipped), text))
        return end

    def _device_scopes(self) -> tuple[Codes, list[str], dict[tuple[int, int, int], str]]:
        """Code and name of each piece's device: "0", "rank1/0" in files of ranks, "4242/0" where processes differ; and
        the names by document, process and device.
        """
        events, merged = self.events, self.merged
        size = len(self.words) + 1
        keys = (merged.work_document.astype(np.int64) * size + events.process) * size + events.device
        unique, inverse = np.unique(keys, return_inverse=True)
        scopes = [(key // size // size, key // size % size, key % size) for key in unique.tolist()]
        names = [
            f"{merged.scopes[document]}{self.words[process]}/{self.words[device]}"
            for document, process, device in scopes
        ]
        plain = [merged.scopes[document] + self.words[device] for document, _, device in scopes]
        chosen = [short if plain.count(short) == 1 else full for short, full in zip(plain, names, strict=True)]
        return inverse.reshape(-1).astype(np.int32), chosen, dict(zip(scopes, chosen, strict=True))

    def work_table(self, call_of_work: Rows, operator_of_call: Rows) -> pa.Table:
        """The work with its launches and their operators."""
        rows, events, words = self.rows, self.events, self.words
        name, kind = events.name[rows], events.kind[rows]
        has_call = call_of_work != NO_ROW
        operator = np.full(len(rows), NO_ROW, np.int64)
        operator[has_call] = operator_of_call[call_of_work[has_call]]
        return table(
            WORK,
            {
                "start_ns": self.start_ns,
                "end_ns": self.end_ns,
                "recorded_end_ns": events.end_ns[rows],
                "name": (name, words),
                "kind": ((kind - categories.KERNEL).astype(np.int32), _KIND_WORDS),
                "family": per_word(name, words, kernel_family, override=(kind != categories.KERNEL, "memory")),
                "device": (self.device, self.device_words),
                "stream": (events.stream[rows], words),
                "correlation": events.correlation[rows],
                "call_row": call_of_work,
                "operator_row": operator,
                "position_in_launch": _positions(call_of_work, self.device),
                "grid": (events.grid[rows], words),
                "block": (events.block[rows], words),
                "registers_per_thread": events.registers_per_thread[rows],
                "shared_memory_bytes": events.shared_memory_bytes[rows],
                "occupancy_ratio": events.occupancy_percent[rows] / 100,
                "copied_bytes": events.copied_bytes[rows],
                "communicator": (events.communicator[rows], words),
            },
        )

    def dropped_table(self) -> pa.Table:
        """Work without a usable duration, under the device names of the rest."""
        dropped = self.merged.dropped_work
        devices = [
            self.scope_of.get(
                (document, item.process, item.device), self.merged.scopes[document] + self.words[item.device]
            )
            for item, document in zip(dropped, self.dropped_document.tolist(), strict=True)
        ]
        device_words = sorted(set(devices))
        reasons = sorted({item.reason for item in dropped})
        return table(
            DROPPED_WORK,
            {
                "start_ns": np.array([item.start_ns for item in dropped], np.int64),
                "name": (np.array([item.name for item in dropped], np.int32), self.words),
                "device": (np.array([*map(device_words.index, devices)], np.int32), device_words),
                "reason": (np.array([reasons.index(item.reason) for item in dropped], np.int32), reasons),
            },
        )


def _positions(call_of_work: Rows, device: Codes) -> Rows:
    """Which piece of its launch each is on its device, in order of start; NO_ROW for one without a launch.

    Gaps are a device's own: what a launch did on another device before is nothing that its first piece here follows.
    """
    position = np.full(len(call_of_work), NO_ROW, np.int64)
    linked = np.flatnonzero(call_of_work != NO_ROW)
    launch = call_of_work * (int(device.max(initial=0)) + 1) + device
    order = linked[np.argsort(launch[linked], kind="stable")]
    first = np.concatenate([[True], launch[order[1:]] != launch[order[:-1]]]) if len(order) else np.zeros(0, bool)
    begin = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    position[order] = np.arange(len(order)) - begin
    return position
