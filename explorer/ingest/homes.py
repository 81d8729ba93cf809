"""Whose is each device? The process that launched its work, where ranks merged into one document reuse ids.

Every process that carries about as many of a device's ids as the best one may be its home. The devices choose together,
each its own process: a rank whose host ran a little later looks closer to its neighbour's work than its own rank does,
and if every device chose alone, two would choose the same one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from explorer.ingest.columns import Longs
from explorer.ingest.sides import Side
from explorer.spans import Rows

_FITTING_RATIO, _POSSIBLE_RATIO = 0.9, 0.5
"""Of the ids that the best process has: what fits as well, and what may be the home of a rank that lost calls."""
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Fit:
    """How well each process (column) explains each device (row)."""

    share: _Floats  # of the ids that the best process has
    is_possible: npt.NDArray[np.bool_]
    early_ratio: _Floats  # work before its launch; like the latency only where it is possible
    median_latency_ns: _Floats


def home_processes(calls: Side, work: Side, call_row: Rows, work_row: Rows) -> dict[int, int]:
    """Device → its process, of one document, from pairs of a piece of work and a call with its id, one a process.

    The sum of the squared median latencies is least, which leaves the ranks in the order of their clocks; among equals
    what appears first goes together. Devices share a process only where there are fewer processes.
    """
    devices, row = _by_appearance(work.owner[work_row], work_row)
    processes, column = _by_appearance(calls.owner[call_row], call_row)
    latency_ns = work.start_ns[work_row] - calls.start_ns[call_row]
    fit = _fit(row, column, work_row, latency_ns)
    chosen = processes[assigned(_costs(fit)) % len(processes)]
    return dict(zip(devices.tolist(), chosen.tolist(), strict=True))


def _by_appearance(owner: npt.NDArray[np.int32], rows: Rows) -> tuple[npt.NDArray[np.int32], Rows]:
    """Every owner once, in order of their first rows, and where each element stands among them."""
    owners, inverse = np.unique(owner, return_inverse=True)
    first = np.full(len(owners), np.iinfo(np.int64).max)
    np.minimum.at(first, inverse, rows)
    order = np.argsort(first)
    place = np.argsort(order)
    return owners[order], place[inverse]


def _fit(row: Rows, column: Rows, work_row: Rows, latency_ns: Longs) -> _Fit:
    shape = (int(row.max()) + 1, int(column.max()) + 1)
    pair = row * shape[1] + column
    count = np.bincount(pair, minlength=shape[0] * shape[1]).reshape(shape)
    share = count / count.max(axis=1, keepdims=True)
    is_possible = share >= _POSSIBLE_RATIO
    used = _comparable(is_possible, row, column, work_row)
    order = used[np.lexsort((latency_ns[used], pair[used]))]
    pairs, first, lengths = np.unique(pair[order], return_index=True, return_counts=True)
    early, median = np.zeros(count.size), np.zeros(count.size)
    early[pairs] = np.add.reduceat((latency_ns[order] < 0).astype(np.int64), first) / lengths
    median[pairs] = latency_ns[order[first + lengths // 2]]
    return _Fit(share, is_possible, early.reshape(shape), median.reshape(shape))


def _comparable(is_possible: npt.NDArray[np.bool_], row: Rows, column: Rows, work_row: Rows) -> Rows:
    """The pairs of what all possible processes of a device carry, where there is such work: latencies of other work
    say more about when that work ran than about whose it is.
    """
    kept = np.flatnonzero(is_possible[row, column])
    carrier_count = np.bincount(work_row[kept])
    is_common = carrier_count[work_row[kept]] == is_possible.sum(axis=1)[row[kept]]
    has_common = np.isin(row[kept], row[kept][is_common])
    return np.asarray(kept[is_common | ~has_common])


def _costs(fit: _Fit) -> _Floats:
    """What each device pays for each process, the processes side by side once for every device that may share them.

    Sharing costs more than a poor fit, that more than work before its launch, and that more than any latency.
    """
    device_count, process_count = fit.share.shape
    latency = np.abs(fit.median_latency_ns)
    costs = (latency / max(latency.max(), 1)) ** 2
    more = device_count + 1  # than what every device can pay of the lesser kind
    if process_count > device_count:  # else clocks tell: a whole rank may run before another one's launches
        costs += more * (fit.early_ratio > 0.5)
    costs += more**2 * (fit.share < _FITTING_RATIO)
    costs[~fit.is_possible] = np.inf
    most_sharing = -(-device_count // process_count) if fit.is_possible.all() else device_count
    return np.hstack([costs + more**3 * place for place in range(most_sharing)])


def assigned(costs: _Floats) -> Rows:
    """The column of each row, none twice, that cost least together; the Hungarian method, one shortest path a row.

    >>> assigned(np.array([[1.0, 2.0], [1.0, 9.0]])).tolist()
    [1, 0]
    """
    row_price, column_price = np.zeros(costs.shape[0]), np.zeros(costs.shape[1])
    row_of, column_of = np.full(costs.shape[1], -1), np.full(costs.shape[0], -1)
    for row in range(len(costs)):
        distance, came_from = np.full(costs.shape[1], np.inf), np.full(costs.shape[1], -1)
        is_done = np.zeros(costs.shape[1], bool)
        at, reached = row, 0.0
        while at != -1:
            through = reached + costs[at] - row_price[at] - column_price
            is_nearer = ~is_done & (through < distance)
            distance[is_nearer], came_from[is_nearer] = through[is_nearer], at
            column = int(np.argmin(np.where(is_done, np.inf, distance)))
            reached, is_done[column] = float(distance[column]), True
            at = int(row_of[column])
        row_price[row] += reached
        passed = np.flatnonzero(is_done & (row_of != -1))
        row_price[row_of[passed]] += reached - distance[passed]
        column_price[passed] -= reached - distance[passed]
        _shift_along(came_from, column, row, row_of, column_of)
    return np.asarray(column_of)


def _shift_along(came_from: Rows, column: int, row: int, row_of: Rows, column_of: Rows) -> None:
    """Gives every row on the path the column after it; the first one, `row`, had none."""
    at = -1
    while at != row:
        at = int(came_from[column])
        row_of[column] = at
        column, column_of[at] = int(column_of[at]), column
