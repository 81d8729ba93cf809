"""Which runs carry a mark wherever their name is written? Those whose results were checked and found wrong."""

from __future__ import annotations

from explorer.facts import Facts

WRONG = "✗ wrong results"


def is_wrong(facts: Facts | None) -> bool:
    """Whether its results are known to be wrong."""
    return facts is not None and facts.is_wrong


def marked(title: str, facts: Facts | None) -> str:
    """The title, with the mark behind it where the results are wrong."""
    return f"{title} · {WRONG}" if is_wrong(facts) else title
