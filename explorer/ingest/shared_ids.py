"""Which launch does work belong to where several launches with its id come before it, and not every one has work?

    calls    1 1 ....           both launched before any of their work began: the last one would
    work     ....1 1            get it all, and look like a graph launch

As many pieces as calls go together in order. Else the calls cannot be told apart, and the work counts as unlaunched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from explorer.ingest.sides import Side
from explorer.spans import NO_ROW, Rows

_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Shared:
    """Calls and their work by group: one id of one rank. Both sorted by group and start."""

    call_row: Rows
    call_group: Rows
    work_row: Rows
    work_group: Rows
    group_count: int

    def any_of_calls(self, mask: _Mask) -> _Mask:
        return np.bincount(self.call_group[mask], minlength=self.group_count) > 0

    def any_of_work(self, mask: _Mask) -> _Mask:
        return np.bincount(self.work_group[mask], minlength=self.group_count) > 0


def tell_apart(
    calls: Side, work: Side, candidates: Rows, pieces: Rows, home: Mapping[int, int], chosen: Rows
) -> tuple[int, int]:
    """Corrects the launches of one document's work; returns how many pieces were matched in order, how many not.

    `candidates` are the calls with an id, `pieces` the work with one, `home` the process of each device where there
    are several processes, `chosen` the call of each piece of work so far.
    """
    linked = pieces[chosen[pieces] != NO_ROW]
    work_count = np.bincount(chosen[linked], minlength=len(calls.start_ns))
    with_several, without = (candidates[mask] for mask in (work_count[candidates] > 1, work_count[candidates] == 0))
    if not np.isin(calls.correlation[without], calls.correlation[with_several]).any():
        return 0, 0
    shared = _shared(calls, work, candidates, linked, home, chosen)
    has_several = work_count[chosen[shared.work_row]] > 1
    call_counts = np.bincount(shared.call_group, minlength=shared.group_count)
    work_counts = np.bincount(shared.work_group, minlength=shared.group_count)
    is_plural = call_counts > 1
    if 2 * int((is_plural & (work_counts >= call_counts)).sum()) <= int(is_plural.sum()):
        return 0, 0  # most ids have one piece for several calls: the others' work is not in the file
    is_unclear = shared.any_of_calls(work_count[shared.call_row] == 0) & shared.any_of_work(has_several)
    is_even = is_unclear & (call_counts == work_counts)
    call_row = shared.call_row[is_even[shared.call_group]]
    work_row = shared.work_row[is_even[shared.work_group]]
    is_early = np.zeros(len(shared.work_row), bool)
    is_early[is_even[shared.work_group]] = work.start_ns[work_row] < calls.start_ns[call_row]
    is_told = is_even & ~shared.any_of_work(is_early)
    told = shared.work_row[is_told[shared.work_group]]
    untold = shared.work_row[(is_unclear & ~is_told)[shared.work_group] & has_several]
    chosen[told] = shared.call_row[is_told[shared.call_group]]
    chosen[untold] = NO_ROW
    return len(told), len(untold)


def _shared(calls: Side, work: Side, candidates: Rows, linked: Rows, home: Mapping[int, int], chosen: Rows) -> _Shared:
    """The groups with work: a call belongs to its work's rank, without work to its own, else to its id's first one."""
    rank_of_device = np.full(int(work.owner.max()) + 1, NO_ROW)
    rank_of_device[list(home)] = list(home.values())
    ids, id_of_work = np.unique(work.correlation[linked], return_inverse=True)
    candidates = candidates[np.isin(calls.correlation[candidates], ids)]
    id_of_call = np.searchsorted(ids, calls.correlation[candidates])
    rank_of_work = rank_of_device[work.owner[linked]]
    rank_of_id = np.full(len(ids), NO_ROW)
    rank_of_id[id_of_work[::-1]] = rank_of_work[::-1]
    rank_of_call = np.full(len(calls.start_ns), NO_ROW)
    is_home = np.isin(calls.owner[candidates], list(home.values()))
    rank_of_call[candidates] = np.where(is_home, calls.owner[candidates], rank_of_id[id_of_call])
    rank_of_call[chosen[linked]] = rank_of_work
    size = max(int(rank_of_call.max()), int(rank_of_device.max())) + 2
    keys, group = np.unique(
        np.concatenate([id_of_work * size + rank_of_work, id_of_call * size + rank_of_call[candidates]]),
        return_inverse=True,
    )
    work_group, call_group = group[: len(linked)], group[len(linked) :]
    work_order = np.lexsort((work.start_ns[linked], work_group))
    call_order = np.lexsort((calls.start_ns[candidates], call_group))
    return _Shared(
        candidates[call_order], call_group[call_order], linked[work_order], work_group[work_order], len(keys)
    )
