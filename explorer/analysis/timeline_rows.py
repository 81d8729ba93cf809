"""What is one row of the timeline, and what must be known of it to draw any part of it at any width?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from explorer.analysis.timeline_sums import CHUNK, Colours, ColourSums, Times, own_time, reach_before, sum_by_colour

RowKind = Literal["step", "layer", "annotation", "gaps", "stream", "copies", "operators", "calls"]
TableName = Literal["annotations", "work", "operators", "calls", "gaps"]
Rows = npt.NDArray[np.int32]


@dataclass(frozen=True)
class RowName:
    """What a row is: `key` is unique in its trace, rows of one `group` (a device, a host thread) stand together."""

    key: str
    kind: RowKind
    label: str
    group: str
    depth: int = 0


@dataclass(frozen=True)
class Names:
    """The names of a table's rows: row i is called `words[code[i]]`. Shared by all rows that show the table."""

    code: npt.NDArray[np.integer]
    words: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """The events of one row, sorted by start.

    `reach_ns` is the running maximum of the ends: the ends themselves where no event outlasts a later one. `colour`
    is a position in `palette`, which names families, gap parts or kinds of host event. `longest_ns` is the longest
    duration in every chunk of 32 events. Event i is row `table_row[i]` of `table`, or row i where that is None.
    """

    name: RowName
    table: TableName
    start_ns: Times
    end_ns: Times
    reach_ns: Times
    colour: Colours
    palette: tuple[str, ...]
    sums: ColourSums
    longest_ns: Times
    table_row: Rows | None
    names: Names

    @property
    def count(self) -> int:
        return len(self.start_ns)

    def table_rows(self, event: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The table's row numbers of those events."""
        return event if self.table_row is None else self.table_row[event].astype(np.int64)

    def name_codes(self, event: npt.NDArray[np.int64]) -> npt.NDArray[np.integer]:
        """The position in `names.words` of each event's name."""
        return self.names.code[self.table_rows(event)]

    def name_of(self, event: int) -> str:
        """The event's whole name."""
        return self.names.words[int(self.name_codes(np.array([event]))[0])]

    def event_at(self, table_row: int) -> int:
        """The event that shows that row of the table; it must be one of this row's."""
        return table_row if self.table_row is None else int(np.searchsorted(self.table_row, table_row))

    def window(self, start_ns: int, end_ns: int) -> tuple[int, int]:
        """The events that show in `[start_ns, end_ns)`: from the first that ends later to the last that starts."""
        first = int(np.searchsorted(self.reach_ns, start_ns, side="right"))
        last = int(np.searchsorted(self.start_ns, end_ns, side="left"))
        return min(first, last), last

    @property
    def size_bytes(self) -> int:
        """Bytes of this row's own arrays; views of the trace's columns count nothing."""
        arrays: tuple[npt.NDArray[Any] | None, ...] = (
            self.start_ns,
            self.end_ns,
            self.reach_ns,
            self.colour,
            self.longest_ns,
            self.table_row,
        )
        own = {id(array): array for array in arrays if array is not None and array.base is None}
        return self.sums.size_bytes + sum(array.nbytes for array in own.values())


def build_row(
    name: RowName,
    table: TableName,
    *,
    start_ns: Times,
    end_ns: Times,
    colour: Colours,
    palette: tuple[str, ...],
    table_row: Rows | None,
    names: Names,
) -> Row:
    """A row from its events, sorted by start; `colour` are positions in `palette`, which may name more than occur."""
    used = np.flatnonzero(np.bincount(colour, minlength=len(palette)))
    recoded = np.zeros(256, np.uint8)
    recoded[used] = np.arange(len(used), dtype=np.uint8)
    own_colour = recoded[colour]
    reach = _reach(end_ns)
    own = own_time(start_ns, end_ns, reach_before(reach, 0, len(end_ns)))
    edges = np.arange(0, len(start_ns), CHUNK)
    longest = np.maximum.reduceat(end_ns - start_ns, edges) if len(edges) else np.zeros(0, np.int64)
    return Row(
        name=name,
        table=table,
        start_ns=start_ns,
        end_ns=end_ns,
        reach_ns=reach,
        colour=own_colour,
        palette=tuple(palette[code] for code in used),
        sums=sum_by_colour(own, own_colour, len(used)),
        longest_ns=longest,
        table_row=table_row,
        names=names,
    )


def _reach(end_ns: Times) -> Times:
    if len(end_ns) < 2 or bool((end_ns[1:] >= end_ns[:-1]).all()):
        return end_ns
    return np.maximum.accumulate(end_ns)
