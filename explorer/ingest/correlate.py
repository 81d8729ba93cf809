"""Which call launched which piece of GPU work? By correlation id, within one document, process and device.

Any runtime or driver call that carries the work's correlation counts, whatever its name; flow arrows are not needed.
Two things make an id ambiguous:

- a runtime call and the driver call inside it share one (Intel's SYCL over Level Zero): the outer one is the launch;
- ranks merged into one document reuse ids: each device belongs to one process (homes).
"""

from __future__ import annotations

import numpy as np

from explorer.ingest.columns import ABSENT, Longs
from explorer.ingest.homes import home_processes
from explorer.ingest.sides import Side
from explorer.spans import NO_ROW, Rows


def launch_of_work(calls: Side, work: Side) -> Rows:
    """The call row of each piece of work, NO_ROW where none carries its correlation. 0 and absent are no id."""
    chosen = np.full(len(work.start_ns), NO_ROW, np.int64)
    candidates = _outer_calls(calls)
    pieces = np.flatnonzero((work.correlation != 0) & (work.correlation != ABSENT))
    for document in range(int(work.document.max(initial=-1)) + 1):
        of_document = candidates[calls.document[candidates] == document]
        call_row, work_row = _pairs(calls, work, of_document, pieces[work.document[pieces] == document])
        if len(work_row):
            _choose(calls, work, call_row, work_row, chosen)
    return chosen


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


def _pairs(calls: Side, work: Side, candidates: Rows, pieces: Rows) -> tuple[Rows, Rows]:
    """Each piece of work with one call of every process that carries its id, as rows of calls and of work.

    Of a process's calls with one id the last is taken that starts no later than the work, else the first. To look at
    all of them would take the square of their number, where a whole trace says one id.
    """
    ids = calls.correlation[candidates]
    if (ids[1:] != ids[:-1]).all():
        place = np.searchsorted(ids, work.correlation[pieces])
        found = np.append(ids, ABSENT)[place] == work.correlation[pieces]
        return candidates[place[found]], pieces[found]
    candidates = candidates[np.lexsort((calls.start_ns[candidates], calls.owner[candidates], ids))]
    ids = calls.correlation[candidates]
    owner = calls.owner[candidates]
    is_first = np.concatenate([[True], (ids[1:] != ids[:-1]) | (owner[1:] != owner[:-1])])
    first = np.flatnonzero(is_first)
    low = np.searchsorted(ids[first], work.correlation[pieces], side="left")
    count = np.searchsorted(ids[first], work.correlation[pieces], side="right") - low
    work_row = np.repeat(pieces, count)
    group = np.arange(len(work_row)) + np.repeat(low - np.cumsum(count) + count, count)
    end = np.append(first[1:], len(candidates))
    place = _last_not_after(calls.start_ns[candidates], work.start_ns[work_row], first[group], end[group])
    return candidates[place], work_row


def _last_not_after(times: Longs, when: Longs, begin: Rows, end: Rows) -> Rows:
    """The last position in each [begin, end) of ascending times that is not after `when`, else its begin."""
    low, high = begin + 1, end
    while (is_open := low < high).any():
        middle = np.where(is_open, (low + high) // 2, begin)
        is_after = times[middle] > when
        low, high = np.where(is_open & ~is_after, middle + 1, low), np.where(is_open & is_after, middle, high)
    return np.asarray(low - 1)


def _choose(calls: Side, work: Side, call_row: Rows, work_row: Rows, chosen: Rows) -> None:
    """Sets the launch of each piece of one document: the call of its device's home, else of a process without devices.

    A call of another device's home never is its launch, even where it is the only one with that id.
    """
    process = calls.owner[call_row]
    if (process == process[0]).all():
        chosen[work_row] = call_row
        return
    home = home_processes(calls, work, call_row, work_row)
    home_of_device = np.full(int(work.owner.max()) + 1, NO_ROW)
    home_of_device[list(home)] = list(home.values())
    latency_ns = work.start_ns[work_row] - calls.start_ns[call_row]
    is_foreign = home_of_device[work.owner[work_row]] != process
    kept = np.flatnonzero(~is_foreign | ~np.isin(process, list(home.values())))
    order = kept[np.lexsort((np.abs(latency_ns[kept]), latency_ns[kept] < 0, is_foreign[kept], work_row[kept]))]
    first = np.concatenate([[True], work_row[order][1:] != work_row[order][:-1]])
    chosen[work_row[order][first]] = call_row[order][first]
