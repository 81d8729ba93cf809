"""How does one expression flow into its kernels? Its own source lines, operators and kernels, on both sides.

Eager kernels come from the profiled calls of the gallery (`gallery#NAME/eager#0`, ...); on the CPU an operator is its
own kernel, so that there is no column for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.analysis.fusion_gallery import GalleryGroup
from explorer.analysis.fusion_groups import Match
from explorer.analysis.fusion_kernels import Kernel, kernels_within
from explorer.analysis.fusion_map import Box, FusionMap, MapBuilder, Times, box_label, family_of
from explorer.analysis.fusion_names import operator_word
from explorer.gallery_results import ExpressionResult, GeneratedKernel, OperatorUse
from explorer.trace import Trace, values

_MARK = "gallery#{name}/{side}#"


@dataclass(frozen=True)
class RanKernel:
    """A kernel that ran for an expression, with its time in every profiled call, ns."""

    kernel: Kernel
    times_ns: tuple[int, ...]

    @property
    def mean_ns(self) -> float:
        return sum(self.times_ns) / len(self.times_ns)


def ran_kernels(trace: Trace, name: str, side: str) -> list[RanKernel]:
    """GPU work of the first profiled call of that side, in order, with its times in all calls that ran the same."""
    mark = _MARK.format(name=name, side=side)
    marks = trace.annotations
    calls = [
        kernels_within(trace, int(values(marks, "start_ns")[row]), int(values(marks, "end_ns")[row]))
        for row, label in enumerate(marks["name"].to_pylist())
        if label.startswith(mark)
    ]
    if not calls:
        return []
    same = [call for call in calls if [one.name for one in call] == [one.name for one in calls[0]]]
    return [RanKernel(kernel, tuple(call[place].time_ns for call in same)) for place, kernel in enumerate(calls[0])]


def kernels_by_operator(operators: Sequence[OperatorUse], ran: Sequence[RanKernel]) -> list[list[RanKernel]]:
    """For each operator the kernels that it launched: both are in order, and a kernel names its operator."""
    found: list[list[RanKernel]] = [[] for _ in operators]
    place, row = -1, None
    for one in ran:
        if one.kernel.operator_row != row:
            words = [operator_word(operator.name) for operator in operators[place + 1 :]]
            following = next((step for step, word in enumerate(words) if word in one.kernel.operators), None)
            if following is None:
                continue
            place, row = place + 1 + following, one.kernel.operator_row
        found[place].append(one)
    return found


def gallery_map(
    result: ExpressionResult, groups: Sequence[GalleryGroup], eager: Sequence[RanKernel], compiled: Sequence[RanKernel]
) -> FusionMap:
    """Lines → operators → eager kernels, where any were profiled → compiled kernels; times are means over the calls."""
    ran = kernels_by_operator(result.computing_operators, eager)
    return _GalleryMap(result, ran, {one.kernel.name: one for one in compiled}).build(groups)


class _GalleryMap:
    def __init__(self, result: ExpressionResult, ran: list[list[RanKernel]], compiled: dict[str, RanKernel]) -> None:
        self._source = result.source.splitlines()
        self._ran = dict(zip(map(id, result.computing_operators), ran, strict=True))
        self._compiled = compiled
        self._builder = MapBuilder()
        self._lines: dict[int | None, int] = {}

    def build(self, groups: Sequence[GalleryGroup]) -> FusionMap:
        for group in groups:
            match: Match = "certain" if group.kernels else "unmatched"
            targets = [self._builder.add(self._compiled_box(kernel, match)) for kernel in group.kernels]
            for operator in group.operators:
                self._add_operator(operator, targets, match)
        return self._builder.finished()

    def _add_operator(self, operator: OperatorUse, targets: Sequence[int], match: Match) -> None:
        ran = self._ran[id(operator)]
        time_ns = sum(one.mean_ns for one in ran) or 1.0
        word = operator_word(operator.name)
        family = family_of([one.kernel for one in ran])
        place = self._builder.add(Box("operator", word, family, match, word, (operator.name,)))
        self._builder.join(self._line(operator.line), [place], time_ns, match)
        for one in ran:
            eager = self._builder.add(_kernel_box("eager", one, match))
            self._builder.join(place, [eager], one.mean_ns, match)
            self._builder.join(eager, targets, one.mean_ns, match)
        if not ran:
            self._builder.join(place, targets, time_ns, match)

    def _line(self, line: int | None) -> int:
        if line not in self._lines:
            words = self._source[line - 1].strip() if line else "outside the expression"
            place = f"line {line}" if line else ""
            self._lines[line] = self._builder.add(Box("line", words, "", "certain", place, (words,)))
        return self._lines[line]

    def _compiled_box(self, kernel: GeneratedKernel, match: Match) -> Box:
        ran = self._compiled.get(kernel.name)
        if ran is not None:
            return _kernel_box("compiled", ran, match)
        family = "matmul" if kernel.name.startswith("extern") else "elementwise"
        return Box("compiled", kernel.name, family, match, ", ".join(kernel.operators), (kernel.name,))


def _kernel_box(column: str, one: RanKernel, match: Match) -> Box:
    times = Times(
        one.mean_ns, min(one.times_ns), max(one.times_ns), f"{len(one.times_ns)} calls" if len(one.times_ns) > 1 else ""
    )
    name = one.kernel.name
    return Box(
        "compiled" if column == "compiled" else "eager",
        box_label(name),
        one.kernel.family,
        match,
        one.kernel.word,
        (name,),
        times,
    )
