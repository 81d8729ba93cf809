"""Which call launched which piece of GPU work? By correlation id, within one document, process and device.

Any runtime or driver call that carries the work's correlation counts, whatever its name; flow arrows are not needed.
Two things make an id ambiguous:

- a runtime call and the driver call inside it share one (Intel's SYCL over Level Zero): the outer one is the launch;
- ranks merged into one document reuse ids: a device belongs to the process whose calls fit it best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from explorer.ingest.columns import ABSENT, Longs
from explorer.spans import NO_ROW, Rows


@dataclass(frozen=True)
class Side:
    """What linking needs to know of calls or of work; `owner` is a process of calls, a device scope of work."""

    start_ns: Longs
    end_ns: Longs
    correlation: Longs
    document: npt.NDArray[np.int32]
    owner: npt.NDArray[np.int32]
    thread: npt.NDArray[np.int32]


def launch_of_work(calls: Side, work: Side) -> Rows:
    """The call row of each piece of work, NO_ROW where none carries its correlation. 0 and absent are no id."""
    candidates = _outer_calls(calls)
    ids = calls.correlation[candidates]
    has_id = (work.correlation != 0) & (work.correlation != ABSENT)
    low = np.searchsorted(ids, work.correlation, side="left")
    count = np.where(has_id, np.searchsorted(ids, work.correlation, side="right") - low, 0)
    work_row = np.repeat(np.arange(len(count)), count)
    position = np.arange(len(work_row)) - np.repeat(np.cumsum(count) - count, count)
    call_row = candidates[np.repeat(low, count) + position]
    same_document = calls.document[call_row] == work.document[work_row]
    return _best_pairs(calls, work, call_row[same_document], work_row[same_document])


def _outer_calls(calls: Side) -> Rows:
    """Calls with an id, in its order, without those inside another call of the same thread and id."""
    rows = np.flatnonzero((calls.correlation != 0) & (calls.correlation != ABSENT))
    rows = rows[np.argsort(calls.correlation[rows], kind="stable")]
    ids = calls.correlation[rows]
    if (ids[1:] != ids[:-1]).all():
        return rows
    keys = (-calls.end_ns[rows], calls.start_ns[rows], calls.thread[rows], calls.owner[rows])
    rows = rows[np.lexsort((*keys, calls.document[rows], calls.correlation[rows]))]
    same = np.ones(len(rows) - 1, bool)
    for column in (calls.correlation, calls.document, calls.owner, calls.thread):
        same &= column[rows[1:]] == column[rows[:-1]]
    inside = np.concatenate([[False], same & (calls.end_ns[rows[1:]] <= calls.end_ns[rows[:-1]])])
    return np.asarray(rows[~inside])


def _best_pairs(calls: Side, work: Side, call_row: Rows, work_row: Rows) -> Rows:
    chosen = np.full(len(work.start_ns), NO_ROW, np.int64)
    if len(work_row) == 0:
        return chosen
    if np.bincount(work_row).max() == 1:
        chosen[work_row] = call_row
        return chosen
    home = _home_process(calls, work, call_row, work_row)
    is_foreign = home[work.owner[work_row]] != calls.owner[call_row]
    starts_later = calls.start_ns[call_row] > work.start_ns[work_row]
    distance = np.abs(work.start_ns[work_row] - calls.start_ns[call_row])
    order = np.lexsort((distance, starts_later, is_foreign, work_row))
    first = np.concatenate([[True], work_row[order][1:] != work_row[order][:-1]])
    chosen[work_row[order][first]] = call_row[order][first]
    return chosen


def _home_process(calls: Side, work: Side, call_row: Rows, work_row: Rows) -> npt.NDArray[np.int32]:
    """The process of each device scope: the one that most of its work points at, then the one without work before
    its launch, then the one with the shortest latency.
    """
    device, process = work.owner[work_row], calls.owner[call_row]
    latency = work.start_ns[work_row] - calls.start_ns[call_row]
    home = np.full(int(work.owner.max()) + 1, -1, np.int32)
    for one in np.unique(device):
        choices = []
        for owner in np.unique(process[device == one]):
            of_pair = (device == one) & (process == owner)
            early = float((latency[of_pair] < 0).mean())
            choices.append((-int(of_pair.sum()), early, float(np.median(np.abs(latency[of_pair]))), int(owner)))
        most = min(choice[0] for choice in choices)
        home[one] = min(choice[1:] for choice in choices if choice[0] <= 0.9 * most)[-1]
    return home
