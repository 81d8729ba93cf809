"""Can a run be believed, and how does it run once it runs? From facts.json: the check in words, the steady step.

What it cost to start is `compilation_run.py`'s question; the three are never mixed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.facts import Correctness, Facts
from explorer.units import text


@dataclass(frozen=True)
class Steady:
    """A step once everything is compiled and warm: percentiles of its latency, ns, over `step_count` steps."""

    p50_ns: float
    p90_ns: float
    p99_ns: float
    step_count: int
    tokens_per_s: float | None
    peak_memory_bytes: int | None


def steady_of(facts: Facts) -> Steady | None:
    """The steady step; None for a run that did not come so far."""
    latencies_ns = facts.steady_latencies_ns
    if not latencies_ns:
        return None
    p50_ns, p90_ns, p99_ns = (float(value) for value in np.percentile(latencies_ns, (50, 90, 99)))
    return Steady(
        p50_ns=p50_ns,
        p90_ns=p90_ns,
        p99_ns=p99_ns,
        step_count=len(latencies_ns),
        tokens_per_s=None if facts.tokens_per_step is None else facts.tokens_per_step / (p50_ns / 1e9),
        peak_memory_bytes=facts.peak_memory_bytes,
    )


def growth_words(found: Correctness) -> str:
    """Where the error is rounding and where it is not, in a sentence; the rule is the engine's `correctness.py`."""
    errors = found.layer_error_ratios
    if not errors:
        return "This recording is older than the comparison layer by layer."
    at = found.first_diverging_layer
    if at is not None:
        before = f"Up to layer {at - 1} it is rounding. " if at else ""
        place = f"layer {at - 1}'s attention or MLP, or " if at else "the tokens, the positions, or "
        return (
            f"{before}The keys and values of layer {at} are the first that are off by more "
            f"({text(errors[at], 'ratio')}): look at {place}layer {at}'s norms and projections."
        )
    grows = f"grows from {text(errors[0], 'ratio')} to {text(errors[-1], 'ratio')} over {len(errors)} layers"
    if found.logits_error_ratio <= found.error_limit_ratio:
        return f"The error {grows}: rounding."
    return (
        f"In keys and values the error {grows}, which is rounding, and the logits are off by more: look at the last "
        "layer's attention or MLP, the final norm and the output projection."
    )
