"""Does a worker process leave a complete recording, or one that says where and why it stopped?"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from explorer.engine.run import attention_mismatch
from explorer.model_shapes import TINY
from explorer.recording import Progress, Recording, create_recording
from explorer.settings import RunSettings
from explorer.shapes_results import STAGES

EngineRun = tuple[Recording, int, list[Progress | None]]
RunEngine = Callable[..., EngineRun]
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow  # each run is a process that imports torch

SHORT = {"warmup_steps": 1, "measured_steps": 4, "profiled_steps": 2}


@pytest.fixture(scope="module")
def eager_run(run_engine: RunEngine) -> EngineRun:
    return run_engine(**SHORT)


def trace_events(recording: Recording) -> list[dict[str, Any]]:
    with gzip.open(recording.trace_path, "rt") as file:
        events: list[dict[str, Any]] = json.load(file)["traceEvents"]
    return events


def test_finished_run_leaves_complete_facts(eager_run: EngineRun) -> None:
    recording, exit_code, _ = eager_run
    facts = recording.facts()
    assert (exit_code, facts.state, facts.stage) == (0, "finished", "profile")
    unknown = {field.name for field in fields(facts) if getattr(facts, field.name) is None}
    assert unknown == {"peak_memory_bytes", "failure"}
    assert tuple(facts.stage_ns) == RunSettings.stages
    assert len(facts.steady_latencies_ns) == 4
    assert facts.parameter_count == TINY.parameter_count
    assert facts.correctness is not None
    assert facts.correctness.passed


def test_profile_counts_the_same_operators_in_every_step(eager_run: EngineRun) -> None:
    profile = eager_run[0].facts().profile
    assert profile is not None
    assert len(profile.kernel_counts) == len(profile.step_latencies_ns) == 2
    assert profile.kernel_counts[0] == profile.kernel_counts[1] > 300
    steady_latencies_ns = eager_run[0].facts().steady_latencies_ns
    assert profile.slowdown_ratio == median(profile.step_latencies_ns) / median(steady_latencies_ns)
    assert profile.note == ""


def test_trace_has_step_annotations_with_layers_inside(eager_run: EngineRun) -> None:
    events = [event for event in trace_events(eager_run[0]) if event.get("cat") == "user_annotation"]
    assert Counter(event["name"] for event in events) == Counter(
        {"step#0": 1, "step#1": 1, **{f"layer#{index}": 2 for index in range(TINY.layer_count)}}
    )
    steps = {event["name"]: event for event in events if event["name"].startswith("step")}
    assert steps["step#0"]["ts"] + steps["step#0"]["dur"] <= steps["step#1"]["ts"]


def test_trace_records_shapes(eager_run: EngineRun) -> None:
    linear = next(event for event in trace_events(eager_run[0]) if event.get("name") == "aten::linear")
    assert linear["args"]["Input Dims"][0] == [1, 1, TINY.hidden_size]


def test_progress_tells_the_stages_in_order_and_nothing_else(eager_run: EngineRun) -> None:
    lines = eager_run[2]
    told = [line for line in lines if line is not None]
    assert len(told) == len(lines)
    changes = [(line.kind, line.stage) for line in told if line.kind.startswith("stage_")]
    assert changes == [(kind, stage) for stage in RunSettings.stages for kind in ("stage_started", "stage_finished")]
    assert all(line.elapsed_ns for line in told if line.kind == "stage_finished")
    assert [(line.done, line.total) for line in told if line.stage == "steady" and line.kind == "count"][-1] == (4, 4)
    assert told[-1].kind == "finished"


def test_attention_that_ran_is_recorded_beside_the_request(run_engine: RunEngine) -> None:
    facts = run_engine(attention="math", **SHORT)[0].facts()
    assert facts.attention_requested == "math"
    assert facts.attention_chosen == "math"
    assert facts.attention_kernels == ["aten::_scaled_dot_product_attention_math"]
    assert facts.notes == []


@pytest.mark.parametrize(
    ("fields", "kernels", "said"),
    [
        ({"attention": "auto"}, ["flash_fwd_kernel"], ""),
        ({"attention": "flash"}, ["flash_fwd_kernel"], ""),
        ({"attention": "flash"}, [], "the profiled steps show no known attention kernel"),
        ({"attention": "math", "mode": "compile"}, [], ""),
        ({"attention": "math", "mode": "compile"}, ["flash_fwd_kernel"], "the profiled steps show flash"),
        ({"attention": "math"}, [], "the profiled steps show no known attention kernel"),
    ],
)
def test_attention_that_did_not_run_is_noted(fields: dict[str, Any], kernels: list[str], said: str) -> None:
    note = attention_mismatch(RunSettings(**fields), kernels)
    assert said in note
    assert bool(note) == bool(said)


def test_run_with_local_weights_takes_their_shape(
    run_engine: RunEngine, save_hugging_face_model: Callable[..., tuple[Any, Path]]
) -> None:
    model, folder = save_hugging_face_model()
    facts = run_engine(weights_folder=str(folder), dtype="float32", **SHORT)[0].facts()
    assert facts.state == "finished"
    assert facts.parameter_count == sum(parameter.numel() for parameter in model.parameters())


def test_prefill_run_finishes(run_engine: RunEngine) -> None:
    facts = run_engine(phase="prefill", context_tokens=64, joined_projections=True, **SHORT)[0].facts()
    assert facts.state == "finished"
    assert facts.tokens_per_step == 64
    assert facts.correctness is not None
    assert facts.correctness.passed


@pytest.mark.parametrize("scope", ["model", "layer"])
def test_compiled_run_is_correct_and_shows_its_fused_kernels(run_engine: RunEngine, scope: str) -> None:
    recording, exit_code, _ = run_engine(mode="compile", compile_scope=scope, **SHORT)
    facts = recording.facts()
    assert exit_code == 0, facts.failure
    assert facts.cold_start is not None
    assert facts.cold_start.first_call_ns is not None
    assert facts.cold_start.compile_ns is not None
    stages = facts.cold_start.compile_stage_ns
    assert set(stages) == set(STAGES)
    assert stages["dynamo"] > 0
    assert 0 < sum(stages.values()) <= facts.cold_start.compile_ns <= facts.cold_start.first_call_ns
    assert facts.cold_start.compiler_import_ns is not None
    assert facts.correctness is not None
    assert facts.correctness.passed
    assert facts.correctness.note.startswith("The step that is measured")
    names = {event.get("name", "") for event in trace_events(recording)}
    assert any("cpp_fused" in name for name in names)
    assert ("layer#0" in names) == (scope == "layer")


@pytest.mark.parametrize(
    ("settings", "kind", "stage", "said"),
    [
        ({"device": "cuda"}, "unsupported", "environment", "finds no CUDA device"),
        ({"mode": "cuda_graph"}, "unsupported", "start", "need a CUDA device"),
        ({"weights_folder": "nowhere"}, "unsupported", "build", "config.json is missing"),
        ({"model": "qwen3-8b", "batch_size": 4096, "cache_tokens": 131072}, "out_of_memory", "build", "qwen3-8b needs"),
    ],
)
def test_refused_run_says_where_and_why(
    run_engine: RunEngine, settings: dict[str, Any], kind: str, stage: str, said: str
) -> None:
    recording, exit_code, lines = run_engine(**settings)
    failure = recording.failure()
    assert failure is not None
    assert (exit_code, recording.state(), failure.kind, failure.stage) == (1, "failed", kind, stage)
    assert said in failure.message
    last = lines[-1]
    assert last is not None
    assert (last.kind, last.text) == ("failed", failure.message)


def test_run_that_nobody_waits_for_any_more_ends(tmp_path: Path) -> None:
    recording = create_recording(tmp_path / "run", RunSettings(measured_steps=10_000))
    command = [sys.executable, "-m", "explorer.engine", str(recording.folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert "stage_started" in worker.stdout.readline()
        worker.stdout.close()
        assert worker.wait(60) == 1
    failure = recording.failure()
    assert recording.state() == "cancelled"
    assert failure is not None
    assert "What started this run ended during" in failure.message


def test_crash_keeps_what_was_measured_before_it(run_engine: RunEngine) -> None:
    recording, exit_code, _ = run_engine(occupied="trace.json.gz", **SHORT)
    failure = recording.failure()
    assert failure is not None
    assert (exit_code, failure.kind, failure.stage) == (1, "crash", "profile")
    assert "IsADirectoryError" in failure.message
    assert len(recording.facts().steady_latencies_ns) == 4
    assert "Traceback" in recording.log_path.read_text()


def test_folder_that_is_no_recording_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "explorer.engine", str(tmp_path)],
        cwd=ROOT,
        env=dict(os.environ),
        check=False,
        capture_output=True,
        text=True,
    )
    line = Progress.from_line(done.stdout)
    assert done.returncode == 1
    assert line is not None
    assert line.kind == "failed"
    assert "is not a recording" in line.text
    assert list(tmp_path.iterdir()) == []
