"""Can a run be believed, what did it cost to start, and how does it run? Three answers in this order, never mixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from explorer.analysis.compilation_run import first_answer_ns, run_payback_count
from explorer.analysis.verification import growth_words, steady_of
from explorer.charts.layer_errors import LayerErrors, layer_errors
from explorer.facts import Correctness, Facts
from explorer.ui import pieces
from explorer.ui.fairness import fairness_of
from explorer.ui.figures import built, draw_figure
from explorer.ui.marking import is_wrong
from explorer.ui.rows import Cell, Line, draw_rows
from explorer.ui.sources import Source
from explorer.units import exact, text


@dataclass(frozen=True)
class _Verified:
    """One measured run of the page; `eager` is what its start has to be paid back against."""

    letter: str
    title: str
    facts: Facts
    eager: Facts | None


def draw_verification(sources: Mapping[str, Source | None]) -> None:
    """The card of every run of the page, by its letter: correctness, cold start, steady; then the error by layer.

    A trace without a recording beside it was measured elsewhere, and is said to be unverified.
    """
    runs = _verified(sources)
    pieces.part_title("Verified", "correct, then cold start, then steady")
    for letter, source in sources.items():
        if source is not None and source.facts is None:
            pieces.quiet_line(f"{letter.upper()} is a trace alone: its answers, start and steady step are not known.")
    for run in runs:
        _draw_card(run)
    _draw_growth(runs)


def _verified(sources: Mapping[str, Source | None]) -> list[_Verified]:
    measured = [
        (letter.upper(), source, source.facts)
        for letter, source in sources.items()
        if source is not None and source.facts is not None
    ]
    eager = next((source for _, source, _ in measured if source.settings and source.settings.mode == "eager"), None)
    return [_Verified(letter, source.title, facts, _to_pay_back(source, eager)) for letter, source, facts in measured]


def _to_pay_back(source: Source, eager: Source | None) -> Facts | None:
    """The eager run that a longer start saves steps of; None for itself and for one that is not comparable."""
    if eager is None or source is eager or not fairness_of(eager, source).is_fair:
        return None
    return eager.facts


def _draw_card(run: _Verified) -> None:
    pieces.quiet_line(f"{run.letter} · {run.title}")
    found = run.facts.correctness
    if found is not None and is_wrong(run.facts):
        pieces.box(f"{run.letter}: times of a wrong step are no result", [growth_words(found)], loud=True)
    parts = (
        _correctness_rows(found),
        ("2 · cold start", _start_lines(run.facts, run.eager)),
        ("3 · steady", _steady_lines(run.facts)),
    )
    for column, (head, lines) in zip(st.columns(3, gap="medium"), parts, strict=True):
        with column:
            draw_rows((head, ""), lines, (1.6, 1))


def _correctness_rows(found: Correctness | None) -> tuple[str, list[Line]]:
    if found is None:
        return "1 · not verified", [_line("compared with eager float32", "no", "Its times say little.")]
    allowed = f"{text(found.error_limit_ratio, 'ratio')} allowed; {found.note}"
    at = found.first_diverging_layer
    layer = ("–" if not found.layer_error_ratios else "none") if at is None else text(at, "count")
    return f"1 · {'✓ correct' if found.passed else '✗ wrong'}", [
        _line("logits, off eager float32", text(found.logits_error_ratio, "ratio"), allowed),
        _line("KV cache, off eager float32", text(found.kv_cache_error_ratio, "ratio"), allowed),
        _line(
            "same most likely token",
            text(found.token_agreement_ratio, "ratio"),
            f"of {found.compared_token_count}; with random weights the two best may be closer than a rounding",
        ),
        _line("first diverging layer", layer, growth_words(found)),
    ]


def _start_lines(facts: Facts, eager: Facts | None) -> list[Line]:
    cold = facts.cold_start
    compile_ns, capture_ns = (cold.compile_ns, cold.capture_ns) if cold else (None, None)
    lines = [
        _line("first answer after", text(first_answer_ns(facts), "ns"), "building and the first call"),
        _line("of it compiling", text(compile_ns, "ns"), "what the first call alone pays"),
        _line("then capturing", text(capture_ns, "ns"), "recording the CUDA graph"),
    ]
    if eager is not None:
        count = run_payback_count(eager, facts)
        hover = "steps, against the eager run" if count is not None else "its step is not shorter, or not measured"
        lines.append(_line("steps that pay it back", text(count, "count"), hover))
    return lines


def _steady_lines(facts: Facts) -> list[Line]:
    steady = steady_of(facts)
    if steady is None:
        return [_line("steady step", "–", "the run did not come so far")]
    over = f"over {steady.step_count} steps"
    return [
        _line("step, p50", text(steady.p50_ns, "ns"), over),
        _line("p90, p99", f"{text(steady.p90_ns, 'ns')}, {text(steady.p99_ns, 'ns')}", over),
        _line("throughput", text(steady.tokens_per_s, "tokens_per_s"), "at p50"),
        _line("peak memory", text(steady.peak_memory_bytes, "bytes"), exact(steady.peak_memory_bytes, "bytes")),
    ]


def _draw_growth(runs: Sequence[_Verified]) -> None:
    """The error from layer to layer, folded; open where a layer is off by more than rounding."""
    checked = [(run, run.facts.correctness) for run in runs if run.facts.correctness is not None]
    known = [(run, found) for run, found in checked if found.layer_error_ratios]
    if not known:
        return
    diverging = any(found.first_diverging_layer is not None for _, found in known)
    with st.expander("Error from layer to layer: rounding, or more?", expanded=diverging, key="layer_errors"):
        for run, found in known:
            pieces.quiet_line(f"{run.letter}: {growth_words(found)}")
        drawn = [
            LayerErrors(
                run.letter, tuple(found.layer_error_ratios), found.error_limit_ratio, found.first_diverging_layer
            )
            for run, found in known
        ]
        draw_figure(
            built(layer_errors, drawn, pieces.current_theme()),
            key="layer_errors_figure",
            alt="Relative error of each layer's newest keys and values against float32.",
        )


def _line(label: str, value: str, hover: str = "") -> Line:
    return Line((Cell(label, hover), Cell(value, hover)))
