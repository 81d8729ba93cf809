"""How are two runs' idle times said in a line of cards, launch latency and queue time beside them?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from explorer.report import Delta
from explorer.ui.pieces import Card
from explorer.ui.sides import Side, shown_words
from explorer.ui.step_cards import card_of
from explorer.units import Number, text

_NO_LAUNCHES = "On the CPU nothing is launched."


def gap_cards(sides: Sequence[Side]) -> list[Card]:
    """The cards of one or two sides; times a step on average, latencies a launch."""
    shares = " → ".join(text(_share(side), "ratio") for side in sides)
    late = " → ".join(text(side.kernels.value("launch_latency_p90_ns"), "ns") for side in sides)
    idle, whole = shown_words(sides, "idle a step", "idle"), shown_words(sides, "step", "whole trace")
    return [
        _card(idle, sides, lambda side: side.per_step("idle_ns"), f"{shares} of the {whole}"),
        _card("waiting for the host", sides, lambda side: side.waiting_ns("late_host_ns"), "part of the idle time"),
        _card("drained by a sync", sides, lambda side: side.waiting_ns("after_sync_ns"), "part of the wait"),
        _card(
            "launch latency", sides, lambda side: side.kernels.value("launch_latency_p50_ns"), f"slowest tenth {late}"
        ),
        _card("queue time", sides, lambda side: side.kernels.value("queue_time_p50_ns"), "median, from the call's end"),
    ]


def _card(label: str, sides: Sequence[Side], of_side: Callable[[Side], Number | None], quiet: str) -> Card:
    a, b = of_side(sides[0]), of_side(sides[-1])
    lacking = next((side for side, value in zip((sides[0], sides[-1]), (a, b), strict=True) if value is None), None)
    reason = "" if lacking is None else _NO_LAUNCHES if lacking.is_cpu else _unknown_words(lacking)
    delta = Delta(label.replace(" ", "_"), label, "ns", a, b, "lower", None, reason)
    return card_of(label, delta, len(sides) == 1, quiet=quiet)


def _unknown_words(side: Side) -> str:
    unattributed = text(side.per_step("unattributed_ns"), "ns")
    return f"In {side.letter}, no launch is known; {unattributed} of idle time are unattributed."


def _share(side: Side) -> float | None:
    span = side.per_step("span_ns")
    return side.per_step("idle_ns") / span if span else None
