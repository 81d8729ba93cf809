"""Which shapes do the figures of the Fusion page take? Groups as ribbons, tiles and points."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.analysis.fusion import MATCH_LABELS
from explorer.analysis.fusion_folding import FoldedGroup
from explorer.analysis.fusion_gallery import GalleryGroup
from explorer.analysis.fusion_map import COLUMNS, Box, FusionMap, Join, family_of
from explorer.analysis.fusion_names import operator_word
from explorer.charts.fusion import RoofPoint, TrafficRow
from explorer.charts.ribbons import Node, Ribbon
from explorer.gallery_results import ExpressionResult
from explorer.report import Report
from explorer.ui.pieces import legend
from explorer.units import text

_GROUP_LIMIT = 24
_LEAST_LAYERS = 3


def map_ribbons(drawn: FusionMap) -> tuple[list[Node], list[Ribbon], list[str]]:
    """Boxes, ribbons and the titles of the columns; a ribbon is as wide as its eager kernels are long."""
    columns = drawn.columns
    nodes = [Node(_label(box), columns.index(box.column), box.family, _hover(box), box.match) for box in drawn.boxes]
    links = [
        Ribbon(join.source, join.target, max(join.time_ns, 1.0), _join_hover(drawn, join), join.match)
        for join in drawn.joins
    ]
    return nodes, links, [COLUMNS[column] for column in columns]


def match_legend() -> str:
    """HTML that says how certain, named and unmatched ribbons look."""
    grey = "rgba(90,100,115,{opacity})"
    entries = [
        ("certain", f"background:{grey.format(opacity=0.6)}", "the compiler itself names the operators of the kernel"),
        (
            "by name",
            f"background:{grey.format(opacity=0.18)};border:1px dotted {grey.format(opacity=1)}",
            "by place between two matrix products and by the operators in the kernel's name",
        ),
        ("unmatched", f"border:1px dashed {grey.format(opacity=1)}", "nothing on the other side shares its operators"),
    ]
    return legend(entries, "match")


def _label(box: Box) -> str:
    return f"{box.label} ×{box.count}" if box.count > 1 else box.label


def _hover(box: Box) -> str:
    """Names, times with their spread over the layers, and how sure the match is."""
    lines = list(box.names) or [box.label]
    if box.times is not None:
        times = box.times
        spread = (
            f", {text(times.least_ns, 'ns')} to {text(times.most_ns, 'ns')} over {times.folded}" if times.folded else ""
        )
        lines.append(f"{text(times.mean_ns, 'ns')}{spread}")
    return "<br>".join([*lines, f"{box.group}: {MATCH_LABELS[box.match]}"])


def _join_hover(drawn: FusionMap, join: Join) -> str:
    ends = " → ".join(drawn.boxes[place].label for place in (join.source, join.target))
    time = f"<br>{text(join.time_ns, 'ns')} of eager kernels" if join.time_ns else ""
    return f"{ends}{time}"


def layer_groups(folded: Sequence[FoldedGroup]) -> list[FoldedGroup]:
    """The groups that most layers have; all of them where nothing marks layers."""
    most = max((len(one.members) for one in folded if one.first.layer is not None), default=0)
    if most < _LEAST_LAYERS:
        return list(folded)
    return [one for one in folded if one.first.layer is not None and 2 * len(one.members) > most]


def largest_changes(groups: Sequence[FoldedGroup]) -> list[FoldedGroup]:
    """The groups whose kernel time changed most, as many as a picture holds, in the order of the step."""
    ranked = sorted(range(len(groups)), key=lambda place: -abs(sum(groups[place].changes_ns)))
    return [groups[place] for place in sorted(ranked[:_GROUP_LIMIT])]


def roof_points(report: Report, folded: Sequence[FoldedGroup]) -> list[RoofPoint]:
    """Both sides of every group whose bytes are known."""
    points = []
    for row, one in zip(report.table("ledger").to_dict("records"), folded, strict=True):
        for side, letter, name in (("before", "a", "eager"), ("after", "b", "compiled")):
            moved, length = row[f"bytes_{letter}"], row[f"time_{letter}_ns"]
            if moved and moved == moved and length:
                label, family = str(row["group"]), family_of(one.kernels(name))
                per_call = moved / len(one.members)
                points.append(RoofPoint(label, side, per_call, moved / length * 1e9, family))  # type: ignore[arg-type]
    return points


def traffic_rows(result: ExpressionResult, groups: Sequence[GalleryGroup]) -> list[TrafficRow]:
    """Every computing operator, then every group of compiled kernels with what it reads and writes from outside."""
    rows = [
        TrafficRow(operator_word(one.name), tuple(one.reads), tuple(one.writes), "eager")
        for one in result.computing_operators
    ]
    for group in groups:
        if not group.kernels:
            continue
        inside = {letter for one in group.operators for letter in one.writes}
        others = [one for one in result.computing_operators if one not in group.operators]
        needed = {letter for one in others for letter in one.reads} | {"out"}
        reads = [letter for one in group.operators for letter in one.reads if letter not in inside]
        label = group.kernels[0].name if len(group.kernels) == 1 else f"{len(group.kernels)} kernels"
        rows.append(TrafficRow(label, tuple(dict.fromkeys(reads)), tuple(sorted(inside & needed)), "compiled"))
    return rows
