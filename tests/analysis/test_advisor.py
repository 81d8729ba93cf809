"""Is the advised list really the cheapest, and is it found fast enough?"""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.analysis.advisor import best_lists, elbow, fewest_reaching, list_total
from explorer.capture_sizes import sglang_sizes, vllm_sizes
from explorer.errors import SettingsError

small_traffic = st.lists(st.integers(0, 20), min_size=1, max_size=9).filter(any).map(lambda rows: np.array([0, *rows]))


def brute_force(counts: np.ndarray, prices: np.ndarray, most: int, cover: int = 0) -> float:
    """The least total over every list of at most `most` sizes."""
    needed = max(int(np.flatnonzero(counts)[-1]), cover)
    known = [size for size in range(1, len(counts)) if np.isfinite(prices[size])]
    lists = [chosen for count in range(1, most + 1) for chosen in combinations(known, count) if chosen[-1] >= needed]
    return min(list_total(chosen, counts, prices) for chosen in lists)


@given(small_traffic, st.data())
def test_equal_to_brute_force_over_padded_rows(counts: np.ndarray, data: st.DataObject) -> None:
    most = data.draw(st.integers(1, len(counts) - 1))
    prices = np.arange(len(counts), dtype=np.float64)
    advice = best_lists(counts, prices, most)
    for count in range(1, advice.most + 1):
        assert advice.totals[count - 1] == brute_force(counts, prices, count)
        assert list_total(advice.sizes(count), counts, prices) == advice.totals[count - 1]
        assert len(advice.sizes(count)) <= count


@given(small_traffic, st.data())
def test_equal_to_brute_force_over_measured_time_that_need_not_rise(counts: np.ndarray, data: st.DataObject) -> None:
    size_count = len(counts) - 1
    measured = st.lists(st.integers(1, 1000), min_size=size_count, max_size=size_count)
    prices = np.array([0, *data.draw(measured)], np.float64)
    cover = data.draw(st.integers(0, size_count))
    advice = best_lists(counts, prices, size_count, cover=cover)
    for count in range(1, advice.most + 1):
        assert advice.totals[count - 1] == brute_force(counts, prices, count, cover)
        assert list_total(advice.sizes(count), counts, prices) == advice.totals[count - 1]
        assert advice.sizes(count)[-1] >= cover


@given(small_traffic)
def test_sizes_without_a_price_are_not_chosen(counts: np.ndarray) -> None:
    prices = np.arange(len(counts), dtype=np.float64)
    prices[1:-1:2] = np.nan
    advice = best_lists(counts, prices, 3)
    assert all(np.isfinite(prices[size]) for count in range(1, advice.most + 1) for size in advice.sizes(count))
    assert advice.totals[-1] == brute_force(counts, prices, advice.most)


def observed(seed: int, largest: int = 512) -> np.ndarray:
    batches = np.random.default_rng(seed).gamma(3, largest / 12, 10_000).astype(int)
    return np.bincount(np.clip(batches, 1, largest), minlength=largest + 1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rule", [vllm_sizes, sglang_sizes])
def test_never_worse_than_an_engine_s_default_at_the_same_k(seed: int, rule: object) -> None:
    counts = observed(seed)
    sizes = vllm_sizes(512) if rule is vllm_sizes else sglang_sizes(512)
    for prices in (np.arange(513.0), 4e6 + 1e4 * np.arange(513.0) + 5e4 * np.sin(np.arange(513.0))):
        advice = best_lists(counts, prices, 64, cover=512)
        assert advice.totals[len(sizes) - 1] <= list_total(sizes, counts, prices) * (1 + 1e-12)
        fewest = fewest_reaching(advice.totals, list_total(sizes, counts, prices))
        assert fewest is not None
        assert fewest <= len(sizes)


def test_ten_thousand_batches_up_to_512_take_under_two_seconds() -> None:
    counts = observed(7)
    start_s = time.process_time()
    advice = best_lists(counts, np.arange(513.0), 64)
    lists = [advice.sizes(count) for count in range(1, 65)]
    assert time.process_time() - start_s < 2
    assert len(lists) == advice.most == 64


def test_more_sizes_never_cost_more() -> None:
    totals = best_lists(observed(1), np.arange(513.0), 64).totals
    assert (np.diff(totals) <= 0).all()


def test_elbow_is_where_the_curve_bends() -> None:
    assert elbow(np.array([100.0, 10, 9, 8, 7, 6])) == 2
    assert elbow(np.array([5.0, 5.0, 5.0])) == 1


def test_nothing_to_choose_for_is_said() -> None:
    with pytest.raises(SettingsError, match="no traffic"):
        best_lists(np.zeros(5, np.int64), np.arange(5.0))
    with pytest.raises(SettingsError, match="sweep up to that size"):
        best_lists(np.array([0, 1, 1]), np.array([0, 1, np.nan]))
