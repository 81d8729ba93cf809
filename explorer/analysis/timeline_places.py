"""Where in the timeline is a row of a table, and what lies around a point in time on a thread?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.analysis.timeline_build import Timeline
from explorer.analysis.timeline_rows import TableName
from explorer.spans import NO_ROW
from explorer.trace import Trace, codes_and_words, values


@dataclass(frozen=True)
class Place:
    """One event: its row's position in the timeline, its index in the row, and its times."""

    row_index: int
    event: int
    start_ns: int
    end_ns: int


def place_of(timeline: Timeline, table: TableName, table_row: int) -> Place | None:
    """The event that shows a row of a table, or None where no row does."""
    if table_row == NO_ROW:
        return None
    for index, row in enumerate(timeline.rows):
        if row.table != table:
            continue
        event = row.event_at(table_row)
        if event < row.count and int(row.table_rows(np.array([event]))[0]) == table_row:
            return place_at(timeline, index, event)
    return None


def place_at(timeline: Timeline, row_index: int, event: int) -> Place:
    """The event of a row with its times."""
    row = timeline.rows[row_index]
    return Place(row_index, event, int(row.start_ns[event]), int(row.end_ns[event]))


def word_in(trace: Trace, table: TableName, column: str, table_row: int) -> str | None:
    """The text in one cell of one of the trace's own tables, None where it is missing."""
    cell: str | None = getattr(trace, table)[column][table_row].as_py()
    return cell or None


def number_in(trace: Trace, table: TableName, column: str, table_row: int) -> int | float | None:
    """The number in one cell, None where it is missing."""
    cell: int | float | None = getattr(trace, table)[column][table_row].as_py()
    return cell


def enclosing(trace: Trace, kind: str, process: str, thread: str, time_ns: int) -> str | None:
    """The name of the innermost annotation of that kind around a time on a thread."""
    table = trace.annotations
    start, end = values(table, "start_ns"), values(table, "end_ns")
    around = (start <= time_ns) & (end > time_ns)
    for column, wanted in (("kind", kind), ("process", process), ("thread", thread)):
        codes, words = codes_and_words(table, column)
        around &= codes == (words.index(wanted) if wanted in words else NO_ROW)
    rows = np.flatnonzero(around)
    return word_in(trace, "annotations", "name", int(rows[-1])) if len(rows) else None
