"""Which k sizes are best for this traffic, and how many are worth having? Exact, by dynamic programming.

A list s1 < s2 < ... runs a batch of n rows at the smallest size that holds it, so the batches between two chosen
sizes all pay for the larger one:

    cost(list) = Σ over neighbours p < s of (steps with p < n ≤ s) · price(s)
    best(j, s) = min over p < s of best(j − 1, p) + (steps with p < n ≤ s) · price(s)

`price` is the measured step time, or the size itself where nothing is measured (padded rows). The last size holds the
largest batch. A price need not rise with the size: a list may then be cheapest with fewer than k sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from explorer.errors import SettingsError

Counts = npt.NDArray[np.int64]
Prices = npt.NDArray[np.float64]
MOST_SIZES = 64
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Advice:
    """The cheapest lists of at most 1, 2, 3, ... sizes: `totals[k - 1]` is Σ price over all steps of the best k."""

    totals: npt.NDArray[np.float64]
    _exact: npt.NDArray[np.int64]  # how many sizes the best list of at most k has
    _last: npt.NDArray[np.int64]  # its largest size
    _previous: npt.NDArray[np.int64]  # (sizes in the list, its largest size) → the size before that

    @property
    def most(self) -> int:
        """The largest k that was asked for."""
        return len(self.totals)

    def sizes(self, count: int) -> tuple[int, ...]:
        """The best list of at most `count` sizes, smallest first."""
        used = int(self._exact[count - 1])
        size = int(self._last[used - 1])
        chosen = []
        for place in range(used - 1, -1, -1):
            chosen.append(size)
            size = int(self._previous[place, size])
        return tuple(reversed(chosen))


def best_lists(counts: Counts, prices: Prices, most: int = MOST_SIZES, *, cover: int = 0) -> Advice:
    """The cheapest lists for `counts[n]` steps of n rows at `prices[s]` a step of size s; index 0 is not used.

    Every list holds the largest batch that occurs and batches of `cover` rows. Sizes whose price is NaN are not
    chosen. `counts` and `prices` have one length, which bounds the sizes. Raises SettingsError when there is no traffic
    or when no priced size is large enough.
    """
    if len(counts) != len(prices) or most < 1:
        raise AssertionError("counts and prices are over the same sizes, and at least one is chosen")
    largest = max(_largest_batch(counts), cover)
    usable = np.isfinite(prices)
    usable[0] = False
    if not usable[largest:].any():
        raise SettingsError(f"No size with a known step time holds {largest:,} rows; sweep up to that size.")
    price = np.where(usable, prices, np.inf)
    steps = np.cumsum(counts).astype(np.float64)
    most = min(most, int(usable.sum()))
    total, last, previous = _exact_lists(steps, price, largest, most)
    exact = _running_argmin(total)
    return Advice(total[exact - 1], exact, last, previous)


def elbow(totals: npt.NDArray[np.float64]) -> int:
    """The k where more sizes stop paying: the point farthest below the chord from the first total to the last."""
    if len(totals) < 3 or totals[0] <= totals[-1]:
        return 1
    across = np.linspace(0, 1, len(totals))
    down = (totals - totals[-1]) / (totals[0] - totals[-1])
    return int(np.argmax(1 - across - down)) + 1


def fewest_reaching(totals: npt.NDArray[np.float64], total: float) -> int | None:
    """The smallest k whose total is no more than `total`, but for the last bits of a sum; None when none is."""
    reached = np.flatnonzero(totals <= total * (1 + _ROUNDING))
    return int(reached[0]) + 1 if len(reached) else None


def list_total(sizes: tuple[int, ...], counts: Counts, prices: Prices) -> float:
    """Σ price over all steps of a given list; batches above its largest size count nothing (no graph runs them)."""
    batches = np.flatnonzero(counts[: sizes[-1] + 1])
    buckets = np.array(sizes)[np.searchsorted(sizes, batches)]
    return float(np.sum(counts[batches] * prices[buckets]))


def _largest_batch(counts: Counts) -> int:
    batches = np.flatnonzero(counts)
    if not len(batches) or batches[-1] == 0:
        raise SettingsError("There is no traffic to choose sizes for; give at least one step with one row.")
    return int(batches[-1])


def _exact_lists(
    steps: npt.NDArray[np.float64], price: Prices, largest: int, most: int
) -> tuple[npt.NDArray[np.float64], Counts, Counts]:
    """(totals, last sizes, previous sizes) of the best lists of exactly 1, 2, ..., `most` sizes."""
    count = len(price)
    priced = np.where(np.isfinite(price), price, 0.0)
    # What a list that ends at s pays less, by having p before it: those up to p do not pay for s.
    saved = np.where(np.arange(count)[:, None] < np.arange(count), steps[:, None] * priced, np.nan)
    best = np.where(np.isfinite(price), steps * priced, np.inf)
    totals, lasts = np.empty(most), np.empty(most, np.int64)
    previous = np.zeros((most, count), np.int64)
    for place in range(most):
        if place:
            candidates = np.where(np.isnan(saved), np.inf, best[:, None] - saved)
            previous[place] = np.argmin(candidates, axis=0)
            best = candidates[previous[place], np.arange(count)] + np.where(np.isfinite(price), steps * priced, np.inf)
        lasts[place] = largest + int(np.argmin(best[largest:]))
        totals[place] = best[lasts[place]]
    return totals, lasts, previous


def _running_argmin(totals: npt.NDArray[np.float64]) -> Counts:
    """For every k the number of sizes, at most k, with the least total; the fewest where several are equal."""
    exact = np.empty(len(totals), np.int64)
    least = 0
    for place, total in enumerate(totals):
        if total < totals[least]:
            least = place
        exact[place] = least + 1
    return exact
