"""Does the table of vLLM's modes say what runs, and why?"""

from __future__ import annotations

from explorer.analysis.graph_decisions import decisions_report
from explorer.graph_modes import GRAPH_MODES

SIZES = (1, 2, 4, 8)


def test_every_mode_meets_a_decode_a_mixed_batch_and_one_too_large() -> None:
    frame = decisions_report(SIZES, "ALWAYS").table("decisions")
    assert list(dict.fromkeys(frame["mode"])) == list(GRAPH_MODES)
    runs = {(row["mode"], row["batch"]): row["runs_as"] for row in frame.to_dict("records")}
    assert runs["FULL", "decode of 5"] == "full of 8"
    assert runs["FULL", "mixed, 5 tokens"] == "full of 8"
    assert runs["FULL_AND_PIECEWISE", "mixed, 5 tokens"] == "pieces of 8"
    assert runs["FULL_DECODE_ONLY", "mixed, 5 tokens"] == "no graph"
    assert {runs[mode, "decode of 9"] for mode in GRAPH_MODES} == {"no graph"}
    assert frame["reason"].all()


def test_a_refused_mode_has_its_reason_and_runs_nothing() -> None:
    frame = decisions_report(SIZES, "NEVER").table("decisions")
    refused = frame[frame["resolved"] == "refused"]
    assert set(refused["mode"]) == {"FULL"}
    assert refused["mode_reason"].str.contains("supports no full graph").all()
    assert (refused["runs_as"] == "").all()


def test_a_lowered_mode_says_what_it_became() -> None:
    frame = decisions_report(SIZES, "UNIFORM_BATCH", is_cut_at_attention=False).table("decisions")
    full = frame[frame["mode"] == "FULL"].iloc[0]
    assert full["resolved"] == "FULL_DECODE_ONLY"
    assert "UNIFORM_BATCH" in full["mode_reason"]
