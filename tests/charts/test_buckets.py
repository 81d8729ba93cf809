"""Do the figures of the Buckets page draw the report's numbers, where labels can be read?"""

from __future__ import annotations

import re
from itertools import combinations

import plotly.graph_objects as go
import pytest

from explorer.analysis.advice import advice_report, advise
from explorer.analysis.buckets import BucketList, buckets_report
from explorer.analysis.sweep import SweepCosts, sweep_costs
from explorer.analysis.traffic import preset, traffic_of_batches
from explorer.capture_sizes import powers_of_two, sglang_sizes, vllm_sizes
from explorer.charts.buckets import DrawnList, advisor_curve, padding_by_batch
from explorer.charts.graph_launches import LaunchRow, launches_and_kernels
from explorer.charts.theme import CHARACTER_PX, DARK, LIGHT
from explorer.sweep_settings import SizeMeasurement, SweepResults

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


def label_boxes(figure: go.Figure, width: float) -> list[tuple[float, float, float, float]]:
    """(left, right, top, bottom) in pixels of every label at a point, by the characters that it has."""
    layout = figure.layout
    height = layout.height - layout.margin.t - layout.margin.b
    boxes = []
    for note in layout.annotations:
        if note.ay is None:
            continue
        middle = note.x / layout.xaxis.range[1] * width + note.ax
        line = (1 - note.y / layout.yaxis.range[1]) * height + note.ay
        half = len(re.sub("<.*?>", "", note.text)) * CHARACTER_PX / 2
        boxes.append((middle - half, middle + half, line - 8, line + 8))
    return boxes


SIZES = [SizeMeasurement(size=size, eager_latencies_ns=[time]) for size, time in ((1, 15), (4, 24), (8, 40), (16, 41))]
SMALL_SWEEP = sweep_costs(SweepResults(graph_mode="NONE", sizes=SIZES), "NONE")


@pytest.mark.parametrize("costs", [None, SMALL_SWEEP])
@pytest.mark.parametrize("chosen", [1, 2, 4, 16])
@pytest.mark.parametrize("width", [265, 420, 900])
@pytest.mark.parametrize("traffic", ["steady", "bursty", "ramp"])
def test_labels_do_not_overlap(costs: SweepCosts | None, chosen: int, width: float, traffic: str) -> None:
    more = [BucketList("powers of two", powers_of_two(256)), BucketList("own list", (8, 16, 64, 256))]
    advised = advise(preset(traffic, 256), costs, 256)
    figure = advisor_curve(
        advice_report(advised, [*LISTS, *more], costs), advised.unit, min(chosen, advised.advice.most), {}, LIGHT
    )
    boxes = label_boxes(figure, width)
    assert len(boxes) == 6
    for one, other in combinations(boxes, 2):
        assert one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
    assert all(left >= -1 and right <= width + 1 and top >= 0 for left, right, top, _ in boxes)


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
