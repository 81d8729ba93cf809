"""A recording's folder: read back as written, and honest about how far its run came."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest

from explorer.errors import RecordingError
from explorer.facts import Correctness, Environment, Facts, Failure, RunState, facts_to_json
from explorer.recording import (
    END_FILE,
    FACTS_FILE,
    WAITING_FILE,
    Progress,
    Recording,
    create_recording,
    open_recording,
    write_json,
)
from explorer.settings import RunSettings

NO_SUCH_PROCESS = 2**22 + 1


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return create_recording(tmp_path / "run", RunSettings())


def test_what_was_written_is_read_back(recording: Recording) -> None:
    facts = Facts(
        state="finished",
        environment=Environment(device_name="NVIDIA H200", python_version="3.12", torch_version="2.11"),
        correctness=Correctness(
            logits_error_ratio=0.004,
            kv_cache_error_ratio=0.002,
            token_agreement_ratio=1.0,
            compared_token_count=8,
            error_limit_ratio=0.02,
            passed=True,
        ),
        steady_latencies_ns=[3, 1, 2],
    )
    write_json(recording.folder / FACTS_FILE, facts_to_json(facts))
    assert recording.facts() == facts
    assert recording.settings() == RunSettings()
    assert recording.state() == "finished"
    assert recording.failure() is None


@pytest.mark.parametrize(
    ("facts", "end", "state"),
    [
        (None, None, "running"),
        (None, {"exit_code": 1}, "failed"),
        ({"state": "running", "process_id": os.getpid()}, None, "running"),
        ({"state": "running", "process_id": NO_SUCH_PROCESS}, None, "lost"),
        ({"state": "running", "stage": "steady"}, {"exit_code": -9, "message": "Killed."}, "failed"),
        ({"state": "running", "stage": "steady"}, {"exit_code": -15, "cancelled": True}, "cancelled"),
        ({"state": "failed"}, {"exit_code": 1}, "failed"),
    ],
)
def test_state_follows_from_both_writers(
    recording: Recording, facts: dict[str, object] | None, end: dict[str, object] | None, state: RunState
) -> None:
    if facts is not None:
        write_json(recording.folder / FACTS_FILE, {"format_version": 1, **facts})
    if end is not None:
        write_json(recording.folder / END_FILE, end)
    assert recording.state() == state
    assert (recording.failure() is None) == (state in ("running", "finished"))


@pytest.mark.parametrize("is_gone", [True, False], ids=["gone", "another process bears its number"])
def test_a_run_whose_starter_is_gone_is_lost(recording: Recording, is_gone: bool) -> None:
    starter = {"process_id": NO_SUCH_PROCESS if is_gone else os.getpid(), "since_unix_s": time.time() if is_gone else 1}
    write_json(recording.folder / WAITING_FILE, starter)
    failure = recording.failure()
    assert recording.state() == "lost"
    assert failure is not None
    assert "never started" in failure.message


def test_a_worker_s_number_on_another_process_is_not_the_worker(recording: Recording) -> None:
    facts = {"format_version": 1, "state": "running", "process_id": os.getpid(), "started_unix_s": 1.0}
    write_json(recording.folder / FACTS_FILE, facts)
    assert recording.state() == "lost"


def test_failure_of_a_killed_worker_names_the_stage(recording: Recording) -> None:
    write_json(recording.folder / FACTS_FILE, {"format_version": 1, "state": "running", "stage": "steady"})
    write_json(recording.folder / END_FILE, {"exit_code": -9, "message": "The worker was killed by SIGKILL."})
    failure = recording.failure()
    assert failure is not None
    assert failure.stage == "steady"
    assert "SIGKILL" in failure.message


@pytest.mark.parametrize(
    ("facts", "end", "said"),
    [
        ({"state": "running", "process_id": os.getpid()}, None, "still going on"),
        ({"state": "running", "stage": "steady"}, {"exit_code": -9, "message": "Killed."}, "stopped at steady.*Killed"),
        ({"state": "finished"}, {"exit_code": 0}, "its trace.json.gz is gone"),
    ],
    ids=["running", "failed", "finished"],
)
def test_a_missing_trace_has_its_reason(
    recording: Recording, facts: dict[str, object], end: dict[str, object] | None, said: str
) -> None:
    write_json(recording.folder / FACTS_FILE, {"format_version": 1, **facts})
    if end is not None:
        write_json(recording.folder / END_FILE, end)
    assert re.search(said, recording.why_no_trace())


def test_the_engine_s_own_word_wins(recording: Recording) -> None:
    said = Failure(stage="build", kind="out_of_memory", message="140 GB needed, 12 GB free.")
    write_json(recording.folder / FACTS_FILE, facts_to_json(Facts(state="failed", failure=said)))
    write_json(recording.folder / END_FILE, {"exit_code": 1, "message": "exit code 1"})
    assert recording.failure() == said


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "damaged"),
        ("[]", "damaged"),
        ('{"format_version": 99}', "update the program"),
        ("{}", "format version"),
        ('{"format_version": 1, "colour": "red"}', "malformed"),
        ('{"format_version": 1, "environment": {"colour": "red"}}', "malformed"),
    ],
)
def test_unreadable_facts_are_one_clear_error(recording: Recording, content: str, problem: str) -> None:
    (recording.folder / FACTS_FILE).write_text(content)
    with pytest.raises(RecordingError, match=problem):
        recording.facts()


def test_a_folder_without_settings_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="explorer run"):
        open_recording(tmp_path)


def test_writing_leaves_no_draft_behind(recording: Recording) -> None:
    write_json(recording.folder / FACTS_FILE, {"format_version": 1})
    assert sorted(path.name for path in recording.folder.iterdir()) == ["facts.json", "settings.json", "waiting.json"]


def test_progress_survives_its_line_and_noise_is_no_progress() -> None:
    progress = Progress(kind="count", stage="steady", done=0, total=30)
    assert Progress.from_line(progress.to_line()) == progress
    assert "text" not in json.loads(progress.to_line())
    assert Progress.from_line("Autotune finished") is None
    assert Progress.from_line('{"unknown": 1}') is None
    assert Progress.from_line("[1]") is None
