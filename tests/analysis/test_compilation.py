"""Does the answer say what compiled, why again, where it stopped, and when it pays back?"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from explorer.analysis.compilation import (
    START_LABELS,
    compilation_report,
    failed_guards,
    headline,
    limit_call,
    payback_count,
    scope_sentences,
    start_parts,
    why_compiled,
)
from explorer.analysis.compilation_crossings import crossings
from explorer.analysis.compilation_reasons import break_words, explain_reason
from explorer.analysis.compilation_run import RUN_START_LABELS, first_answer_ns, run_payback_count, run_start_parts
from explorer.analysis.compilation_trace import compilation_trace_report
from explorer.charts.compilation import PART_COLOURS
from explorer.cli import main
from explorer.facts import ColdStart, Facts
from explorer.ingest import read_trace
from explorer.shapes_results import ShapesResults, results_from_json, results_to_json
from tests.drawn_shapes import MS, SETTINGS, drawn_results, stopped_variant, write_shapes

SAMPLES = Path(__file__).parents[2] / "traces" / "samples"


@pytest.mark.parametrize(
    ("reason", "cause", "fix"),
    [
        ("0/0: tensor 'x' size mismatch at index 0. expected 1, actual 2", "specialised to 1", "pad it to 2"),
        ("0/1: tensor 'x' size mismatch at index 0. expected 2, actual 3", "compiled in as 2", "Mark the dimension"),
        ("0/1: 2 <= L['x'].size()[0]", "holds from 2 on", "always compiled apart"),
        ("0/7: self.position == 7", "self.position was compiled in as 7", "tensor buffer"),
        ("0/0: L['self'].position == 7", "self.position was compiled in as 7", "tensor buffer"),
        ("0/0: L['position'] == 0", "argument position was compiled in as 0", "becomes open"),
        ("0/0: tensor 'x' dtype mismatch. expected Float, actual BFloat16", "BFloat16 in place of Float", "Cast"),
        ("0/0: tensor 'x' stride mismatch at index 0. expected 4, actual 1", "another layout", "contiguous"),
        ("0/0: something new", "A guard failed: something new", "See what it names"),
    ],
)
def test_a_failed_guard_is_said_in_words_with_its_fix(reason: str, cause: str, fix: str) -> None:
    found = explain_reason(reason)
    assert cause in found.cause
    assert fix in found.fix
    assert found.guard == reason.partition(": ")[2]


def test_item_and_fullgraph_have_one_cause() -> None:
    breaks = break_words("Unsupported Tensor.item() call with capture_scalar_outputs=False")
    assert breaks == break_words("Could not guard on data-dependent expression zuf0 > 3.0")
    assert breaks != break_words("a print")


def test_the_frame_stops_at_the_ninth_call_and_names_the_attribute() -> None:
    result = stopped_variant()
    stopped = limit_call(result)
    assert stopped is not None
    assert stopped.index == 8
    why = why_compiled(result, stopped)
    assert why is not None
    assert "self.position" in why.cause
    assert "from call 9 on" in headline(drawn_results())


def test_cold_start_parts_add_up_to_import_build_and_first_call() -> None:
    parts = start_parts(stopped_variant())
    assert parts["rest"] == 3 * MS
    assert sum(parts.values()) == (100 + 10 + 20) * MS


def test_payback_is_all_compiling_over_what_a_call_saves() -> None:
    assert payback_count(stopped_variant()) == 9 * 17
    slower = dataclasses.replace(stopped_variant(), eager=stopped_variant().steady)
    assert payback_count(slower) is None


def test_failed_guards_are_counted_by_what_they_are_about() -> None:
    assert failed_guards(stopped_variant()) == {"self.position == …": 8}


def test_notes_name_the_limit_and_what_is_missing() -> None:
    report = compilation_report(SETTINGS, drawn_results())
    assert any("limit of 8 compilations is reached at call 9" in note for note in report.notes)
    assert any("no working C++ compiler" in note for note in report.notes)
    assert report.table("variants")["graph_count"].tolist() == [8, 0]
    assert report.table("variants")["eager_call_count"].tolist() == [2, 0]


def test_whole_and_per_layer_are_told_side_by_side() -> None:
    whole = stopped_variant()
    first = dataclasses.replace(whole.calls[0], time_ns=5 * MS)
    layer = dataclasses.replace(
        whole, variant=dataclasses.replace(whole.variant, scope="layer"), calls=[first], steady=[]
    )
    (sentence,) = scope_sentences(ShapesResults(variants=[whole, layer]))
    assert "the first call takes 5.00 ms per layer and 20.0 ms as a whole, ×4.00" in sentence
    assert sentence in compilation_report(SETTINGS, ShapesResults(variants=[whole, layer])).notes
    assert scope_sentences(ShapesResults(variants=[whole])) == []
    assert "20.0 ms as a whole and 5.00 ms per layer" in headline(ShapesResults(variants=[whole, layer]))


def test_results_survive_the_file() -> None:
    assert results_from_json(json.loads(json.dumps(results_to_json(drawn_results())))) == drawn_results()


def test_a_run_pays_back_its_longer_start() -> None:
    eager = Facts(stage_ns={"build": 10, "warm_up": 0}, cold_start=ColdStart(first_call_ns=5), steady_latencies_ns=[10])
    fast = Facts(
        stage_ns={"build": 10, "warm_up": 0},
        cold_start=ColdStart(first_call_ns=95, compile_ns=90),
        steady_latencies_ns=[4],
    )
    assert run_start_parts(fast) == {"build": 10, "compile": 90, "first_call": 5, "warm_up": 0}
    assert first_answer_ns(fast) == 105
    assert run_payback_count(eager, fast) == 15
    assert run_payback_count(fast, eager) is None


def test_the_stages_of_a_compiled_run_add_up_to_its_start() -> None:
    cold = ColdStart(
        first_call_ns=95,
        compile_ns=90,
        compiler_import_ns=7,
        compile_stage_ns={"dynamo": 30, "aot_autograd": 20, "inductor": 25, "kernels": 5, "autotune": 0},
    )
    facts = Facts(stage_ns={"build": 10}, cold_start=cold)
    parts = run_start_parts(facts)
    assert parts == {
        "build": 10,
        "import": 7,
        "dynamo": 30,
        "aot_autograd": 20,
        "inductor": 25,
        "kernels": 5,
        "compile_rest": 10,
        "first_call": 5,
    }
    assert first_answer_ns(facts) == sum(parts.values())
    late = dataclasses.replace(facts, cold_start=dataclasses.replace(cold, compile_ns=60))
    assert run_start_parts(late) == {
        **{part: parts[part] for part in parts if part != "compile_rest"},
        "first_call": 15,
    }
    assert first_answer_ns(late) == sum(run_start_parts(late).values())
    assert set(parts) <= set(RUN_START_LABELS)
    assert set(RUN_START_LABELS.values()) <= set(PART_COLOURS)
    assert set(START_LABELS.values()) <= set(PART_COLOURS)


def test_a_crossing_is_tied_to_its_line_and_to_the_call() -> None:
    (found,) = crossings(stopped_variant())
    assert found.place == "a/x.py:9"
    assert "needs the value of a tensor" in found.reason
    assert found.median_ns == 0.75 * MS
    assert found.share_ratio == 0.375
    assert crossings(dataclasses.replace(stopped_variant(), breaks=[], steady=[]))[0].share_ratio is None


def test_trying_kernels_out_at_the_first_launch_is_no_rest() -> None:
    result = stopped_variant()
    first = dataclasses.replace(result.calls[0], launch_autotune_ns=2 * MS)
    parts = start_parts(dataclasses.replace(result, calls=[first, *result.calls[1:]]))
    assert (parts["autotune"], parts["rest"]) == (2 * MS, MS)


def test_an_eager_trace_has_no_guards_and_a_compiled_one_has() -> None:
    eager = compilation_trace_report(read_trace(SAMPLES / "h200-eager" / "trace.json.gz"))
    compiled = compilation_trace_report(read_trace(SAMPLES / "h200-compile" / "trace.json.gz"))
    assert eager.value("look_up_count") is None
    assert eager.metric("look_up_count").reason
    assert (compiled.value("look_up_count"), compiled.value("region_count")) == (3, 1)
    assert compiled.value("recompile_count") == 0


def test_the_command_tells_calls_and_reasons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_shapes(tmp_path / "shapes")
    assert main(["shapes", str(tmp_path / "shapes")]) == 0
    told = capsys.readouterr().out
    assert "self.position was compiled in as 7" in told
    assert "fullgraph=True refuses at line 9" in told
    assert main(["shapes", str(tmp_path / "shapes"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["variants"][0]["limit_step"] == 9


def test_the_command_refuses_other_recordings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shapes", str(SAMPLES / "h200-eager")]) == 3
    assert "no experiment with shapes" in capsys.readouterr().err
