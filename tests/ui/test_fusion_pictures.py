"""Do the pictures of the Fusion page stay readable, whatever they are given?"""

from __future__ import annotations

from explorer.analysis.fusion_folding import FoldedGroup
from explorer.analysis.fusion_groups import Group
from explorer.analysis.fusion_kernels import Kernel
from explorer.analysis.fusion_map import model_map
from explorer.spans import NO_ROW
from explorer.ui.fusion_pictures import largest_changes, layer_groups, map_ribbons


def _kernel(name: str, time_ns: int, layer: int | None = None) -> Kernel:
    return Kernel(
        name=name,
        family="elementwise",
        operators=("mul",),
        operator_row=NO_ROW,
        call_row=NO_ROW,
        dims="",
        words=None,
        layer=layer,
        time_ns=time_ns,
        gap_ns=0,
        overlap_ns=0,
    )


def _group(saved_ns: int, count: int = 1, *, in_layers: bool = False) -> FoldedGroup:
    """A group that comes so often, once in each layer or anywhere."""
    return FoldedGroup(
        tuple(
            Group("mul", "by_name", (_kernel("k<1>", saved_ns + 1, place if in_layers else None),), (_kernel("f", 1),))
            for place in range(count)
        )
    )


def test_of_many_groups_those_that_changed_most_are_drawn_in_their_order() -> None:
    groups = [_group(saved_ns) for saved_ns in (5, *range(1000, 1023), 1, 2000)]
    shown = largest_changes(groups)
    assert len(shown) == 24
    assert [sum(one.changes_ns) for one in shown] == [*(-saved for saved in range(1000, 1023)), -2000]


def test_groups_that_most_layers_have_are_the_layer() -> None:
    groups = [_group(5), _group(6, 28, in_layers=True), _group(7, 27, in_layers=True), _group(8, 1, in_layers=True)]
    assert layer_groups(groups) == groups[1:3]


def test_where_nothing_marks_layers_every_group_is_drawn() -> None:
    groups = [_group(5), _group(6, 168), _group(7, 84), _group(8, 3)]
    assert layer_groups(groups) == groups


def test_hover_tells_times_with_their_spread_and_how_sure_the_match_is() -> None:
    nodes, links, titles = map_ribbons(model_map([_group(999, 3, in_layers=True)]))
    assert titles == ["aten operator", "eager kernel", "compiled kernel"]
    eager = next(node for node in nodes if node.column == 1)
    assert eager.hover == "k<1><br>1.00 µs, 1.00 µs to 1.00 µs over 3 layers<br>mul: by name"
    assert {link.sureness for link in links} == {"by_name"}
