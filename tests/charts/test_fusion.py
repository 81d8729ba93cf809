"""Do ribbons, tiles and the roof show what they were given?"""

from __future__ import annotations

from explorer.charts.fusion import Node, Ribbon, RoofPoint, TrafficRow, bandwidth_roof, ribbons, traffic_tiles
from explorer.charts.theme import DARK, LIGHT

NODES = [Node("a < b", 0), Node("mul", 1, "elementwise"), Node("triton_poi_fused_mul_0", 2, "elementwise")]
LINKS = [Ribbon(0, 1, 3.0), Ribbon(1, 2, 1.0)]


def test_ribbons_keep_their_widths_and_ends() -> None:
    (drawn,) = ribbons(NODES, LINKS, ("line", "operator", "kernel"), LIGHT).data
    assert list(drawn.link.value) == [3.0, 1.0]
    assert list(zip(drawn.link.source, drawn.link.target, strict=True)) == [(0, 1), (1, 2)]
    assert drawn.node.color[1] == LIGHT.colour("elementwise")


def test_names_with_angle_brackets_stay_text() -> None:
    (drawn,) = ribbons(NODES, LINKS, ("line", "operator", "kernel"), DARK).data
    assert drawn.node.customdata[0] == "a &lt; b"


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
    assert len(bandwidth_roof(points, 4e12, LIGHT).layout.shapes) == 1
    assert len(bandwidth_roof(points, None, LIGHT).layout.shapes) == 0
