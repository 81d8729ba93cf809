"""Do unions, covers and nesting agree with walking through time?"""

from __future__ import annotations

import timeit

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from explorer.spans import NO_ROW, by_start, distinct_rows, innermost, innermost_at, nest, union

_SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), max_size=12)
_CROSSING_SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=40)
Longs = npt.NDArray[np.int64]


def arrays(spans: list[tuple[int, int]]) -> tuple[Longs, Longs]:
    """Starts and ends, sorted by start and then by end descending."""
    ordered = sorted(((start, start + length) for start, length in spans), key=lambda span: (span[0], -span[1]))
    return np.array([start for start, _ in ordered], np.int64), np.array([end for _, end in ordered], np.int64)


@given(_SPANS)
def test_cover_counts_every_covered_moment_once(spans: list[tuple[int, int]]) -> None:
    start, end = arrays(spans)
    moments = [any(one <= now < other for one, other in zip(start, end, strict=True)) for now in range(50)]

    cover = union(start, end)

    assert cover.total == sum(moments)
    assert cover.before(np.arange(50)).tolist() == [sum(moments[:now]) for now in range(50)]
    assert cover.within(np.array([5]), np.array([25])).tolist() == [sum(moments[5:25])]
    assert cover.within(np.array([25]), np.array([5])).tolist() == [0]
    assert (cover.start[1:] > cover.end[:-1]).all()


@given(_SPANS)
def test_cover_holds_the_moments_that_some_span_holds(spans: list[tuple[int, int]]) -> None:
    start, end = arrays(spans)
    times = np.arange(-1, 45)

    held = union(start, end).holds(times)

    assert held.tolist() == [bool(((start <= time) & (time < end)).any()) for time in times]


@given(_SPANS)
def test_parent_is_the_latest_span_that_is_still_open(spans: list[tuple[int, int]]) -> None:
    start, end = arrays(spans)

    nesting = nest(start, end)

    for row in range(len(start)):
        around = [other for other in range(row) if end[other] > start[row]]
        assert nesting.parent[row] == max(around, default=NO_ROW)
        assert nesting.depth[row] == len(around)


@given(_CROSSING_SPANS)
def test_spans_that_cross_are_counted_and_nest_like_others(spans: list[tuple[int, int]]) -> None:
    start, end = arrays(spans)

    nesting = nest(start, end)

    around = [[other for other in range(row) if end[other] > start[row]] for row in range(len(start))]
    assert nesting.depth.tolist() == [len(rows) for rows in around]
    assert nesting.parent.tolist() == [max(rows, default=NO_ROW) for rows in around]
    assert nesting.crossing_count == sum(end[row] > end[rows[-1]] for row, rows in enumerate(around) if rows)


def test_nesting_below_many_open_spans_is_as_fast_as_below_none_where_spans_cross() -> None:
    deep, flat = (crossing_then_leaves(depth, 10_000) for depth in (800, 1))

    assert fastest_s(deep) < 8 * fastest_s(flat)


def crossing_then_leaves(depth: int, leaf_count: int) -> tuple[Longs, Longs]:
    """Spans around everything, two that cross inside them, and leaves one after the other."""
    until = depth + 10 + 2 * leaf_count
    outer = [(level, until + depth - level) for level in range(depth)]
    leaves = [(depth + 10 + 2 * leaf, 1) for leaf in range(leaf_count)]
    return arrays([*outer, (depth, 3), (depth + 1, 4), *leaves])


def fastest_s(spans: tuple[Longs, Longs]) -> float:
    """Seconds that nesting takes, the shortest of three times."""
    return min(timeit.repeat(lambda: nest(*spans), number=1, repeat=3))


@given(_SPANS)
def test_innermost_is_the_open_span_that_started_last(spans: list[tuple[int, int]]) -> None:
    start, end = arrays(spans)

    found = innermost(start, end).at(np.arange(-1, 50))

    for now, row in zip(range(-1, 50), found.tolist(), strict=True):
        open_rows = [other for other in range(len(start)) if start[other] <= now < end[other]]
        assert row == max(open_rows, default=NO_ROW)


@given(st.lists(st.integers(-1, 9)))
def test_distinct_rows_are_those_named(rows: list[int]) -> None:
    assert distinct_rows(np.array(rows, np.int64)).tolist() == sorted(set(rows) - {NO_ROW})


@given(_SPANS)
def test_order_by_start_breaks_ties_by_the_other_key_and_keeps_the_rest(spans: list[tuple[int, int]]) -> None:
    start = np.array([one for one, _ in spans], np.int64)
    then = np.array([length for _, length in spans], np.int64)

    assert by_start(start, then).tolist() == np.lexsort((then, start)).tolist()


@given(_SPANS, st.lists(st.integers(-2, 45), max_size=20))
def test_climbing_to_the_innermost_span_finds_the_one_that_the_step_function_tells(
    spans: list[tuple[int, int]], asked: list[int]
) -> None:
    start, end = arrays(spans)
    times = np.array(asked, np.int64)

    found = innermost_at(times, np.arange(len(start)), start, end, nest(start, end).parent)

    assert found.tolist() == innermost(start, end).at(times).tolist()
