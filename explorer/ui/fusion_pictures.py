"""Which shapes do the figures of the Fusion page take? Groups as ribbons, tiles and points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from explorer.analysis.fusion import FoldedGroup
from explorer.analysis.fusion_gallery import GalleryGroup
from explorer.analysis.fusion_kernels import Kernel
from explorer.analysis.fusion_names import operator_word
from explorer.charts.fusion import Node, Ribbon, RoofPoint, TrafficRow
from explorer.gallery_results import ExpressionResult
from explorer.report import Report
from explorer.trace import FAMILIES
from explorer.units import exact, text

MODEL_COLUMNS = ("eager kernels by operator", "group", "compiled kernels")
GALLERY_COLUMNS = ("source line", "operator", "compiled kernel")


def model_ribbons(folded: Sequence[FoldedGroup]) -> tuple[list[Node], list[Ribbon]]:
    """One layer of the model: its middle member of every folded group; a ribbon is as wide as its kernels are long."""
    nodes: list[Node] = []
    links: list[Ribbon] = []
    for one in folded:
        member = one.members[len(one.members) // 2]
        centre = len(nodes)
        nodes.append(Node(member.title, 1, _family(member.eager or member.compiled), _spread_words(one)))
        for column, kernels in ((0, member.eager), (2, member.compiled)):
            by_word: dict[str, list[Kernel]] = {}
            for kernel in kernels:
                by_word.setdefault(kernel.word if column == 0 else kernel.words or kernel.name, []).append(kernel)
            for word, same in by_word.items():
                length = sum(kernel.time_ns for kernel in same)
                count = f" ×{len(same)}" if len(same) > 1 else ""
                hover = f"{len(same)} × {same[0].name}<br>{exact(length, 'ns')}"
                nodes.append(Node(f"{word}{count}", column, _family(same), hover))
                ends = (len(nodes) - 1, centre) if column == 0 else (centre, len(nodes) - 1)
                links.append(Ribbon(*ends, max(length, 1), hover))
    return nodes, links


def layer_groups(folded: Sequence[FoldedGroup]) -> list[FoldedGroup]:
    """The groups that most layers have; all of them where nothing repeats."""
    most = max((len(one.members) for one in folded), default=0)
    return [one for one in folded if 2 * len(one.members) > most] if most > 2 else list(folded)


def _spread_words(one: FoldedGroup) -> str:
    changes = one.changes_ns
    if len(changes) == 1:
        return f"{one.first.title}: {text(changes[0], 'ns')}"
    return f"{one.first.title}, {one.place}: change from {text(min(changes), 'ns')} to {text(max(changes), 'ns')}"


def _family(kernels: Sequence[Kernel]) -> str:
    """The family that takes most of the kernels' time."""
    lengths: Counter[str] = Counter()
    for kernel in kernels:
        lengths[kernel.family] += kernel.time_ns
    family = max(lengths, key=lambda name: lengths[name]) if lengths else "other"
    return family if family in FAMILIES else "other"


def roof_points(report: Report, folded: Sequence[FoldedGroup]) -> list[RoofPoint]:
    """Both sides of every group whose bytes are known."""
    points = []
    for row, one in zip(report.table("ledger").to_dict("records"), folded, strict=True):
        for side, letter, name in (("before", "a", "eager"), ("after", "b", "compiled")):
            moved, length = row[f"bytes_{letter}"], row[f"time_{letter}_ns"]
            if moved and moved == moved and length:
                label, family = str(row["group"]), _family(one.kernels(name))
                per_call = moved / len(one.members)
                points.append(RoofPoint(label, side, per_call, moved / length * 1e9, family))  # type: ignore[arg-type]
    return points


def gallery_ribbons(result: ExpressionResult, groups: Sequence[GalleryGroup]) -> tuple[list[Node], list[Ribbon]]:
    """Source lines → operators → compiled kernels, all ribbons of one width."""
    nodes: list[Node] = []
    links: list[Ribbon] = []
    lines: dict[int | None, int] = {}
    source = result.source.splitlines()
    for group in groups:
        kernels = []
        for kernel in group.kernels:
            nodes.append(
                Node(kernel.name, 2, "matmul" if kernel.name.startswith("extern") else "elementwise", kernel.name)
            )
            kernels.append(len(nodes) - 1)
        for operator in group.operators:
            if operator.line not in lines:
                words = source[operator.line - 1].strip() if operator.line else "outside the expression"
                nodes.append(Node(words, 0, "", words))
                lines[operator.line] = len(nodes) - 1
            moved = text(operator.read_bytes + operator.written_bytes, "bytes")
            nodes.append(Node(operator_word(operator.name), 1, "other", f"{operator.name} moves {moved}"))
            links.append(Ribbon(lines[operator.line], len(nodes) - 1, 1, operator.name))
            links += [Ribbon(len(nodes) - 1, kernel, 1 / len(kernels), operator.name) for kernel in kernels]
    return nodes, links


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
