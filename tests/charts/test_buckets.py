"""Do the figures of the Buckets page draw the report's numbers, where labels can be read?"""

from __future__ import annotations

import pytest

from explorer.analysis.advice import advice_report, advise
from explorer.analysis.buckets import BucketList, buckets_report
from explorer.analysis.traffic import preset, traffic_of_batches
from explorer.capture_sizes import powers_of_two, sglang_sizes, vllm_sizes
from explorer.charts.buckets import DrawnList, advisor_curve, padding_by_batch
from explorer.charts.graph_launches import LaunchRow, launches_and_kernels
from explorer.charts.theme import DARK, LIGHT

LISTS = [BucketList("vLLM", vllm_sizes(256)), BucketList("SGLang", sglang_sizes(256))]


def test_sawteeth_are_padded_rows_over_the_traffic() -> None:
    report = buckets_report([BucketList("mine", (2, 4))], traffic_of_batches("some", [1, 3, 3]), None)
    drawn = DrawnList("mine", "#0072B2", report.children["mine"].table("staircase"))
    figure = padding_by_batch([drawn], {1: 1, 3: 2, 9: 1}, 4, "padded_rows", LIGHT)
    line, bars = figure.data
    assert (list(line.x), list(line.y)) == ([1, 2, 3, 4], [1, 0, 1, 0])
    assert (list(bars.x), list(bars.y)) == ([1, 3], [1, 2])
    assert "3 rows → 4: 1 padded, 25 %" in line.customdata[2]


def test_shares_are_drawn_in_percent() -> None:
    report = buckets_report([BucketList("mine", (2, 4))], traffic_of_batches("some", [1]), None)
    drawn = DrawnList("mine", "#0072B2", report.children["mine"].table("staircase"))
    figure = padding_by_batch([drawn], {1: 1}, 4, "waste_ratio", DARK)
    assert list(figure.data[0].y) == [0.5, 0, 0.25, 0]
    assert figure.layout.yaxis.tickformat == ".0%"


def test_curve_has_its_ring_its_elbow_and_a_point_a_list() -> None:
    advised = advise(preset("steady", 256), None, 256)
    report = advice_report(advised, LISTS, None)
    figure = advisor_curve(report, advised.unit, 20, {"vLLM": "#0072B2"}, LIGHT)
    drawn = {trace.name: trace for trace in figure.data}
    assert list(drawn["chosen"].x) == [20]
    assert list(drawn["elbow"].x) == [advised.elbow]
    assert list(drawn["vLLM"].x) == [35]
    assert list(drawn["SGLang"].x) == [36]
    assert drawn["vLLM"].marker.color == "#0072B2"
    assert len(drawn["best"].x) == 64


def test_labels_of_close_points_stand_on_lines_of_their_own() -> None:
    advised = advise(preset("steady", 256), None, 256)
    lists = [*LISTS, BucketList("powers of two", powers_of_two(256))]
    figure = advisor_curve(advice_report(advised, lists, None), advised.unit, 20, {}, LIGHT)
    heights = {note.text.split(" ·")[0]: note.ay for note in figure.layout.annotations}
    assert heights["vLLM"] != heights["SGLang"]
    assert heights["powers of two"] == heights["vLLM"]


@pytest.mark.parametrize("largest", [1, 8, 256, 4000])
def test_batch_axis_has_few_ticks(largest: int) -> None:
    figure = padding_by_batch([], {}, largest, "padded_rows", LIGHT)
    assert 1 <= len(figure.layout.xaxis.tickvals) <= 11


def test_launches_are_drawn_to_the_left_of_the_kernels_that_they_submit() -> None:
    rows = [LaunchRow("NONE", 1729, 1728, 23.8e6), LaunchRow("FULL", 2, 1729, None)]
    figure = launches_and_kernels(rows, LIGHT)
    drawn = {trace.name: trace for trace in figure.data if trace.name}
    assert list(drawn["kernels"].x) == [1728, 1729]
    assert list(drawn["host launches"].x) == [1729, 2]
    assert [words.strip() for words in drawn["host launches"].text] == ["1,729 host launches", "2 host launches"]
    assert list(drawn["kernels"].customdata) == ["23.8 ms", "–"]
