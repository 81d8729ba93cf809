"""Which records of a document did the profiler never fill in? Those that begin at exactly 0, far before all others.

A device buffer that ran over leaves records of zeros behind, and exporters write them as events. Taken for work they
make a trace fifty years long.
"""

from __future__ import annotations

import dataclasses
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from explorer.ingest.columns import Document, HostEvents, WorkEvents
from explorer.ingest.repair import Notes

_FAR_NS = 1_000_000_000_000
"""An event that has a length may well be a trace's first; it is none when the next one begins this much later."""
Events = TypeVar("Events", HostEvents, WorkEvents)


def without_unfilled(document: Document) -> Document:
    """The document without them, and with a note of how many they were. Its times are those in the file, without base.

    A start of 0 tells when it lies further before the rest than the rest is long.
    """
    sides = (document.host, document.work)
    if all(side.start_ns.all() for side in sides):
        return document
    starts = np.concatenate([side.start_ns for side in sides])
    ends = np.concatenate([side.end_ns for side in sides])[starts != 0]
    starts = starts[starts != 0]
    if not len(starts) or starts.min() <= ends.max() - starts.min():
        return document
    is_far = bool(starts.min() > _FAR_NS)
    host_kept, work_kept = (_filled(side, is_far) for side in sides)
    notes = Notes()
    notes.add("unfilled", None, int((~host_kept).sum() + (~work_kept).sum()))
    return dataclasses.replace(
        document,
        host=_chosen(document.host, host_kept),
        work=_chosen(document.work, work_kept),
        notes=(*document.notes, *notes.to_reading_notes()),
    )


def _filled(events: HostEvents | WorkEvents, is_far: bool) -> npt.NDArray[np.bool_]:
    """Which events to keep; `is_far` says whether a start of 0 tells even of one that has a length."""
    return np.asarray((events.start_ns != 0) | ((events.end_ns != 0) & ~np.bool_(is_far)))


def _chosen(events: Events, kept: npt.NDArray[np.bool_]) -> Events:
    names = [field.name for field in dataclasses.fields(events)]
    return dataclasses.replace(events, **{name: getattr(events, name)[kept] for name in names})
