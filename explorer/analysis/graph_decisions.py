"""What would vLLM run for these batches in each of its modes, and why?"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from explorer.errors import SettingsError
from explorer.graph_modes import (
    GRAPH_MODES,
    AttentionSupport,
    Decision,
    GraphKind,
    ResolvedMode,
    dispatch,
    resolve_mode,
)
from explorer.report import Column, Report, ReportTable

QUESTION = "Which graph would each mode run?"
_WORDS: dict[GraphKind, str] = {"FULL": "full", "PIECEWISE": "pieces", "NONE": "no graph"}
_COLUMNS = (
    Column("mode", "asked for", "text"),
    Column("resolved", "used", "text"),
    Column("mode_reason", "why", "text"),
    Column("batch", "batch", "text"),
    Column("runs_as", "runs as", "text"),
    Column("reason", "because", "text"),
)


def decisions_report(sizes: Sequence[int], support: AttentionSupport, *, is_cut_at_attention: bool = True) -> Report:
    """Every mode with three batches: a decode and a mixed batch that fit, and a decode above the largest size."""
    fitting = max(1, sizes[-1] // 2 + 1)
    batches = (
        (f"decode of {fitting:,}", fitting, True),
        (f"mixed, {fitting:,} tokens", fitting, False),
        (f"decode of {sizes[-1] + 1:,}", sizes[-1] + 1, True),
    )
    rows = []
    for mode in GRAPH_MODES:
        try:
            resolved = resolve_mode(mode, support, is_cut_at_attention=is_cut_at_attention)
        except SettingsError as refusal:
            rows += [(mode, "refused", str(refusal), words, "", "") for words, _, _ in batches]
            continue
        for words, token_count, is_pure_decode in batches:
            decision = dispatch(
                resolved, token_count, is_pure_decode=is_pure_decode, captured=_captured(resolved, sizes)
            )
            reason = " ".join(resolved.reasons)
            rows.append((mode, resolved.mode, reason, words, _decision_words(decision), decision.reason))
    frame = pd.DataFrame(rows, columns=[column.key for column in _COLUMNS])
    return Report(QUESTION, f"attention support {support}", (), (ReportTable("decisions", "modes", _COLUMNS, frame),))


def _captured(resolved: ResolvedMode, sizes: Sequence[int]) -> dict[GraphKind, Sequence[int]]:
    """An engine captures every size in each kind that its mode uses."""
    kinds: tuple[GraphKind, ...] = ("FULL", "PIECEWISE")
    return {kind: sizes for kind in kinds if kind in (resolved.decode, resolved.mixed)}


def _decision_words(decision: Decision) -> str:
    words = _WORDS[decision.kind]
    return words if decision.size is None else f"{words} of {decision.size:,}"
