"""When did a batch's events begin, and how long were they? All of one batch at once where their times are plain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from explorer.ingest.columns import Longs
from explorer.ingest.events import Event, Tick
from explorer.ingest.tokens import all_exact, ticks_column

Kinds = npt.NDArray[np.int8]


@dataclass
class Timed:
    """Complete events of the host or of the devices. Times are nanoseconds, None where each has to be looked at."""

    events: list[Event]
    kinds: Kinds
    starts: list[Tick]
    durations: list[Tick]
    start_ns: Longs | None
    duration_ns: Longs | None

    @classmethod
    def of(cls, complete: list[Event], kinds: Kinds, chosen: npt.NDArray[np.bool_]) -> Timed:
        """The chosen ones."""
        events = list(compress(complete, chosen.tolist()))
        starts, durations = each("ts", events), each("dur", events)
        return cls(events, kinds[chosen], starts, durations, ticks_column(starts), ticks_column(durations))

    def are_exact(self) -> bool:
        """Whether every time that became a float is the one that its digits say."""
        return (self.start_ns is not None or all_exact(self.starts)) and (
            self.duration_ns is not None or all_exact(self.durations)
        )


def each(name: str, rows: Sequence[msgspec.Struct]) -> list[Any]:
    """That attribute of each."""
    return list(map(attrgetter(name), rows))
