"""Is what a timeline row draws bounded, and does joining keep what it stands for?"""

from __future__ import annotations

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.charts.lanes import RECTANGLE_LIMIT, Stretch, gap_row, joined
from explorer.charts.theme import IDLE_PARTS


def frame_of(lengths: list[int], pauses: list[int]) -> pd.DataFrame:
    """Pieces one after another, each behind its pause."""
    start, rows = 0, []
    for length, pause in zip(lengths, pauses, strict=True):
        start += pause
        rows.append((start, start + length, "matmul" if length % 2 else "elementwise", "k", "h"))
        start += length
    return pd.DataFrame(rows, columns=["start_ns", "end_ns", "key", "label", "hover"])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 10_000), st.integers(0, 10_000)), min_size=1, max_size=60))
def test_joining_keeps_the_busy_time_and_the_outer_edges(pairs: list[tuple[int, int]]) -> None:
    frame = frame_of([length for length, _ in pairs], [pause for _, pause in pairs])
    drawn = joined(frame, Stretch(0, 1_000_000, 0), "pieces")
    busy = ((drawn["end_ns"] - drawn["start_ns"]) * drawn["share"]).sum()
    assert abs(busy - (frame["end_ns"] - frame["start_ns"]).sum()) < 1e-3
    assert drawn["start_ns"].min() == frame["start_ns"].min()
    assert drawn["end_ns"].max() == frame["end_ns"].max()


def test_a_row_never_holds_more_than_its_limit() -> None:
    frame = frame_of([900] * 20_000, [1100] * 20_000)
    assert len(joined(frame, Stretch(0, 40_000_000, 0), "pieces")) <= RECTANGLE_LIMIT


def test_a_piece_wide_enough_to_see_stays_itself() -> None:
    frame = frame_of([300, 200_000, 300, 300], [0, 100, 100, 100])
    drawn = joined(frame, Stretch(0, 1_000_000, 0), "pieces")
    assert drawn["hover"].tolist() == ["h", "h", "<b>2 pieces</b><br>600 ns of 700 ns"]


def test_a_block_is_coloured_by_what_it_mostly_is() -> None:
    frame = frame_of([301, 302, 303], [0, 10, 10])
    block = joined(frame, Stretch(0, 1_000_000, 0), "pieces").iloc[0]
    assert block["key"] == "matmul"
    assert "3 pieces</b>, mostly matrix products" in block["hover"]


def test_a_gap_has_the_colour_of_its_largest_part_and_says_all() -> None:
    parts = {f"{part}_ns": [0] for part in IDLE_PARTS} | {"dispatch_ns": [300_000], "launch_call_ns": [100_000]}
    gaps = pd.DataFrame({"start_ns": [0], "end_ns": [400_000], "length_ns": [400_000], **parts})
    drawn = gap_row(gaps, Stretch(0, 1_000_000, 0)).frame.iloc[0]
    assert drawn["key"] == "dispatch"
    assert drawn["label"] == "400 µs"
    assert drawn["hover"] == "<b>idle for 400 µs</b><br>dispatch 300 µs<br>launch call 100 µs"


def test_gaps_outside_the_stretch_are_not_drawn() -> None:
    parts = {f"{part}_ns": [1, 1] for part in IDLE_PARTS}
    gaps = pd.DataFrame({"start_ns": [0, 500], "end_ns": [9, 509], "length_ns": [9, 9], **parts})
    assert len(gap_row(gaps, Stretch(100, 300, 0)).frame) == 0
