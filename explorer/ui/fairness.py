"""May A and B be set side by side? What differs beside the setting under study, said before any figure of both."""

from __future__ import annotations

from explorer.analysis.compare import Comparability, comparable
from explorer.ui import pieces
from explorer.ui.settings_form import label_of, option_text
from explorer.ui.sources import Source


def fairness_of(a: Source, b: Source) -> Comparability:
    """What differs between two sources."""
    return comparable((a.settings, a.facts), (b.settings, b.facts))


def draw_differences(fairness: Comparability) -> None:
    """A box with what differs; loud where it is more than settings under study."""
    changes = [
        f"{label_of(one.key, one.label)} {_option(one.key, one.a)} → {_option(one.key, one.b)}"
        for one in fairness.differences
    ]
    pieces.box(fairness.verdict, [" · ".join(changes)], loud=not fairness.is_fair)


def _option(key: str, value: str) -> str:
    return "none" if value == "None" else option_text(key, value)


def draw_unfair(fairness: Comparability) -> None:
    """The box only where the two should not be compared."""
    if not fairness.is_fair:
        draw_differences(fairness)
