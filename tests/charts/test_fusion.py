"""Do tiles and the roof show what they were given?"""

from __future__ import annotations

from explorer.charts.fusion import RoofPoint, TrafficRow, bandwidth_roof, traffic_tiles
from explorer.charts.theme import LIGHT


def test_traffic_has_a_tile_for_every_touch_and_temporaries_between_inputs_and_result() -> None:
    rows = [
        TrafficRow("mul", ("x0", "x1"), ("t1",), "eager"),
        TrafficRow("add", ("t1", "x0"), ("out",), "eager"),
        TrafficRow("fused", ("x0", "x1"), ("out",), "compiled"),
    ]
    figure = traffic_tiles(rows, LIGHT)
    reads, writes = figure.data
    assert (len(reads.x), len(writes.x)) == (6, 3)
    assert list(figure.layout.xaxis.ticktext) == ["x0", "x1", "t1", "out"]


def test_roof_draws_the_measured_limit_only_where_it_is_known() -> None:
    points = [RoofPoint("SwiGLU", "before", 30720, 1e10, "elementwise")]
    limited = bandwidth_roof(points, 4e12, LIGHT).layout
    assert [shape.y0 for shape in limited.shapes] == [4e12]
    assert [(note.text, round(note.y, 3)) for note in limited.annotations] == [("measured: 4.00 TB/s", 12.602)]
    unlimited = bandwidth_roof(points, None, LIGHT).layout
    assert (len(unlimited.shapes), len(unlimited.annotations)) == (0, 0)


def test_roof_joins_the_sides_of_one_group_only() -> None:
    points = [
        RoofPoint("SwiGLU", "before", 30720, 1e10, "elementwise"),
        RoofPoint("SwiGLU", "after", 12288, 9e9, "elementwise"),
        RoofPoint("norm", "after", 6144, 4e9, "norm_reduction"),
    ]
    change, before, after = bandwidth_roof(points, None, LIGHT).data
    assert list(change.x) == [30720, 12288, None]
    assert (list(before.x), list(after.x)) == ([30720], [12288, 6144])


def test_roofs_axes_say_powers_with_a_space_before_the_unit() -> None:
    points = [
        RoofPoint("SwiGLU", "before", 30720, 1e10, "elementwise"),
        RoofPoint("product", "before", 2e6, 3e11, "matmul"),
    ]
    layout = bandwidth_roof(points, 4e12, LIGHT).layout
    assert list(layout.xaxis.ticktext) == ["4 KiB", "64 KiB", "1 MiB", "16 MiB"]
    assert list(layout.xaxis.tickvals) == [16.0**place for place in (3, 4, 5, 6)]
    assert list(layout.yaxis.ticktext) == ["10 GB/s", "100 GB/s", "1 TB/s", "10 TB/s"]
