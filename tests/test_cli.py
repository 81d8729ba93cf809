"""The command line as a person or a script uses it: answers on stdout, progress and errors on stderr, exit codes."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from explorer.analysis.idle import PARTS
from explorer.cli import main
from explorer.settings import RunSettings
from tests.drawing import drawn_document
from tests.shared import SHARED
from tests.ui.drawn import write_recording

SAMPLES = Path(__file__).parents[1] / "traces" / "samples"


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_buckets_prints_vllm_s_list_and_pads_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    answer = json_of(capsys, "buckets", "--rule", "vllm", "--max", "512", "--batch", "257", "513")
    assert len(answer["lists"][0]["sizes"]) == 51
    assert answer["batches"] == [
        {"rule": "vllm", "batch": 257, "bucket": 272, "padding": 15, "waste_ratio": 0.0551},
        {"rule": "vllm", "batch": 513, "bucket": None, "padding": None, "waste_ratio": None},
    ]


def test_buckets_takes_several_rules_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    answer = json_of(capsys, "buckets", "--rule", "sglang", "--rule", "powers", "--max", "256")
    assert [(entry["rule"], len(entry["sizes"])) for entry in answer["lists"]] == [("sglang", 36), ("powers", 9)]


def test_buckets_follow_from_the_running_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert json_of(capsys, "buckets", "--max-num-seqs", "3")["lists"][0]["sizes"] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["buckets", "--rule", "sglang"], "give --max"),
        (["buckets", "--max", "0"], "--max is 0"),
        (["buckets", "--rule", "sglang", "--max", "8", "--max-num-seqs", "3"], "--max-num-seqs changes the vllm list"),
        (["buckets", "--rule", "powers", "--max", "8", "--batched-tokens", "9"], "--batched-tokens changes the vllm"),
        (["buckets", "--request-pool", "3"], "--request-pool changes the sglang list"),
        (["buckets", "--max", "8", "--batch", "0"], "from 1"),
        (["run", "--out", "x", "--device", "cpu", "--mode", "cuda_graph"], "CUDA device"),
        (["run", "--out", "x", "--model", "gpt-5"], "choose one of tiny"),
        (["run", "--out", "x", "--device", "cpu", "--cache", "0"], "cache_tokens is 0"),
        (["run", "--out", "x", "--function", "m:f", "--mode", "compile", "--batch", "7"], "leave out --mode, --batch"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["run", "--batch", "abc", "--out", "x"], "invalid int value: 'abc'"), (["run"], "--out"), (["fly"], "'fly'")],
)
def test_arguments_that_cannot_be_read_are_one_line_as_well(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    printed = capsys.readouterr()
    assert left.value.code == 2
    assert said in printed.err
    assert printed.err.count("\n") == 1


def test_presets_name_every_model_with_its_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets"]) == 0
    assert "qwen3-0.6b   0.596 billion parameters" in capsys.readouterr().out


@pytest.fixture(scope="module")
def eager_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run of the tiny model on the CPU, made as a person would make it."""
    return _recorded(tmp_path_factory.mktemp("runs") / "eager", "--mode", "eager")


def _recorded(folder: Path, *options: str) -> Path:
    tiny = ("--model", "tiny", "--device", "cpu", "--dtype", "float32", "--context", "16", "--measured-steps", "5")
    command = [sys.executable, "-m", "explorer.cli", "run", "--out", str(folder), *tiny, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(folder)
    assert "cold start" in done.stderr
    return folder


@pytest.mark.slow
def test_a_run_on_the_cpu_is_recorded_and_reported(eager_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = json_of(capsys, "report", str(eager_run))
    metrics = answer["cpu"]["metrics"]
    assert answer["window"] == "steps"
    assert len(answer["cpu"]["steps"]) == 3
    assert answer["devices"] == []
    assert metrics["busy_ns"] + metrics["idle_ns"] == metrics["span_ns"]
    assert answer["run"]["facts"]["correctness"]["passed"]
    assert main(["report", str(eager_run)]) == 0
    assert "step, without the profiler" in capsys.readouterr().out


@pytest.mark.slow
def test_eager_and_compiled_runs_are_compared(
    eager_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled = _recorded(tmp_path / "compiled", "--mode", "compile", "--compile-scope", "layer")
    answer = json_of(capsys, "compare", str(eager_run), str(compiled))
    deltas = {delta["key"]: delta for delta in answer["deltas"]}
    assert answer["is_fair"]
    assert [entry["key"] for entry in answer["differences"]] == ["compile_scope", "mode"]
    assert deltas["kernels_per_step"]["b"] < deltas["kernels_per_step"]["a"]
    assert main(["compare", str(eager_run), str(compiled)]) == 0
    assert "mode: eager → compile" in capsys.readouterr().out


@pytest.mark.skipif(not SHARED.exists(), reason="the shared traces are not beside this checkout")
def test_report_of_a_trace_file_has_every_part_of_every_device(capsys: pytest.CaptureFixture[str]) -> None:
    answer = json_of(capsys, "report", str(SHARED / "cases" / "00-control" / "trace.json"), "--window", "trace")
    metrics = answer["devices"][0]["metrics"]
    assert (answer["window"], answer["devices"][0]["device"]) == ("trace", "0")
    assert (metrics["span_ns"], metrics["busy_ns"], metrics["idle_ns"]) == (155_000, 130_000, 25_000)
    assert sum(metrics[f"{part}_ns"] for part in PARTS) == metrics["idle_ns"]


@pytest.mark.parametrize(("content", "exit_code"), [(None, 4), ("not a trace", 4)])
def test_a_path_that_is_no_trace_is_one_clear_line(
    content: str | None, exit_code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.json"
    if content is not None:
        path.write_text(content)
    assert main(["report", str(path)]) == exit_code
    error = capsys.readouterr().err
    assert error.startswith("explorer: ")
    assert "trace.json" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [("h200-sweep", "`explorer sweep"), ("h200-attention", "`explorer attention"), ("h200-gallery", "Fusion page")],
)
def test_another_experiment_says_what_reads_it(name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(SAMPLES / name)]) != 0
    assert said in capsys.readouterr().err


def test_a_report_of_a_broken_file_names_what_has_no_place_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the stream ends early is known of the text only, not of the compressed file."""
    path = tmp_path / "trace.json.gz"
    document = drawn_document("host A....B...\nstream 7 .aa...bb.")
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": [17, *document["traceEvents"]]}).encode())[:-9])
    assert main(["report", str(path)]) == 0
    rows = capsys.readouterr().out.partition("What reading repaired or left out")[2]
    (damaged,) = [row.split() for row in rows.splitlines() if row.startswith("  gzip_damaged")]
    (odd,) = [row.split() for row in rows.splitlines() if row.startswith("  odd_event")]
    assert (damaged[-2:], odd[-2:]) == (["1", "–"], ["1", "17"])


def test_a_report_begins_with_what_ran_and_how_right_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(SAMPLES / "h200-best")]) == 0
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert first.startswith("qwen3-0.6b · batch 1 · compile + CUDA graph · joined · autotuned · flash attention")
    assert "NVIDIA H200" in first
    assert second.startswith("results correct: logits 1.3 % off eager float32")


def test_a_folder_without_a_recording_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 3
    assert "explorer run" in capsys.readouterr().err


def test_a_wrong_run_is_said_to_be_wrong_before_its_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = RunSettings(model="qwen3-0.6b", device="cuda", mode="eager")
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    write_recording(right, settings)
    write_recording(wrong, settings, passed=False)
    assert main(["report", str(wrong)]) == 0
    assert capsys.readouterr().out.startswith(f"This run computes wrong results ({wrong})")
    assert main(["compare", str(right), str(wrong)]) == 0
    assert capsys.readouterr().out.startswith(f"B computes wrong results ({wrong})")
    assert json_of(capsys, "compare", str(right), str(wrong))["wrong_results"] == ["b"]
    assert json_of(capsys, "compare", str(right), str(right))["wrong_results"] == []


TWO_DEVICES = """
    host          AB..CD..
    stream 7      .aa..c..
    gpu1 stream 7 ..b...d.
"""


@pytest.mark.parametrize(
    ("drawing", "window"),
    [
        (TWO_DEVICES, "the whole trace of device 0, the first of 2"),
        ("host 1 ~", "no GPU work and no operators"),
        ("", "an empty trace"),
    ],
    ids=["two devices", "none", "empty"],
)
def test_traces_of_any_number_of_devices_are_compared(
    drawing: str, window: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(drawn_document(drawing)))
    assert json_of(capsys, "compare", str(path), str(path))["b"]["window"] == window
    assert main(["compare", str(path), str(path)]) == 0
    assert f"A: {window}" in capsys.readouterr().out


def test_two_sides_are_compared_by_one_window_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same_work = "host A....B...\nstream 7 .aa...bb."
    for name, marks in (("marked", "steps 000001111\n"), ("unmarked", "")):
        (tmp_path / name).write_text(json.dumps(drawn_document(marks + same_work)))
    marked, unmarked = str(tmp_path / "marked"), str(tmp_path / "unmarked")
    mixed = json_of(capsys, "compare", marked, unmarked)
    assert mixed["finding"].startswith("Both whole traces take the same")
    assert {delta["key"] for delta in mixed["deltas"] if delta["change"]} == set()
    assert mixed["a"]["window"] == mixed["b"]["window"] == "the whole trace of device 0"
    assert main(["compare", marked, unmarked]) == 0
    assert mixed["note"] in capsys.readouterr().out
    alike = json_of(capsys, "compare", marked, marked)
    assert (alike["a"]["window"], alike["note"]) == ("profiled steps of device 0", "")
