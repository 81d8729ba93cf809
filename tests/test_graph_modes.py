"""Do vLLM's mode pairs, refusals and fall-backs come out as its authors define them?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import SettingsError
from explorer.graph_modes import (
    GRAPH_MODES,
    PAIRS,
    SUPPORT_LEVELS,
    AttentionSupport,
    GraphKind,
    GraphMode,
    dispatch,
    resolve_mode,
)

SIZES = [1, 2, 4, 8]
BOTH: dict[GraphKind, list[int]] = {"FULL": SIZES, "PIECEWISE": SIZES}


@pytest.mark.parametrize(
    ("mode", "support", "is_cut", "expected"),
    [
        ("FULL", "ALWAYS", True, "FULL"),
        ("FULL", "UNIFORM_BATCH", True, "FULL_AND_PIECEWISE"),
        ("FULL", "UNIFORM_BATCH", False, "FULL_DECODE_ONLY"),
        ("FULL", "UNIFORM_SINGLE_TOKEN_DECODE", True, "FULL_AND_PIECEWISE"),
        ("FULL_DECODE_ONLY", "UNIFORM_SINGLE_TOKEN_DECODE", True, "FULL_DECODE_ONLY"),
        ("FULL_DECODE_ONLY", "NEVER", True, "PIECEWISE"),
        ("FULL_DECODE_ONLY", "NEVER", False, "NONE"),
        ("FULL_AND_PIECEWISE", "NEVER", True, "PIECEWISE"),
        ("PIECEWISE", "NEVER", True, "PIECEWISE"),
        ("NONE", "NEVER", False, "NONE"),
    ],
)
def test_mode_is_lowered_to_what_attention_supports(
    mode: GraphMode, support: AttentionSupport, is_cut: bool, expected: GraphMode
) -> None:
    resolved = resolve_mode(mode, support, is_cut_at_attention=is_cut)
    assert (resolved.requested, resolved.mode) == (mode, expected)
    assert bool(resolved.reasons) == (mode != expected)
    assert all(support in reason for reason in resolved.reasons)


def test_several_tokens_a_row_need_uniform_batches() -> None:
    lowered = resolve_mode("FULL_AND_PIECEWISE", "UNIFORM_SINGLE_TOKEN_DECODE", query_tokens=2)
    assert lowered.mode == "PIECEWISE"
    assert "2 tokens a row" in lowered.reasons[0]
    assert resolve_mode("FULL_AND_PIECEWISE", "UNIFORM_BATCH", query_tokens=2).mode == "FULL_AND_PIECEWISE"


@pytest.mark.parametrize(
    ("mode", "support", "is_cut", "reason"),
    [
        ("FULL", "NEVER", True, "no full graph"),
        ("PIECEWISE", "ALWAYS", False, "cut at attention"),
        ("FULL_AND_PIECEWISE", "ALWAYS", False, "cut at attention"),
    ],
)
def test_what_vllm_refuses_is_refused(mode: GraphMode, support: AttentionSupport, is_cut: bool, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        resolve_mode(mode, support, is_cut_at_attention=is_cut)


@pytest.mark.parametrize(
    ("mode", "decode", "mixed"),
    [
        ("NONE", "NONE", "NONE"),
        ("PIECEWISE", "PIECEWISE", "PIECEWISE"),
        ("FULL", "FULL", "FULL"),
        ("FULL_DECODE_ONLY", "FULL", "NONE"),
        ("FULL_AND_PIECEWISE", "FULL", "PIECEWISE"),
    ],
)
def test_a_mode_is_a_pair_for_decode_and_mixed_batches(mode: GraphMode, decode: GraphKind, mixed: GraphKind) -> None:
    resolved = resolve_mode(mode, "ALWAYS")
    assert dispatch(resolved, 3, is_pure_decode=True, captured=BOTH).kind == decode
    assert dispatch(resolved, 3, is_pure_decode=False, captured=BOTH).kind == mixed


def test_above_the_largest_size_there_is_no_graph() -> None:
    decision = dispatch(resolve_mode("FULL", "ALWAYS"), 9, is_pure_decode=True, captured=BOTH)
    assert (decision.kind, decision.size) == ("NONE", None)
    assert decision.reason == "9 tokens are more than the largest captured size, 8."


def test_a_size_without_a_full_graph_runs_its_pieces() -> None:
    captured: dict[GraphKind, list[int]] = {"FULL": [1, 2], "PIECEWISE": SIZES}
    decision = dispatch(resolve_mode("FULL", "ALWAYS"), 3, is_pure_decode=True, captured=captured)
    assert (decision.kind, decision.size) == ("PIECEWISE", 4)
    assert "no full graph" in decision.reason


def test_a_size_captured_as_neither_runs_without_a_graph() -> None:
    captured: dict[GraphKind, list[int]] = {"FULL": [], "PIECEWISE": [4]}
    decision = dispatch(resolve_mode("FULL_DECODE_ONLY", "ALWAYS"), 3, is_pure_decode=False, captured=captured)
    assert (decision.kind, decision.size) == ("NONE", None)


@given(st.sampled_from(GRAPH_MODES), st.sampled_from(SUPPORT_LEVELS), st.integers(1, 20), st.booleans(), st.booleans())
def test_no_batch_runs_a_graph_that_its_mode_has_not(
    mode: GraphMode, support: AttentionSupport, tokens: int, is_pure_decode: bool, is_cut: bool
) -> None:
    try:
        resolved = resolve_mode(mode, support, is_cut_at_attention=is_cut)
    except SettingsError:
        return
    decision = dispatch(resolved, tokens, is_pure_decode=is_pure_decode, captured=BOTH)
    wanted = PAIRS[resolved.mode][0 if is_pure_decode else 1]
    assert decision.kind in (wanted, "NONE")
    assert (decision.size is None) == (decision.kind == "NONE")
    assert decision.size is None or decision.size >= tokens
    assert decision.reason
