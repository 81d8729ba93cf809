"""Do devices and processes go together as cheaply as they can?"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from explorer.ingest.homes import assigned


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("column_count", [4, 6])
def test_no_other_assignment_costs_less(seed: int, column_count: int) -> None:
    costs = np.random.default_rng(seed).integers(0, 9, (4, column_count)).astype(float)
    costs[0, 1:3] = np.inf

    chosen = assigned(costs)

    cheapest = min(costs[range(4), list(one)].sum() for one in itertools.permutations(range(column_count), 4))
    assert len(set(chosen.tolist())) == 4
    assert costs[range(4), chosen].sum() == cheapest


def test_first_goes_with_first_among_equals() -> None:
    assert assigned(np.ones((3, 4))).tolist() == [0, 1, 2]
