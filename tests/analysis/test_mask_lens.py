"""Do the pictures of who sees whom agree with PyTorch, and are the traps told?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.analysis.mask_lens import (
    attended_by_additive,
    boolean_lens,
    cache_lens,
    causal_lens,
    left_padded_lens,
    lower_right,
    mask_warnings,
    mean_attended_index,
    padding_lenses,
    square_lens,
    upper_left,
)
from tests.shared import SHARED, needs_shared, read_json


def expected_of(case: str) -> dict[str, Any]:
    found: dict[str, Any] = read_json(SHARED / "cases" / case / "expected.json")["workload.py"]
    return found


@needs_shared
def test_causal_case_agrees() -> None:
    expected = expected_of("23-sdpa-causal-offset")
    assert mean_attended_index(upper_left(2, 5)) == expected["flag_2x5"]
    assert mean_attended_index(lower_right(2, 5)) == expected["right_2x5"]
    assert mean_attended_index(upper_left(1, 8)) == expected["flag_1x8"]
    assert mean_attended_index(lower_right(1, 8)) == expected["right_1x8"]
    assert mean_attended_index(upper_left(4, 4)) == expected["flag_4x4"]


@needs_shared
def test_boolean_case_agrees() -> None:
    expected = expected_of("24-sdpa-bool-mask-meaning")
    right, wrong = padding_lenses(4, 1)
    assert mean_attended_index(right.visible) == [expected["keep_mask"]]
    assert mean_attended_index(wrong.visible) == [expected["padding_mask_passed_as_is"]]
    lowest = np.full((1, 4), np.finfo(np.float32).min)
    assert mean_attended_index(attended_by_additive(lowest)) == [expected["fully_masked_finfo_min"]]


def test_one_query_under_is_causal_sees_an_eighth_of_eight_keys() -> None:
    lens = causal_lens(1, 8)
    assert lens.seen_counts.tolist() == [1]
    assert "the only query sees 1 of 8 keys (12.5 %)" in lens.warnings[0]


def test_equal_lengths_are_not_warned_about() -> None:
    assert causal_lens(4, 4).warnings == ()
    assert (causal_lens(4, 4).visible == cache_lens(4, 4).visible).all()


def test_padding_mask_passed_as_it_is_is_flagged_and_its_opposite_is_not() -> None:
    right, wrong = padding_lenses(4, 1)
    assert right.warnings == ()
    assert "keeps exactly the tail" in wrong.warnings[0]
    assert wrong.seen_counts.tolist() == [1]


def test_mostly_false_mask_is_flagged_unless_it_is_causal() -> None:
    scattered = np.zeros((4, 8), np.bool_)
    scattered[:, 3] = True
    assert "mostly False: 12.5 % of its pairs attend" in mask_warnings(scattered)[0]
    assert mask_warnings(upper_left(4, 8)) == ()


def test_queries_that_see_nothing_are_counted_and_never_called_zero() -> None:
    visible = np.ones((4, 8), np.bool_)
    visible[:2] = False
    lens = boolean_lens(visible)
    assert lens.empty_query_count == 2
    assert mean_attended_index(visible)[:2] == [None, None]
    assert any("2 of 4 queries see no key" in warning for warning in lens.warnings)


def test_left_padding_under_a_causal_mask_leaves_empty_rows_and_no_other_warning() -> None:
    lens = left_padded_lens(6, 2)
    assert lens.empty_query_count == 2
    assert lens.seen_counts.tolist() == [0, 0, 1, 2, 3, 4]
    assert len(lens.warnings) == 1
    assert left_padded_lens(6, 0).warnings == ()


def test_additive_left_padding_makes_empty_rows_attend_to_everything() -> None:
    lens = left_padded_lens(6, 2, is_additive=True)
    assert lens.seen_counts.tolist() == [6, 6, 1, 2, 3, 4]
    assert "2 queries attend evenly to every key" in lens.warnings[0]
    assert left_padded_lens(6, 0, is_additive=True).warnings == ()


def test_lens_says_where_the_last_query_looks() -> None:
    assert causal_lens(1, 8).sentence.endswith("it looks at key 0 on average.")
    assert cache_lens(1, 8).sentence.endswith("it looks at key 3.5 on average.")


def test_mask_and_is_causal_together_are_warned_about() -> None:
    assert any("together raise an error" in text for text in boolean_lens(upper_left(4, 4), is_causal=True).warnings)


def test_additive_row_of_minus_infinity_attends_to_nothing() -> None:
    mask = np.array([[-np.inf, -np.inf], [0.0, -np.inf], [-3e38, 0.0]], np.float32)
    assert attended_by_additive(mask).tolist() == [[False, False], [True, False], [False, True]]


def test_square_trick_counts_its_redundant_work() -> None:
    lens = square_lens(4, 10)
    assert lens.visible.shape == (10, 10)
    assert (lens.visible[lens.kept_queries] == lower_right(4, 10)).all()
    assert lens.wasted_pair_count == 21
    assert "6 rows of work are thrown away, 21 of 55 pairs (38.2 %)" in lens.sentence


@given(st.integers(1, 30), st.integers(1, 30))
def test_kept_rows_of_the_square_are_what_the_cache_needs(one: int, other: int) -> None:
    queries, keys = min(one, other), max(one, other)
    lens = square_lens(queries, keys)
    assert (lens.visible[lens.kept_queries] == cache_lens(queries, keys).visible).all()


@pytest.mark.parametrize(("queries", "keys"), [(1, 8), (2, 5), (5, 2)])
def test_unequal_lengths_are_always_warned_about(queries: int, keys: int) -> None:
    assert len(causal_lens(queries, keys).warnings) == 1
