"""Does the strip keep every call, with times that can be read on its axis?"""

from __future__ import annotations

import pytest

from explorer.charts.compilation import DrawnCall, DrawnStart, call_strip, start_bars
from explorer.charts.theme import theme_named


def strip(*times_ns: int) -> tuple[list[float], list[str], list[str]]:
    calls = [DrawnCall(at, str(at), "compiled", time_ns) for at, time_ns in enumerate(times_ns)]
    figure = call_strip(calls, theme_named("light"), "in order")
    drawn = [y for trace in figure.data for y in trace.y]
    return drawn, list(figure.layout.yaxis.ticktext), list(figure.layout.xaxis.ticktext)


def test_times_within_a_decade_have_marks_around_them() -> None:
    drawn, marks, _ = strip(41_000_000_000, 64_000_000_000)
    assert drawn == [41_000.0, 64_000.0]
    assert {"20.0 s", "50.0 s", "100 s"} <= set(marks)


@pytest.mark.parametrize("times_ns", [(31_700_000_000, 49_000_000_000), (1_000_000, 1_000_000), (0,), (7, 3_000_000)])
def test_axis_shows_every_time_between_two_marks(times_ns: tuple[int, ...]) -> None:
    calls = [DrawnCall(at, str(at), "compiled", time_ns) for at, time_ns in enumerate(times_ns)]
    axis = call_strip(calls, theme_named("light"), "in order").layout.yaxis
    low, high = (10**end for end in axis.range)
    assert len(axis.tickvals) >= 2
    assert low < axis.tickvals[0] <= max(min(times_ns), 1) / 1e6
    assert max(max(times_ns), 1) / 1e6 <= axis.tickvals[-1] < high


def test_times_over_many_decades_have_a_mark_each() -> None:
    _, marks, _ = strip(2_000, 64_000_000_000)
    assert marks == ["1.00 µs", "10.0 µs", "100 µs", "1.00 ms", "10.0 ms", "100 ms", "1.00 s", "10.0 s", "100 s"]


def test_many_calls_are_all_drawn_and_few_are_labelled() -> None:
    drawn, _, labels = strip(*[0, *[1_000] * 499])
    assert len(drawn) == 500
    assert len(labels) <= 32


def test_parts_stand_in_the_order_in_which_they_happen_whatever_comes_first() -> None:
    eager = DrawnStart("A", {"build and load": 10, "first call, rest": 5, "warm-up": 1})
    compiled = DrawnStart("B", {"build and load": 10, "import": 4, "Dynamo": 9, "kernels": 0, "first call, rest": 5})
    figure = start_bars([eager, compiled], theme_named("light"))
    assert [bar.name for bar in figure.data] == ["build and load", "import", "Dynamo", "first call, rest", "warm-up"]
