"""Which call launched which piece of GPU work? By correlation id, within one document, process and device.

Any runtime or driver call that carries the work's correlation counts, whatever its name; flow arrows are not needed.
Three things make an id ambiguous:

- a runtime call and the driver call inside it share one (Intel's SYCL over Level Zero): the outer one is the launch;
- ranks merged into one document reuse ids: each device belongs to one process (homes), or to one of the ranks that
  share a process id (ranks);
- several launches with one id may all come before their work (shared_ids).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from explorer.ingest.columns import ABSENT, Longs
from explorer.ingest.homes import home_processes
from explorer.ingest.ranks import find_ranks
from explorer.ingest.shared_ids import tell_apart
from explorer.ingest.sides import Side
from explorer.spans import NO_ROW, Rows
from explorer.trace import ReadingNote


@dataclass(frozen=True)
class Launches:
    """The call row of each piece of work, NO_ROW for none, and what finding them had to say."""

    call_row: Rows
    notes: tuple[ReadingNote, ...]


def launch_of_work(calls: Side, work: Side) -> Launches:
    """The launch of each piece of work: none where no call carries its correlation. 0 and absent are no id."""
    chosen = np.full(len(work.start_ns), NO_ROW, np.int64)
    candidates = _outer_calls(calls)
    pieces = np.flatnonzero((work.correlation != 0) & (work.correlation != ABSENT))
    in_order_count, untold_count = 0, 0
    for document in range(int(work.document.max(initial=-1)) + 1):
        of_document = candidates[calls.document[candidates] == document]
        with_id = pieces[work.document[pieces] == document]
        in_order, untold = _choose_in_document(calls, work, of_document, with_id, chosen)
        in_order_count, untold_count = in_order_count + in_order, untold_count + untold
    return Launches(chosen, tuple(_notes(in_order_count, untold_count)))


def _notes(in_order_count: int, untold_count: int) -> Iterator[ReadingNote]:
    if in_order_count:
        text = (
            f"{in_order_count:,} pieces of GPU work whose correlation id several calls share, as where ranks were "
            "merged under one process id: matched with them by their order in the file or in time"
        )
        yield ReadingNote("launch_by_order", in_order_count, text)
    if untold_count:
        text = (
            f"{untold_count:,} pieces of GPU work whose correlation id several calls share that cannot be told apart, "
            "as where ranks were merged on one device: no launch is called theirs"
        )
        yield ReadingNote("launch_untold", untold_count, text)


def _are_distinct(ids: Longs) -> bool:
    return bool((ids[1:] != ids[:-1]).all())


def _outer_calls(calls: Side) -> Rows:
    """Calls with an id, in its order, without those inside another call of the same thread and id."""
    rows = np.flatnonzero((calls.correlation != 0) & (calls.correlation != ABSENT))
    rows = rows[np.argsort(calls.correlation[rows], kind="stable")]
    ids = calls.correlation[rows]
    if _are_distinct(ids):
        return rows
    keys = (-calls.end_ns[rows], calls.start_ns[rows], calls.thread[rows], calls.owner[rows])
    rows = rows[np.lexsort((*keys, calls.document[rows], calls.correlation[rows]))]
    same = np.ones(len(rows) - 1, bool)
    for column in (calls.correlation, calls.document, calls.owner, calls.thread):
        same &= column[rows[1:]] == column[rows[:-1]]
    inside = np.concatenate([[False], same & (calls.end_ns[rows[1:]] <= calls.end_ns[rows[:-1]])])
    return np.asarray(rows[~inside])


def _choose_in_document(calls: Side, work: Side, candidates: Rows, pieces: Rows, chosen: Rows) -> tuple[int, int]:
    """Sets the launch of each piece of one document; returns how many went by order, and how many cannot be told."""
    if _are_distinct(calls.correlation[candidates]):
        _choose(calls, work, *_only_pairs(calls, work, candidates, pieces), chosen, {})
        return 0, 0
    ranks = find_ranks(calls, work, candidates, pieces)
    by_rank = dataclasses.replace(calls, owner=ranks.owner)
    home = _choose(by_rank, work, *_pairs(by_rank, work, candidates, pieces), chosen, ranks.home)
    in_order, untold = tell_apart(by_rank, work, candidates, pieces, home, chosen)
    launch = chosen[pieces[chosen[pieces] != NO_ROW]]
    return in_order + int((ranks.owner[launch] != calls.owner[launch]).sum()), untold


def _only_pairs(calls: Side, work: Side, candidates: Rows, pieces: Rows) -> tuple[Rows, Rows]:
    """Each piece of work with the call that carries its id, where no two calls share one; as rows of both."""
    ids = calls.correlation[candidates]
    place = np.searchsorted(ids, work.correlation[pieces])
    found = np.append(ids, ABSENT)[place] == work.correlation[pieces]
    return candidates[place[found]], pieces[found]


def _pairs(calls: Side, work: Side, candidates: Rows, pieces: Rows) -> tuple[Rows, Rows]:
    """Each piece of work with one call of every process that carries its id, as rows of calls and of work.

    Of a process's calls with one id the last is taken that starts no later than the work, else the first. To look at
    all of them would take the square of their number, where a whole trace says one id.
    """
    keys = (calls.start_ns[candidates], calls.owner[candidates], calls.correlation[candidates])
    candidates = candidates[np.lexsort(keys)]
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


def _choose(
    calls: Side, work: Side, call_row: Rows, work_row: Rows, chosen: Rows, known_home: Mapping[int, int]
) -> dict[int, int]:
    """Sets the launch of each piece of one document: the call of its device's home, else of a process without devices.

    A call of another device's home never is its launch, even where it is the only one with that id. Returns the home
    of each device, none where there is only one process.
    """
    process = calls.owner[call_row]
    if (process == process[:1]).all():
        chosen[work_row] = call_row
        return {}
    home = {**home_processes(calls, work, call_row, work_row), **known_home}
    home_of_device = np.full(int(work.owner.max()) + 1, NO_ROW)
    home_of_device[list(home)] = list(home.values())
    latency_ns = work.start_ns[work_row] - calls.start_ns[call_row]
    is_foreign = home_of_device[work.owner[work_row]] != process
    kept = np.flatnonzero(~is_foreign | ~np.isin(process, list(home.values())))
    order = kept[np.lexsort((np.abs(latency_ns[kept]), latency_ns[kept] < 0, is_foreign[kept], work_row[kept]))]
    first = np.concatenate([[True], work_row[order][1:] != work_row[order][:-1]])
    chosen[work_row[order][first]] = call_row[order][first]
    return home
