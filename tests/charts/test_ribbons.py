"""Do boxes keep apart from each other, and ribbons inside the boxes that they join?"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.charts.ribbons import Node, Ribbon, ribbons
from explorer.charts.theme import DARK, LIGHT

TITLES = ("line", "operator", "kernel")
NODES = [Node("a < b", 0), Node("mul", 1, "elementwise"), Node("triton_poi_fused_mul_0", 2, "elementwise")]
LINKS = [Ribbon(0, 1, 3.0, "a<br>b < c"), Ribbon(1, 2, 1.0, sureness="by_name")]


def _traces(figure: Any, name: str) -> list[Any]:
    return [trace for trace in figure.data if trace.name == name]


def test_a_figure_has_a_box_for_every_node_and_a_ribbon_for_every_link() -> None:
    figure = ribbons(NODES, LINKS, TITLES, LIGHT)
    assert [len(_traces(figure, name)) for name in ("box", "ribbon", "names")] == [3, 2, 1]
    assert [note.text for note in figure.layout.annotations] == list(TITLES)


def test_words_stay_text_and_line_breaks_stay_breaks() -> None:
    figure = ribbons(NODES, LINKS, TITLES, DARK)
    assert _traces(figure, "box")[0].text == "a &lt; b"
    assert _traces(figure, "ribbon")[0].text == "a<br>b &lt; c"


def test_a_match_by_name_is_paler_and_dotted_and_unmatched_boxes_are_dashed() -> None:
    figure = ribbons([*NODES, Node("sort", 1, sureness="unmatched")], LINKS, TITLES, LIGHT)
    certain, named = _traces(figure, "ribbon")
    assert (certain.line.width, named.line.width) == (0, 1)
    assert float(certain.fillcolor.split(",")[-1][:-1]) > float(named.fillcolor.split(",")[-1][:-1])
    assert [box.line.dash for box in _traces(figure, "box")] == [None, None, None, "dash"]


def test_names_are_cut_to_their_boxes() -> None:
    figure = ribbons([Node("x" * 200, 0), *NODES], [], TITLES, LIGHT)
    longest = max(len(word) for word in _traces(figure, "names")[0].text)
    assert longest < 45


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=14),
    st.lists(st.tuples(st.integers(0, 13), st.integers(0, 13), st.floats(0.1, 1e6)), max_size=20),
)
def test_boxes_of_a_column_never_overlap_and_ribbons_end_on_their_boxes(
    columns: list[int], ends: list[tuple[int, int, float]]
) -> None:
    nodes = [Node(str(place), column) for place, column in enumerate(columns)]
    links = [
        Ribbon(source, target, weight)
        for source, target, weight in ends
        if source < len(nodes) and target < len(nodes) and columns[source] < columns[target]
    ]
    figure = ribbons(nodes, links, TITLES, LIGHT)
    boxes = _traces(figure, "box")
    spans = [(min(box.y), max(box.y)) for box in boxes]
    for column in range(3):
        inside = sorted(span for span, node in zip(spans, nodes, strict=True) if node.column == column)
        assert all(first[1] <= second[0] + 1e-6 for first, second in pairwise(inside))
        assert all(top >= -1e-6 and bottom <= figure.layout.yaxis.range[0] + 1e-6 for top, bottom in inside)
    for link, ribbon in zip(links, _traces(figure, "ribbon"), strict=True):
        half = len(ribbon.y) // 2
        for place, (upper, lower) in (
            (link.source, (ribbon.y[0], ribbon.y[-1])),
            (link.target, (ribbon.y[half - 1], ribbon.y[half])),
        ):
            assert upper == pytest.approx(max(upper, spans[place][0]), abs=0.02)
            assert lower == pytest.approx(min(lower, spans[place][1]), abs=0.02)
