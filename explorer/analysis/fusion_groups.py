"""Which eager kernels became which compiled kernels? By order and position, then by the operators in their names.

    eager     mul add | MM | pow mean .. | MM         products, attention and communication are never fused away: they
    compiled    f0    | MM |     f1      | MM         are the same on both sides, in the same order, and what lies
                                                      between two of them on one side lies there on the other

A stretch that is empty on one side, or whose compiled kernels do not account for its eager ones (work was moved over a
product that does not need it), joins the neighbour whose operators its names share. What shares none stays unmatched.
Where the generated code was recorded, the compiler's own list of operators decides whether a match is certain.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal

from explorer.analysis.fusion_kernels import Kernel
from explorer.analysis.fusion_names import group_title, is_named, kernel_label
from explorer.units import shortened

Match = Literal["certain", "by_name", "unmatched"]
_ANCHORS = frozenset({"matmul", "attention", "communication"})
_FINISHING = re.compile(r"splitKreduce|splitkv_combine|lean_reduction", re.IGNORECASE)
"""Second kernels of a product or an attention call that was split over the device."""
_ANCHOR_TITLES = {"matmul": "matrix product", "attention": "attention", "communication": "communication"}


@dataclass(frozen=True)
class Group:
    """Eager kernels and the compiled kernels that replaced them. `layer` is None outside of layers."""

    title: str
    match: Match
    eager: tuple[Kernel, ...]
    compiled: tuple[Kernel, ...]
    is_anchor: bool = False

    @property
    def layer(self) -> int | None:
        layers = [kernel.layer for kernel in self.eager]
        return layers[-1] if layers and None not in layers else None

    @property
    def fold_key(self) -> tuple[object, ...]:
        """Equal for the same place of every layer."""
        operators = tuple(kernel.word for kernel in self.eager)
        words = () if self.eager else tuple(kernel.words or kernel.name for kernel in self.compiled)
        return (self.title, self.match, operators, words, self.layer is not None)


@dataclass
class _Stretch:
    """Kernels between two anchors, or one anchor, of both sides."""

    eager: list[Kernel] = field(default_factory=list)
    compiled: list[Kernel] = field(default_factory=list)
    is_anchor: bool = False

    @property
    def is_lopsided(self) -> bool:
        return bool(self.eager) != bool(self.compiled)


@dataclass(frozen=True)
class _Unit:
    """Neighbouring kernels of one operator; `key` names an anchor and is empty for anything else."""

    kernels: tuple[Kernel, ...]
    key: str


def match_groups(eager: Sequence[Kernel], compiled: Sequence[Kernel]) -> list[Group]:
    """Every kernel of both sides in exactly one group, in the order of the steps."""
    with_shapes = _have_shapes(eager) and _have_shapes(compiled)
    shared = _shared_names(eager, compiled)
    units = [_units(side, with_shapes, shared) for side in (eager, compiled)]
    stretches = _stretches(*units)
    _settle(stretches)
    return [_group(one) for one in stretches if one.eager or one.compiled]


def proven(groups: Sequence[Group]) -> list[Group]:
    """The groups, certain where the compiler itself names every eager kernel's operator in the compiled ones."""
    return [replace(group, match="certain") if _is_proven(group) else group for group in groups]


def _is_proven(group: Group) -> bool:
    if group.match == "unmatched" or not group.eager:
        return False
    words = {held.word for kernel in group.compiled for held in kernel.held}
    return all(words.intersection(kernel.operators) for kernel in group.eager)


def named_kernels(group: Group) -> list[Kernel]:
    """The eager kernels that the compiled side accounts for: all where it is certain or an anchor, else by operator."""
    if group.match == "certain" or (group.is_anchor and group.match != "unmatched"):
        return list(group.eager)
    words = [kernel.words or kernel.word for kernel in group.compiled]
    return [kernel for kernel in group.eager if is_named(kernel.operators, words)]


def _have_shapes(kernels: Sequence[Kernel]) -> bool:
    products = [kernel for kernel in kernels if kernel.family == "matmul"]
    return all(kernel.dims for kernel in products)


def _shared_names(eager: Sequence[Kernel], compiled: Sequence[Kernel]) -> frozenset[str]:
    """Library kernels that run equally often on both sides; PyTorch's own pointwise ones mean too many things."""
    counts = [Counter(kernel.name for kernel in side) for side in (eager, compiled)]
    return frozenset(name for name, count in counts[0].items() if count == counts[1][name] and "at::native" not in name)


def _units(kernels: Sequence[Kernel], with_shapes: bool, shared: frozenset[str]) -> list[_Unit]:
    """Kernels of one operator together; of a replay, which has no operators, a kernel with what finishes its work."""
    starts = [
        place for place in range(len(kernels)) if place == 0 or not _continues(kernels[place - 1], kernels[place])
    ]
    units = []
    for start, end in pairwise([*starts, len(kernels)]):
        unit = tuple(kernels[start:end])
        units.append(_Unit(unit, _key(unit, with_shapes, shared)))
    return units


def _continues(before: Kernel, kernel: Kernel) -> bool:
    if before.operator_row >= 0 or kernel.operator_row >= 0:
        return before.operator_row == kernel.operator_row
    return before.family in _ANCHORS and before.words is None and is_finishing(kernel)


def is_finishing(kernel: Kernel) -> bool:
    """Whether it is the second kernel of a product or an attention call that was split."""
    return _FINISHING.search(kernel.name) is not None


def _key(unit: tuple[Kernel, ...], with_shapes: bool, shared: frozenset[str]) -> str:
    anchor = next((kernel for kernel in unit if kernel.family in _ANCHORS and kernel.words is None), None)
    if anchor is not None:
        return f"{anchor.family} {anchor.dims if with_shapes and anchor.family == 'matmul' else ''}"
    if not with_shapes or not unit[0].operators:
        return unit[0].name if unit[0].name in shared else ""
    return ""


def _stretches(eager: Sequence[_Unit], compiled: Sequence[_Unit]) -> list[_Stretch]:
    anchors = [[place for place, unit in enumerate(side) if unit.key] for side in (eager, compiled)]
    keys = [[side[place].key for place in places] for side, places in zip((eager, compiled), anchors, strict=True)]
    blocks = SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_matching_blocks()
    pairs = [(anchors[0][one.a + step], anchors[1][one.b + step]) for one in blocks for step in range(one.size)]
    stretches, before = [], (0, 0)
    for pair in [*pairs, (len(eager), len(compiled))]:
        stretches.append(_Stretch(_flat(eager[before[0] : pair[0]]), _flat(compiled[before[1] : pair[1]])))
        stretches.append(_Stretch(_flat(eager[pair[0] : pair[0] + 1]), _flat(compiled[pair[1] : pair[1] + 1]), True))
        before = (pair[0] + 1, pair[1] + 1)
    return stretches


def _flat(units: Sequence[_Unit]) -> list[Kernel]:
    return [kernel for unit in units for kernel in unit.kernels]


def _settle(stretches: list[_Stretch]) -> None:
    """Joins each stretch that is not accounted for to the nearest one that shares most operators, the later first."""
    between = [one for one in stretches if not one.is_anchor]
    for place, one in enumerate(between):
        if not (one.is_lopsided or _is_weak(one)):
            continue
        after = next((other for other in between[place + 1 :] if other.eager or other.compiled), None)
        before = next((other for other in reversed(between[:place]) if other.eager or other.compiled), None)
        ahead, behind = _shared_operators(one, after), _shared_operators(one, before)
        if after is not None and ahead and ahead >= behind and not _would_weaken(one, after):
            after.eager[:0], after.compiled[:0] = one.eager, one.compiled
        elif before is not None and behind and not _would_weaken(before, one):
            before.eager += one.eager
            before.compiled += one.compiled
        else:
            continue
        one.eager, one.compiled = [], []


def _is_weak(one: _Stretch) -> bool:
    """Both sides have kernels, and those of the compiled side do not account for the eager side's."""
    return bool(one.eager and one.compiled) and _group(one).match == "unmatched"


def _would_weaken(first: _Stretch, second: _Stretch) -> bool:
    """Two stretches with kernels on both sides stay apart unless they match as one."""
    if first.is_lopsided or second.is_lopsided:
        return False
    return _is_weak(_Stretch([*first.eager, *second.eager], [*first.compiled, *second.compiled]))


def _shared_operators(one: _Stretch, other: _Stretch | None) -> int:
    if other is None:
        return 0
    eager, compiled = (one.eager, other.compiled) if one.eager else (other.eager, one.compiled)
    words = [kernel.words or kernel.word for kernel in compiled]
    return sum(is_named(operators, words) for operators in {kernel.operators for kernel in eager})


def _group(one: _Stretch) -> Group:
    eager, compiled = tuple(one.eager), tuple(one.compiled)
    if one.is_anchor:
        first = next((kernel for kernel in (*eager, *compiled) if kernel.family in _ANCHORS), (*eager, *compiled)[0])
        title = _ANCHOR_TITLES.get(first.family, first.name)
        if first.family == "matmul" and first.dims:
            title = f"product {first.dims}"
        return Group(title, "by_name", eager, compiled, True)
    if not eager:
        return Group(_compiled_title(compiled), "unmatched", eager, compiled)
    group = Group(group_title(_outer_words(eager)), "by_name", eager, compiled)
    named_ns = sum(kernel.time_ns for kernel in named_kernels(group))
    if 2 * named_ns >= sum(kernel.time_ns for kernel in eager) and compiled:
        return group
    return Group(group.title, "unmatched", eager, compiled)


def _outer_words(kernels: Sequence[Kernel]) -> list[str]:
    """For titles: the operator that launched each kernel, with embedding and the like seen through."""
    return [
        "embedding" if "embedding" in kernel.operators else shortened(kernel_label(kernel.word)) for kernel in kernels
    ]


def _compiled_title(kernels: Sequence[Kernel]) -> str:
    return ", ".join(dict.fromkeys(shortened(kernel.words or kernel_label(kernel.name)) for kernel in kernels))
