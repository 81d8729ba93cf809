"""Whose call is it where ranks were merged under one process id? In containers every rank may be process 1.

    file     rank 0: calls 1 2 3, work 1 2 3 | rank 1: calls 1 2 3, work 1 2 3
    time     the ranks' calls overlap

Where a process' ids come again in the file, the next rank begins, if the ranks overlap in time and are no more than
the devices. A counter that starts again in one process does not overlap, and its ids are told by time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from explorer.ingest.sides import Side
from explorer.spans import Rows, distinct_rows


@dataclass(frozen=True)
class Ranks:
    """The process of each call, or a number of its own for each rank of a process that several ranks share; and the
    rank of each device where such ranks have one each.
    """

    owner: npt.NDArray[np.int32]
    home: Mapping[int, int]


def find_ranks(calls: Side, work: Side, candidates: Rows, pieces: Rows) -> Ranks:
    """The ranks of one document: `candidates` are its calls with an id, in the order of ids, `pieces` its work."""
    owner = calls.owner
    home: dict[int, int] = {}
    for process in distinct_rows(owner[candidates]).tolist():
        rows = candidates[owner[candidates] == process]
        ids = calls.correlation[rows]
        repeated = ids[1:][ids[1:] == ids[:-1]]
        if len(repeated) == 0:
            continue
        devices = _in_file_order(work, pieces[np.isin(work.correlation[pieces], repeated)])
        rows = rows[np.argsort(calls.file_row[rows])]
        begins = _rank_begins(calls, rows, len(devices))
        if 2 <= len(begins) <= len(devices) and _overlap(calls, rows, begins):
            ranks = int(owner.max()) + 1 + np.arange(len(begins))
            owner = owner.copy()
            owner[rows] = np.repeat(ranks, np.diff([*begins, len(rows)]))
            if len(ranks) == len(devices):
                home.update(zip(devices, ranks.tolist(), strict=True))
    return Ranks(owner, home)


def _in_file_order(work: Side, pieces: Rows) -> list[int]:
    """The devices of some pieces of work, as they first come in the file."""
    pieces = pieces[np.argsort(work.file_row[pieces])]
    devices, first = np.unique(work.owner[pieces], return_index=True)
    return [int(device) for device in devices[np.argsort(first)]]


def _rank_begins(calls: Side, rows: Rows, most: int) -> list[int]:
    """Where ranks begin among the calls of one process in the order of the file; one more than `most` at most.

    Of the places between an id and its repetition the one where time falls back furthest: ranks need not begin with
    the same ids.
    """
    ids, start = calls.correlation[rows], calls.start_ns[rows]
    order = np.argsort(ids, kind="stable")
    is_repeated = ids[order[1:]] == ids[order[:-1]]
    before = np.full(len(rows), -1)
    before[order[1:][is_repeated]] = order[:-1][is_repeated]
    begins = [0]
    while len(begins) <= most:
        again = np.flatnonzero(before >= begins[-1])
        if len(again) == 0:
            break
        first, last = int(before[again[0]]) + 1, int(again[0])
        begins.append(first + int(np.argmin(start[first : last + 1] - start[first - 1 : last])))
    return begins


def _overlap(calls: Side, rows: Rows, begins: list[int]) -> bool:
    """Whether at some time calls of all ranks are behind and others still to come."""
    start = calls.start_ns[rows]
    return bool(np.maximum.reduceat(start, begins).min() > np.minimum.reduceat(start, begins).max())
