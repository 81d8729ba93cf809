"""May A and B be set side by side? What differs beside the setting under study, said before any figure of both."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.analysis.compare import Comparability, Difference, comparable
from explorer.ui import pieces
from explorer.ui.settings_form import label_of, option_text
from explorer.ui.sources import Source
from explorer.units import listed


def fairness_of(a: Source, b: Source) -> Comparability:
    """What differs between two sources."""
    return comparable((a.settings, a.facts), (b.settings, b.facts))


def draw_differences(fairness: Comparability) -> None:
    """A box with what differs; loud where it is more than settings under study."""
    pieces.box(fairness.verdict, [_changes(fairness.differences)], loud=not fairness.is_fair)


def draw_other_work(differences: Sequence[Difference]) -> None:
    """A box where these differences leave two steps no kernels in common: why nothing follows, and what to pick."""
    wanted = {
        side: listed([f"{label_of(one.key, one.label)} {_option(one.key, getattr(one, side))}" for one in differences])
        for side in ("a", "b")
    }
    pieces.box(
        "A and B did different work, so there is nothing to match",
        [
            f"{_changes(differences)}. Two such steps have no kernels in common: no map and no ledger follow.",
            f"Pick as B a run with {wanted['a']}, or as A one with {wanted['b']}.",
        ],
        loud=True,
    )


def _changes(differences: Sequence[Difference]) -> str:
    return " · ".join(
        f"{label_of(one.key, one.label)} {_option(one.key, one.a)} → {_option(one.key, one.b)}" for one in differences
    )


def _option(key: str, value: str) -> str:
    return "none" if value == "None" else option_text(key, value)


def draw_unfair(fairness: Comparability) -> None:
    """The box only where the two should not be compared."""
    if not fairness.is_fair:
        draw_differences(fairness)
