"""Do the stacked bars show the right lengths, only labels that fit, and the floor where it belongs?"""

from __future__ import annotations

import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.charts.bars import ASSUMED_WIDTH_PX
from explorer.charts.gap_parts import IdleParts, gap_parts
from explorer.charts.step_bar import StepParts, is_worth_magnifying, step_bar
from explorer.charts.theme import CHARACTER_PX, DARK, IDLE_PARTS, LIGHT
from explorer.trace import FAMILIES

EAGER = StepParts("A", {"matmul": 1_400_000, "elementwise": 2_300_000}, {"dispatch": 20_000_000}, floor_ns=300_000)
GRAPH = StepParts("B", {"matmul": 1_350_000, "attention": 210_000}, {"inside_graph": 240_000}, floor_ns=300_000)


def bars_at(figure: go.Figure, row: int) -> dict[str, float]:
    """Share of the full width by part, in the row counted from the top."""
    rows = sorted({y for trace in figure.data for y in trace.y}, reverse=True)
    return {trace.name: x for trace in figure.data for x, y in zip(trace.x, trace.y, strict=True) if y == rows[row]}


def test_longest_side_fills_the_width_and_the_other_keeps_its_scale() -> None:
    figure = step_bar([EAGER, GRAPH], LIGHT, magnify=False)
    assert sum(bars_at(figure, 0).values()) == pytest.approx(1)
    assert sum(bars_at(figure, 1).values()) == pytest.approx(GRAPH.total_ns / EAGER.total_ns)


def test_magnified_row_fills_the_width_with_the_shorter_side() -> None:
    figure = step_bar([EAGER, GRAPH], LIGHT, magnify=True)
    magnified = bars_at(figure, 2)
    assert sum(magnified.values()) == pytest.approx(1)
    assert magnified["attention"] == pytest.approx(210_000 / GRAPH.total_ns)
    assert any("magnified ×13.2" in annotation.text for annotation in figure.layout.annotations)


def test_sides_of_like_length_are_not_magnified() -> None:
    assert is_worth_magnifying(GRAPH, [EAGER, GRAPH])
    assert not is_worth_magnifying(EAGER, [EAGER, GRAPH])
    assert not is_worth_magnifying(GRAPH, [GRAPH, GRAPH])


def test_floor_is_marked_at_its_place_on_each_scale() -> None:
    figure = step_bar([EAGER, GRAPH], LIGHT, magnify=True)
    places = {round(shape.x0, 6) for shape in figure.layout.shapes}
    assert places == {round(300_000 / EAGER.total_ns, 6), round(300_000 / GRAPH.total_ns, 6)}


def test_families_and_parts_have_one_colour_in_every_row() -> None:
    figure = step_bar([EAGER, GRAPH], DARK, magnify=True)
    colours = {trace.name: trace.marker.color for trace in figure.data}
    assert colours["matmul"] == "#0072B2"
    assert len([trace for trace in figure.data if trace.name == "matmul"]) == 1


@settings(max_examples=25, deadline=None)
@given(
    busy=st.dictionaries(st.sampled_from(FAMILIES), st.integers(1, 10**9), min_size=1),
    idle=st.dictionaries(st.sampled_from(IDLE_PARTS), st.integers(1, 10**9)),
)
def test_labels_never_exceed_their_bar(busy: dict[str, int], idle: dict[str, int]) -> None:
    figure = step_bar([StepParts("A", busy, idle)], LIGHT, magnify=True)
    for trace in figure.data:
        for share, label in zip(trace.x, trace.text, strict=True):
            assert len(label) * CHARACTER_PX <= share * ASSUMED_WIDTH_PX


def test_idle_parts_stand_on_one_scale_first_and_as_shares_below() -> None:
    figure = gap_parts([IdleParts("A", {"dispatch": 900, "launch_call": 100}), IdleParts("B", {"dispatch": 10})], LIGHT)
    assert bars_at(figure, 1) == {"dispatch": pytest.approx(0.01)}
    assert bars_at(figure, 3) == {"dispatch": pytest.approx(1)}


def test_a_side_without_idle_time_draws_no_bar_and_divides_by_nothing() -> None:
    figure = gap_parts([IdleParts("A", {"dispatch": 900}), IdleParts("B", {})], LIGHT)
    assert sum(bars_at(figure, 0).values()) == pytest.approx(1)
    assert not any(
        "B" in (annotation.text or "") and "shares" in annotation.text for annotation in figure.layout.annotations
    )
