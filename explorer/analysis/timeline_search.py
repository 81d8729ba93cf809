"""Where does a name occur? How often, for how long in all, and in which part of a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from explorer.analysis.timeline_build import Timeline
from explorer.analysis.timeline_rows import Row, TableName

SEARCHED: tuple[TableName, ...] = ("work", "operators", "calls", "annotations")
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Found:
    """What was found in one table: its number, and the sum of its durations."""

    table: TableName
    count: int
    total_ns: int


@dataclass(frozen=True)
class Matches:
    """The rows' events whose name is one of the chosen ones; `is_word[table][code]` says which are chosen."""

    is_word: Mapping[TableName, npt.NDArray[np.bool_]]
    _count_before: dict[str, npt.NDArray[np.int32]] = field(default_factory=dict, compare=False)

    def is_match(self, row: Row, event: Indices) -> npt.NDArray[np.bool_]:
        """Which of these events of the row match."""
        if row.table not in self.is_word:
            return np.zeros(len(event), bool)
        chosen: npt.NDArray[np.bool_] = self.is_word[row.table][row.name_codes(event)]
        return chosen

    def count_between(self, row: Row, first: Indices, last: Indices) -> Indices:
        """How many of the events `first[i]` to `last[i]` (exclusive) match."""
        if row.table not in self.is_word:
            return np.zeros(len(first), np.int64)
        before = self.count_before(row)
        return (before[last] - before[first]).astype(np.int64)

    def count_before(self, row: Row) -> npt.NDArray[np.int32]:
        """How many of the first i events of the row match, for every i; counted once a row."""
        key = row.name.key
        if key not in self._count_before:
            matched = self.is_match(row, np.arange(row.count))
            self._count_before[key] = np.concatenate([[0], np.cumsum(matched)]).astype(np.int32)
        return self._count_before[key]

    def nearest(self, row: Row, time_ns: int, *, forward: bool) -> int | None:
        """The first matching event of the row that starts after that time, or the last one before it."""
        before = self.count_before(row)
        event = int(np.searchsorted(row.start_ns, time_ns, side="right" if forward else "left"))
        wanted = int(before[event]) + (1 if forward else 0)
        if not 0 < wanted <= int(before[-1]):
            return None
        return int(np.searchsorted(before, wanted)) - 1


def distinct_names(timeline: Timeline) -> dict[TableName, tuple[str, ...]]:
    """The names that occur, by table, in the order of their codes."""
    return {row.table: row.names.words for row in timeline.rows if row.table in SEARCHED}


def found(timeline: Timeline, matches: Matches) -> list[Found]:
    """Count and total duration of the matches by table; nested operators count each on its own."""
    totals: dict[TableName, Found] = {}
    for row in timeline.rows:
        if row.table not in matches.is_word or not matches.is_word[row.table].any():
            continue
        matched = matches.is_match(row, np.arange(row.count))
        duration = int((row.end_ns[matched] - row.start_ns[matched]).sum())
        earlier = totals.get(row.table, Found(row.table, 0, 0))
        totals[row.table] = Found(row.table, earlier.count + int(matched.sum()), earlier.total_ns + duration)
    return [totals[table] for table in SEARCHED if table in totals and totals[table].count]
