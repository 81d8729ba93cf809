"""Are choices, refusals, gains and what would help told as the probe measured them?"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from explorer.analysis.attention import (
    attention_report,
    cell_words,
    enabling_sentence,
    flips,
    headline,
    nearest_accepted,
    turned,
)
from explorer.analysis.attention_choice import (
    fastest_cell,
    gain_sentence,
    is_slower_choice,
    largest_gains,
    possible_gain,
    rates_of,
)
from explorer.analysis.attention_output import attention_object, told_report
from explorer.analysis.attention_sides import paired_calls, sides_sentence
from explorer.facts import Facts
from explorer.probe_results import CallResult, Cell, ProbeResults
from explorer.terminal import attention_lines, json_attention
from tests.drawn_probe import CHUNK, DECODE, MASKED, drawn_facts, drawn_results, ran, write_probe

RESULTS = drawn_results()
DECODED, MASKED_RESULT, CHUNKED, LARGE = RESULTS.calls


def cell_of(result: CallResult, backend: str) -> Cell:
    cell = result.cell(backend)
    assert cell is not None
    return cell


def test_headline_counts_choices_and_slower_ones() -> None:
    assert headline(RESULTS) == "cuDNN is chosen in 3 of 4 settings; in one setting a faster backend could have run."
    best = ProbeResults(calls=[DECODED])
    assert headline(best).endswith("the choice was always the fastest that could run.")
    assert headline(ProbeResults()) == "The probe ended before its first setting."


def test_slower_choice_compares_with_pytorchs_own_backends_only() -> None:
    assert [is_slower_choice(result) for result in RESULTS.calls] == [False, False, True, False]
    fastest = fastest_cell(CHUNKED)
    assert fastest is not None
    assert fastest.backend == "efficient"  # flex took 40 µs, but PyTorch does not choose it
    assert possible_gain(CHUNKED) == pytest.approx(82 / 58)


def test_difference_within_the_spread_is_no_slower_choice() -> None:
    near = dataclasses.replace(DECODED, cells=[ran("cudnn", 55, 3), ran("flash", 53, 1)])
    assert not is_slower_choice(near)
    assert is_slower_choice(dataclasses.replace(DECODED, cells=[ran("cudnn", 55, 1), ran("flash", 53, 1)]))


def test_gain_is_a_sentence_with_numbers() -> None:
    assert largest_gains(RESULTS, 3) == [CHUNKED]
    assert gain_sentence(CHUNKED) == "Chunked prefill: efficient is 1.41 × faster than the chosen cuDNN."


def test_rates_are_of_visible_pairs_and_shares_of_measured_ceilings() -> None:
    rates = rates_of(DECODED, cell_of(DECODED, "cudnn"), RESULTS, drawn_facts())
    assert rates.flops_per_s == pytest.approx(2 * 16 * 1024 * 256 / 55e-6)
    assert rates.flops_ratio == pytest.approx(2 * 16 * 1024 * 256 / 55e-6 / 7e14)
    moved = (16 * 256 + 8 * 1024 * 256) * 2
    assert rates.bytes_ratio == pytest.approx(moved / 55e-6 / 4e12)


def test_rates_of_what_did_not_run_are_unknown() -> None:
    rates = rates_of(DECODED, cell_of(DECODED, "efficient"), RESULTS, drawn_facts())
    assert dataclasses.astuple(rates) == (None, None, None, None)
    assert rates_of(LARGE, cell_of(LARGE, "flash"), RESULTS, Facts()).flops_per_s is None


def test_turned_choice_says_which_cells_flip() -> None:
    change = turned(MASKED_RESULT, "mask", "none")
    assert change is not None
    assert flips(MASKED_RESULT, change) == [("flash", True)]
    assert turned(MASKED_RESULT, "dtype", "float32") is None


def test_smallest_changes_are_named() -> None:
    assert enabling_sentence(cell_of(MASKED_RESULT, "flash")) == "no mask"
    assert "no set of up to three" in enabling_sentence(cell_of(CHUNKED, "flash"))


def test_nearest_call_that_a_backend_took_is_found() -> None:
    found = nearest_accepted(RESULTS, MASKED, "flash")
    assert found is not None
    assert (found[0].call, found[1]) == (DECODE, 2)
    assert nearest_accepted(RESULTS, MASKED, "overrideable") is None


def test_failed_cell_keeps_its_reason_and_is_counted() -> None:
    report = attention_report(RESULTS, drawn_facts())
    assert report.value("failed_count") == 1
    assert report.value("chosen_cudnn_count") == 3
    assert report.value("slower_choice_count") == 1
    assert cell_words(cell_of(LARGE, "math")) == "ran out of memory"
    assert len(report.table("cells")) == sum(len(result.cells) for result in RESULTS.calls)


def test_priority_before_and_after_the_warm_up_are_both_told() -> None:
    notes = " ".join(attention_report(RESULTS, drawn_facts()).notes)
    assert "tries cuDNN, flash, efficient, math, read after a warm-up call" in notes
    assert "before the first call it read flash, efficient, math, cuDNN" in notes


def test_cpu_probe_says_that_cpu_and_cuda_differ() -> None:
    on_cpu = dataclasses.replace(RESULTS, build_backends=["flash", "math"])
    assert any("CPU and CUDA differ" in note for note in attention_report(on_cpu, drawn_facts()).notes)
    assert not any("CPU and CUDA differ" in note for note in attention_report(RESULTS, drawn_facts()).notes)


def test_is_causal_with_unequal_lengths_is_warned_of_in_notes() -> None:
    found = told_report(RESULTS, drawn_facts()).notes
    warnings = [note for note in found if "aligned upper left" in note]
    assert len(warnings) == 1  # HUGE is causal too, with as many queries as keys
    assert warnings[0].startswith("is_causal with 128 queries and 1,024 keys")
    assert warnings[0] in attention_object(RESULTS, drawn_facts())["notes"]


def test_redundant_work_of_the_square_trick_is_a_share() -> None:
    ragged = attention_report(RESULTS, drawn_facts()).table("ragged")
    assert ragged["redundant_ratio"].tolist() == [pytest.approx(21 / 65)]


def test_two_probes_say_where_choices_differ() -> None:
    other = dataclasses.replace(RESULTS, calls=[dataclasses.replace(DECODED, chosen="math", cells=[ran("math", 391)])])
    assert sides_sentence(RESULTS, other) == "Of 1 settings that both tried, 1 are answered by another backend in B."
    (pair,) = paired_calls(RESULTS, other)
    assert pair.choice_changes
    assert [(delta.key, delta.exceeds_spread) for delta in pair.deltas()] == [("math", False)]
    assert sides_sentence(RESULTS, RESULTS).endswith("every choice is the same.")


def test_two_calls_say_what_they_differ_in() -> None:
    (pair,) = paired_calls(
        ProbeResults(calls=[DECODED]), ProbeResults(calls=[dataclasses.replace(CHUNKED, call=DECODE)])
    )
    assert pair.differs_in == []
    assert "flash: runs → takes no is_causal with unequal lengths" in pair.turned_cells


def test_json_holds_every_call_and_cell() -> None:
    found = json.loads(json.dumps(attention_object(RESULTS, drawn_facts())))
    assert [call["label"] for call in found["calls"]] == [call.call.label for call in RESULTS.calls]
    flash = found["calls"][1]["cells"]["flash"]
    assert (flash["outcome"], flash["reason"], flash["time_ns"]) == ("refused", "takes no mask", None)
    assert flash["enabling"] == [["no mask"]]
    assert found["calls"][2]["fastest"] == "efficient"
    assert found["priority_order"][0] == "cudnn"


def test_command_line_tells_a_recording(tmp_path: Path) -> None:
    write_probe(tmp_path / "probe")
    assert json_attention(tmp_path / "probe")["finding"] == headline(RESULTS)
    text = attention_lines(tmp_path / "probe")
    assert text.startswith("cuDNN is chosen in 3 of 4 settings")
    assert CHUNK.label in text
