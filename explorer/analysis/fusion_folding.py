"""Which groups are the same one, layer after layer, and did it become faster? Their layers are its repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.analysis.fusion_groups import Group
from explorer.analysis.fusion_kernels import Kernel, time_of
from explorer.analysis.step import middle_half

_SAME_RATIO = 0.02
"""A change smaller than this of one step's kernel is within what a clock change does; nobody repeated it."""


@dataclass(frozen=True)
class FoldedGroup:
    """The same group of several layers; `members` are in the order of the step. Times in ns, summed over members."""

    members: tuple[Group, ...]

    @property
    def first(self) -> Group:
        return self.members[0]

    @property
    def place(self) -> str:
        """`28 layers`, `layer 0`, `outside layers`, or how often it comes where nothing marks layers."""
        layers = {member.layer for member in self.members} - {None}
        if len(layers) > 1:
            return f"{len(layers)} layers"
        if layers:
            return f"layer {next(iter(layers))}"
        return "outside layers" if len(self.members) == 1 else f"{len(self.members)} times"

    def kernels(self, side: str) -> tuple[Kernel, ...]:
        """All kernels of side `eager` or `compiled`."""
        return tuple(kernel for member in self.members for kernel in getattr(member, side))

    @property
    def changes_ns(self) -> list[int]:
        """The change of kernel time of every member."""
        return [time_of(member.compiled) - time_of(member.eager) for member in self.members]

    @property
    def verdict(self) -> str:
        """`faster`, `slower`, or `no change measured` where the change is within the spread or too small to tell.

        Unmatched kernels are `not compared`.
        """
        if self.first.match == "unmatched":
            return "not compared"
        change, before = sum(self.changes_ns), time_of(self.kernels("eager"))
        if abs(change) <= (self.spread_ns or 0) or abs(change) < _SAME_RATIO * before:
            return "no change measured"
        return "faster" if change < 0 else "slower"

    @property
    def spread_ns(self) -> float | None:
        """The middle half of a member's kernel time, on the side where it is wider, times the members.

        In the unit of the change, which is summed over the members; None where nothing repeats.
        """
        if len(self.members) < 2:
            return None
        sides = (sorted(time_of(getattr(member, side)) for member in self.members) for side in ("eager", "compiled"))
        return len(self.members) * max(middle_half(times) or 0 for times in sides)


def fold(groups: Sequence[Group]) -> list[FoldedGroup]:
    """Groups of one place of every layer together, in the order in which they first come."""
    found: dict[tuple[object, ...], list[Group]] = {}
    seen: dict[tuple[object, ...], int] = {}
    for group in groups:
        place = (*group.fold_key, group.layer)
        turn = seen[place] = seen.get(place, -1) + 1 if group.layer is not None else 0
        found.setdefault((*group.fold_key, turn), []).append(group)
    return [FoldedGroup(tuple(members)) for members in found.values()]
