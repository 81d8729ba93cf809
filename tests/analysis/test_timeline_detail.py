"""Are the counts, busy times and rectangles that the timeline draws those of the events, at any zoom?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.analysis.timeline_detail import EVERYTHING, EXACT_PX, Detail, Window, detail, details
from explorer.analysis.timeline_rows import Names, Row, RowName, build_row

PALETTE = ("matmul", "attention", "elementwise")


def row_of(events: list[tuple[int, int, int]]) -> Row:
    """A row of (start, end, colour), in any order."""
    ordered = np.array(sorted(events), np.int64).reshape(-1, 3)
    return build_row(
        RowName("work/0/7", "stream", "stream 7", "GPU 0"),
        "work",
        start_ns=ordered[:, 0].copy(),
        end_ns=ordered[:, 1].copy(),
        colour=ordered[:, 2].astype(np.uint8),
        palette=PALETTE,
        table_row=None,
        names=Names(np.zeros(len(ordered), np.int32), ("k",)),
    )


def covered_ns(events: list[tuple[int, int]]) -> list[int]:
    """What each event adds to the union of the earlier ones, one nanosecond at a time."""
    seen: set[int] = set()
    added = []
    for start, end in events:
        new = set(range(start, end)) - seen
        added.append(len(new))
        seen |= new
    return added


event = st.tuples(st.integers(0, 300), st.integers(0, 40), st.integers(0, 2)).map(lambda e: (e[0], e[0] + e[1], e[2]))
windows = st.tuples(st.integers(-20, 300), st.integers(1, 300), st.integers(1, 40)).map(
    lambda w: Window(w[0], w[0] + w[1], w[2])
)


@settings(max_examples=300, deadline=None)
@given(st.lists(event, max_size=150), windows)
def test_blocks_count_and_time_what_brute_force_counts(events: list[tuple[int, int, int]], window: Window) -> None:
    row = row_of(events)
    drawn = detail(row, window)
    spans = list(zip(row.start_ns.tolist(), row.end_ns.tolist(), strict=True))
    own = covered_ns(spans)
    for index in range(len(drawn.block_first)):
        inside = range(int(drawn.block_first[index]), int(drawn.block_last[index]))
        assert drawn.block_busy_ns[index] == sum(own[i] for i in inside)
        assert drawn.block_start_ns[index] == min(spans[i][0] for i in inside)
        assert drawn.block_end_ns[index] == max(spans[i][1] for i in inside)
        by_colour = [sum(own[i] for i in inside if row.colour[i] == code) for code in range(len(row.palette))]
        assert by_colour[drawn.block_colour[index]] == max(by_colour)


@settings(max_examples=300, deadline=None)
@given(st.lists(event, max_size=150), windows)
def test_every_event_in_view_is_in_exactly_one_rectangle_or_block(
    events: list[tuple[int, int, int]], window: Window
) -> None:
    row = row_of(events)
    drawn = detail(row, window)
    shown = [*drawn.event.tolist(), *_in_blocks(drawn)]
    assert len(shown) == len(set(shown))
    for i in range(row.count):
        if row.end_ns[i] > window.start_ns and row.start_ns[i] < window.end_ns:
            assert i in shown


@settings(max_examples=300, deadline=None)
@given(st.lists(event, max_size=150), windows)
def test_exactly_the_wide_events_are_rectangles(events: list[tuple[int, int, int]], window: Window) -> None:
    row = row_of(events)
    drawn = detail(row, window)
    first, last = row.window(window.start_ns, window.end_ns)
    wide = [i for i in range(first, last) if row.end_ns[i] - row.start_ns[i] >= EXACT_PX * window.ns_per_px]
    assert drawn.event.tolist() == wide


def test_long_sums_agree_with_short_ones() -> None:
    # 50,000 events seen through few pixels take the path over kept sums, one pixel at a time the other.
    random = np.random.default_rng(1)
    start = np.cumsum(random.integers(1, 30, 50_000))
    end = start + random.integers(0, 60, 50_000)
    row = row_of(list(zip(start.tolist(), end.tolist(), random.integers(0, 3, 50_000).tolist(), strict=True)))
    drawn = detail(row, Window(0, int(end.max()) + 1, 20))
    reach = np.concatenate([[0], np.maximum.accumulate(row.end_ns)[:-1]])
    own = np.maximum(row.end_ns - np.maximum(row.start_ns, reach), 0)
    expected = [own[i:j].sum() for i, j in zip(drawn.block_first, drawn.block_last, strict=True)]
    assert drawn.block_busy_ns.tolist() == expected
    assert (drawn.block_last - drawn.block_first).sum() + len(drawn.event) == 50_000


@pytest.mark.parametrize(("count", "rectangles"), [(EVERYTHING, EVERYTHING), (EVERYTHING + 1, 0)])
def test_few_events_in_view_are_all_exact(count: int, rectangles: int) -> None:
    row = row_of([(10 * i, 10 * i + 5, 0) for i in range(count)])
    (drawn,) = details([row], Window(0, 10 * count, 100))
    assert len(drawn.event) == rectangles


def _in_blocks(drawn: Detail) -> list[int]:
    pairs = zip(drawn.block_first, drawn.block_last, strict=True)
    return [i for first, last in pairs for i in range(int(first), int(last))]
