"""How does the work flow: source line → aten operator → eager kernel → compiled kernel? One layer stands for all.

Boxes are made a group at a time, in the order of the step, from the middle one of the layers that were folded; times
are means over the layers, with their extremes. Source lines are known only where the generated code was recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from explorer.analysis.fusion_folding import FoldedGroup
from explorer.analysis.fusion_groups import Group, Match
from explorer.analysis.fusion_kernels import HeldOperator, Kernel
from explorer.analysis.fusion_names import is_named, kernel_label
from explorer.trace import FAMILIES

Column = Literal["line", "operator", "eager", "compiled"]
COLUMNS: Mapping[Column, str] = MappingProxyType(
    {
        "line": "source line",
        "operator": "aten operator",
        "eager": "eager kernel",
        "compiled": "compiled kernel",
    }
)


@dataclass(frozen=True)
class Times:
    """Kernel time of one box, ns: the mean over what was folded (`28 layers`, `84 times`), and the extremes.

    `folded` is empty where there is one alone.
    """

    mean_ns: float
    least_ns: int
    most_ns: int
    folded: str = ""


@dataclass(frozen=True)
class Box:
    """One stop on the way; `names` are whole names or, of a line, its place, `times` None where nothing was timed."""

    column: Column
    label: str
    family: str
    match: Match
    group: str
    names: tuple[str, ...] = ()
    times: Times | None = None
    count: int = 1


@dataclass(frozen=True)
class Join:
    """Two boxes, by their places in the list, with the eager time that goes this way."""

    source: int
    target: int
    time_ns: float
    match: Match


@dataclass(frozen=True)
class FusionMap:
    """Boxes and joins; without source lines the first column is missing."""

    boxes: tuple[Box, ...]
    joins: tuple[Join, ...]

    @property
    def columns(self) -> list[Column]:
        """The columns that have boxes, from left to right."""
        present = {box.column for box in self.boxes}
        return [column for column in COLUMNS if column in present]


@dataclass
class MapBuilder:
    """Boxes and joins as they come."""

    boxes: list[Box] = field(default_factory=list)
    joins: list[Join] = field(default_factory=list)

    def add(self, box: Box) -> int:
        """The new box's place."""
        self.boxes.append(box)
        return len(self.boxes) - 1

    def join(self, source: int, targets: Sequence[int], time_ns: float, match: Match) -> None:
        """Joins a box with others, each having the same share of the time; with none where there are none."""
        self.joins += [Join(source, target, time_ns / len(targets), match) for target in targets]

    def finished(self) -> FusionMap:
        """What was built."""
        return FusionMap(tuple(self.boxes), tuple(self.joins))


def model_map(folded: Sequence[FoldedGroup]) -> FusionMap:
    """The map of those groups."""
    builder = MapBuilder()
    for one in folded:
        _add_group(builder, one)
    return builder.finished()


def _add_group(builder: MapBuilder, one: FoldedGroup) -> None:
    member, match = one.members[len(one.members) // 2], one.first.match
    compiled = _grouped(member.compiled, _compiled_key)
    lines: dict[HeldOperator, int] = {}
    reached = {key: builder.add(_box("compiled", one, kernels, _compiled_key)) for key, kernels in compiled.items()}
    for word, kernels in _grouped(member.eager, _word).items():
        operator = _box("operator", one, kernels, _word)
        operator_place = builder.add(replace(operator, label=str(word)))
        held = held_lines({name for kernel in kernels for name in kernel.operators}, member.compiled)
        for line in held:
            if line not in lines:
                lines[line] = builder.add(line_box(line, one.first))
            builder.join(lines[line], [operator_place], _mean_ns(operator) / len(held), match)
        for same in _grouped(kernels, _eager_key).values():
            eager = _box("eager", one, same, _eager_key)
            eager_place = builder.add(eager)
            builder.join(operator_place, [eager_place], _mean_ns(eager), match)
            keys = _reached(same[0], compiled, one)
            builder.join(eager_place, [reached[key] for key in keys], _mean_ns(eager), match)


def held_lines(words: set[str], compiled: Sequence[Kernel]) -> list[HeldOperator]:
    """Where those operators of the compiled kernels come from: each place once, as a held operator without a word."""
    held = [one for kernel in compiled for one in kernel.held if one.word in words and one.line is not None]
    return list(dict.fromkeys(replace(one, word="") for one in held))


def line_box(held: HeldOperator, group: Group) -> Box:
    """The box of a source line; of a product or an attention call the caller tells more than the call itself."""
    assert held.line is not None
    line, caller = held.line, held.caller
    shown = caller if caller is not None and group.is_anchor else line
    names = [f"{line.place}: {line.text}", *([f"called from {caller.place}: {caller.text}"] if caller else [])]
    return Box("line", shown.text, "", group.match, group.title, tuple(names))


def _box(column: Column, one: FoldedGroup, kernels: Sequence[Kernel], key: Callable[[Kernel], object]) -> Box:
    times = _times(one, "compiled" if column == "compiled" else "eager", key, key(kernels[0]))
    names = tuple(dict.fromkeys(kernel.name for kernel in kernels))
    match = one.first.match
    return Box(column, box_label(names[0]), family_of(kernels), match, one.first.title, names, times, len(kernels))


def box_label(name: str) -> str:
    """A kernel's label without the word that all of them share."""
    return kernel_label(name).removesuffix("_kernel")


def _times(one: FoldedGroup, side: str, key: Callable[[Kernel], object], wanted: object) -> Times:
    """The time of the kernels with that key, over the layers that have any."""
    sums = [sum(kernel.time_ns for kernel in getattr(member, side) if key(kernel) == wanted) for member in one.members]
    found = [length for length in sums if length] or [0]
    return Times(sum(found) / len(found), min(found), max(found), one.place if len(found) > 1 else "")


def _reached(kernel: Kernel, compiled: Mapping[object, Sequence[Kernel]], one: FoldedGroup) -> list[object]:
    """Which compiled kernels hold the eager kernel's operator, or have it in their name; an anchor's of its name."""
    if one.first.match == "unmatched":
        return []
    if one.first.is_anchor:
        same = _compiled_key(kernel)
        return [same] if same in compiled else list(compiled)
    holding = [
        key
        for key, kernels in compiled.items()
        if any(held.word in kernel.operators for other in kernels for held in other.held)
    ]
    return holding or [
        key
        for key, kernels in compiled.items()
        if is_named(kernel.operators, [other.words or other.word for other in kernels])
    ]


def _mean_ns(box: Box) -> float:
    return box.times.mean_ns if box.times else 0.0


def _word(kernel: Kernel) -> object:
    return kernel.word


def _eager_key(kernel: Kernel) -> object:
    return (kernel.word, kernel_label(kernel.name))


def _compiled_key(kernel: Kernel) -> object:
    return kernel.words or kernel_label(kernel.name)


def _grouped(kernels: Iterable[Kernel], key: Callable[[Kernel], object]) -> dict[object, list[Kernel]]:
    found: dict[object, list[Kernel]] = {}
    for kernel in kernels:
        found.setdefault(key(kernel), []).append(kernel)
    return found


def family_of(kernels: Sequence[Kernel]) -> str:
    """The family that takes most of the kernels' time."""
    lengths: Counter[str] = Counter()
    for kernel in kernels:
        lengths[kernel.family] += kernel.time_ns
    family = max(lengths, key=lambda name: lengths[name]) if lengths else "other"
    return family if family in FAMILIES else "other"
