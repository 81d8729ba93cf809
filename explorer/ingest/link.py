"""How do events become a Trace: launches, operators and their nesting, graph launches, steps?

Order of work: one clock and one word table (merge) → rows sorted by start → work clipped where a stream would run
out of order (works) → launches by correlation (correlate) → each call's innermost operator (hosts) → tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from explorer.ingest.columns import Document
from explorer.ingest.correlate import launch_of_work
from explorer.ingest.hosts import HostSide
from explorer.ingest.merge import merge
from explorer.ingest.works import WorkSide
from explorer.trace import ReadingNote


@dataclass(frozen=True)
class Linked:
    """The tables of a trace, and what linking had to say."""

    operators: pa.Table
    calls: pa.Table
    work: pa.Table
    annotations: pa.Table
    frames: pa.Table
    dropped_work: pa.Table
    base_time_ns: int | None
    notes: tuple[ReadingNote, ...]


def link(documents: list[Document]) -> Linked:
    """All documents of one file as the tables of one trace. Empties the list, for its memory."""
    dropped_document = np.repeat(np.arange(len(documents)), [len(document.dropped_work) for document in documents])
    merged = merge(documents)
    hosts, works = HostSide(merged), WorkSide(merged, dropped_document)
    launches = launch_of_work(hosts.calls_side(), works.side())
    call_of_work = launches.call_row
    operator_of_call = hosts.operators_of_calls()
    return Linked(
        operators=hosts.operator_table(),
        calls=hosts.call_table(call_of_work, operator_of_call, works.is_pageable()),
        work=works.work_table(call_of_work, operator_of_call),
        annotations=hosts.annotation_table(),
        frames=hosts.frame_table(),
        dropped_work=works.dropped_table(),
        base_time_ns=merged.base_time_ns,
        notes=(*merged.notes, *works.notes, *launches.notes, *hosts.notes),
    )
