"""Can a run be believed, what did it cost to start, and how does it run? Three answers in this order, never mixed."""

from __future__ import annotations

import numpy as np

from explorer.analysis.compilation_run import first_answer_ns, run_payback_count
from explorer.facts import Facts
from explorer.ui import pieces
from explorer.ui.pieces import Card, single_text
from explorer.units import text


def draw_verification(facts: Facts, title: str, *, eager: Facts | None = None) -> None:
    """The card of one run: correctness, cold start, steady; `eager` is what its start has to be paid back against."""
    pieces.part_title(title, "correct, then cold start, then steady")
    _draw_correctness(facts)
    pieces.cards([*_start_cards(facts, eager), *_steady_cards(facts)])


def _draw_correctness(facts: Facts) -> None:
    found = facts.correctness
    if found is None:
        pieces.box("Not verified", ["Its answers were not compared with eager float32, so its times say little."])
        return
    words = (
        f"Logits are {text(found.logits_error_ratio, 'ratio')} off eager float32 and the KV cache "
        f"{text(found.kv_cache_error_ratio, 'ratio')}, with {text(found.error_limit_ratio, 'ratio')} allowed; the most "
        f"likely token agrees in {text(found.token_agreement_ratio, 'ratio')} of {found.compared_token_count}. "
        f"{found.note}"
    )
    if found.passed:
        pieces.quiet_line(f"Correct. {words}")
    else:
        pieces.box("Its answers are wrong", [words, "Times of a wrong step are no result."], loud=True)


def _start_cards(facts: Facts, eager: Facts | None) -> list[Card]:
    first_ns = first_answer_ns(facts)
    compile_ns = facts.cold_start.compile_ns if facts.cold_start else None
    cards = [
        Card("first answer after", single_text(text(first_ns, "ns")), "building and the first call"),
        Card("of it compiling", single_text(text(compile_ns, "ns")), "what the first call alone pays"),
    ]
    if eager is not None:
        count = run_payback_count(eager, facts)
        note = "steps, against the eager run" if count is not None else "its step is not shorter, or not measured"
        cards.append(Card("paid back after", single_text(text(count, "count")), note))
    return cards


def _steady_cards(facts: Facts) -> list[Card]:
    latencies_ns = facts.steady_latencies_ns
    if not latencies_ns:
        return [Card("steady", single_text("–"), "the run did not come so far")]
    low, middle, high = (float(value) for value in np.percentile(latencies_ns, (50, 90, 99)))
    rate = None if facts.tokens_per_step is None else facts.tokens_per_step / (low / 1e9)
    return [
        Card("steady step, p50", single_text(text(low, "ns")), f"p90 {text(middle, 'ns')}, p99 {text(high, 'ns')}"),
        Card("throughput", single_text(text(rate, "tokens_per_s")), f"over {len(latencies_ns)} steps"),
        Card("peak memory", single_text(text(facts.peak_memory_bytes, "bytes")), "of the measured step"),
    ]
