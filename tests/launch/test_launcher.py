"""Jobs as a page sees them: started, followed, queued, cancelled, and never lost. Workers are small scripts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.errors import RecordingError, SettingsError
from explorer.launch import JobStatus, Launcher, recorded_status
from explorer.recording import open_recording
from explorer.settings import RunSettings

ROOT = Path(__file__).parents[2]
TINY = RunSettings(model="tiny", device="cpu")
MakeLauncher = Callable[[str], Launcher]


@pytest.fixture
def launcher_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeLauncher:
    """A launcher whose worker is the given Python text; its lock files are this test's own."""
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))

    def make(worker: str) -> Launcher:
        script = tmp_path / "worker.py"
        script.write_text(worker)
        return Launcher((sys.executable, str(script)))

    return make


def until(launcher: Launcher, run_id: str, reached: Callable[[JobStatus], bool]) -> JobStatus:
    for status in launcher.follow(run_id):
        if reached(status):
            return status
    raise AssertionError(f"the job ended before: {launcher.status(run_id)}")


SLEEPER = """
import json, sys, time
print(json.dumps({"kind": "stage_started", "stage": "build"}), flush=True)
time.sleep(60)
"""


def test_stages_fill_with_the_worker_s_times(launcher_of: MakeLauncher, tmp_path: Path) -> None:
    launcher = launcher_of(
        """
import json
print("a library says hello")
print(json.dumps({"kind": "stage_started", "stage": "environment"}))
print(json.dumps({"kind": "stage_finished", "stage": "environment", "elapsed_ns": 12}))
print(json.dumps({"kind": "stage_started", "stage": "steady"}))
print(json.dumps({"kind": "count", "stage": "steady", "done": 3, "total": 30}))
print(json.dumps({"kind": "note", "text": "efficient attention expands the heads"}))
"""
    )
    status = launcher.wait(launcher.submit(TINY, tmp_path / "run"), 20)
    by_stage = {stage.stage: stage for stage in status.stages}
    assert status.state == "finished"
    assert by_stage["environment"].elapsed_ns == 12
    assert (by_stage["steady"].done, by_stage["steady"].total) == (3, 30)
    assert by_stage["profile"].state == "waiting"
    assert status.notes == ("efficient attention expands the heads",)


def test_the_worker_gets_the_settings_that_were_asked(launcher_of: MakeLauncher, tmp_path: Path) -> None:
    launcher = launcher_of(
        """
import json, pathlib, sys
asked = json.loads((pathlib.Path(sys.argv[1]) / "settings.json").read_text())
print(json.dumps({"kind": "note", "text": asked["model"]}))
"""
    )
    assert launcher.wait(launcher.submit(TINY, tmp_path / "run"), 20).notes == ("tiny",)


def test_a_second_run_waits_its_turn_and_then_runs(launcher_of: MakeLauncher, tmp_path: Path) -> None:
    launcher = launcher_of(
        "import pathlib, sys, time\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "while folder.name != 'third' and not (folder / 'go').exists(): time.sleep(0.02)\n"
    )
    first, second, third = (launcher.submit(TINY, tmp_path / name) for name in ("first", "second", "third"))
    until(launcher, first, lambda status: status.state == "running")
    assert launcher.status(second).place_in_queue == 1
    assert launcher.status(third).place_in_queue == 2
    assert [status.run_id for status in launcher.active()] == ["first", "second", "third"]
    launcher.cancel(second)
    assert launcher.status(second).state == "cancelled"
    assert launcher.status(third).place_in_queue == 1
    (tmp_path / "first" / "go").touch()
    assert launcher.wait(third, 20).state == "finished"
    assert not (tmp_path / "second" / "worker.log").exists()


def test_cancelling_ends_the_whole_process_group_at_once(launcher_of: MakeLauncher, tmp_path: Path) -> None:
    launcher = launcher_of(
        """
import json, pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"
child = subprocess.Popen([sys.executable, "-c", deaf])
print(json.dumps({"kind": "note", "text": str(child.pid)}), flush=True)
print(json.dumps({"kind": "stage_started", "stage": "build"}), flush=True)
time.sleep(60)
"""
    )
    run_id = launcher.submit(TINY, tmp_path / "run")
    child = until(launcher, run_id, lambda status: status.stages[1].state == "running").notes[0]
    launcher.cancel(run_id)
    status = launcher.wait(run_id, 30)  # half a second where the machine is free; the worker sleeps for 60
    assert (status.state, status.stages[1].state) == ("cancelled", "failed")
    until_s = time.monotonic() + 20
    while _runs(child) and time.monotonic() < until_s:
        time.sleep(0.02)  # killed, but on a busy machine not yet gone
    assert not _runs(child)
    assert open_recording(tmp_path / "run").state() == "cancelled"


def _runs(process_id: str) -> bool:
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_killed_worker_leaves_a_recording_that_names_its_stage(launcher_of: MakeLauncher, tmp_path: Path) -> None:
    launcher = launcher_of(
        """
import json, os, pathlib, sys
facts = {"format_version": 1, "state": "running", "stage": "build", "process_id": os.getpid()}
(pathlib.Path(sys.argv[1]) / "facts.json").write_text(json.dumps(facts))
print(json.dumps({"kind": "stage_started", "stage": "build"}), flush=True)
os.kill(os.getpid(), 9)
"""
    )
    status = launcher.wait(launcher.submit(TINY, tmp_path / "run"), 20)
    failure = open_recording(tmp_path / "run").failure()
    assert status.state == "failed"
    assert "SIGKILL" in status.message
    assert failure is not None
    assert (failure.stage, failure.kind) == ("build", "crash")
    assert "SIGKILL" in failure.message
    assert recorded_status(open_recording(tmp_path / "run")).stages[1].state == "failed"


def test_a_worker_that_cannot_start_says_why_in_the_log(launcher_of: MakeLauncher, tmp_path: Path) -> None:
    launcher = launcher_of("import no_such_module_here")
    status = launcher.wait(launcher.submit(TINY, tmp_path / "run"), 20)
    assert status.state == "failed"
    assert "no_such_module_here" in status.log_tail


def test_a_missing_interpreter_is_a_failed_job_and_not_a_dead_launcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))  # another run may hold this machine's turn
    launcher = Launcher((str(tmp_path / "no-such-python"),))
    assert "could not be started" in launcher.wait(launcher.submit(TINY, tmp_path / "run"), 20).message
    assert launcher.wait(launcher.submit(TINY, tmp_path / "again"), 20).state == "failed"


def test_two_launchers_never_measure_one_device_at_once(launcher_of: MakeLauncher, tmp_path: Path) -> None:
    first, second = launcher_of(SLEEPER), launcher_of(SLEEPER)
    running = first.submit(TINY, tmp_path / "first")
    until(first, running, lambda status: status.stages[1].state == "running")
    waiting = second.submit(TINY, tmp_path / "second")
    time.sleep(0.3)
    assert second.status(waiting).state == "queued"
    behind = second.submit(TINY, tmp_path / "behind")
    assert [second.status(run_id).place_in_queue for run_id in (waiting, behind)] == [1, 2]
    second.cancel(behind)
    first.cancel(running)
    until(second, waiting, lambda status: status.state == "running")
    second.cancel(waiting)
    assert second.wait(waiting, 20).state == "cancelled"


def test_a_worker_keeps_its_turn_when_its_launcher_dies(launcher_of: MakeLauncher, tmp_path: Path) -> None:
    second = launcher_of(SLEEPER)
    (tmp_path / "dying.py").write_text(
        f"""
import os, sys, tempfile
from pathlib import Path
tempfile.gettempdir = lambda: {str(tmp_path)!r}
from explorer.launch import Launcher
from explorer.settings import RunSettings
launcher = Launcher((sys.executable, {str(tmp_path / "worker.py")!r}))
run_id = launcher.submit(RunSettings(model="tiny", device="cpu"), Path({str(tmp_path / "first")!r}))
for status in launcher.follow(run_id):
    if status.stages[1].state == "running":
        print(launcher._jobs[run_id].process.pid, flush=True)
        os._exit(0)
"""
    )
    command = [sys.executable, str(tmp_path / "dying.py")]
    died = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True, timeout=60
    )
    waiting = second.submit(TINY, tmp_path / "second")
    time.sleep(0.5)
    assert second.status(waiting).state == "queued"
    os.killpg(int(died.stdout), signal.SIGKILL)
    until(second, waiting, lambda status: status.state == "running")
    second.cancel(waiting)
    assert second.wait(waiting, 20).state == "cancelled"


def test_what_a_worker_leaves_in_its_temporary_folder_goes_with_it(launcher_of: MakeLauncher, tmp_path: Path) -> None:
    launcher = launcher_of(
        """
import os, pathlib, sys, tempfile
pathlib.Path(tempfile.mkdtemp(), "cache").write_text("large")
pathlib.Path(sys.argv[1], "where").write_text(tempfile.gettempdir())
os.kill(os.getpid(), 9)
"""
    )
    launcher.wait(launcher.submit(TINY, tmp_path / "run"), 20)
    scratch = Path((tmp_path / "run" / "where").read_text())
    deadline_s = time.monotonic() + 20
    while scratch.exists() and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert scratch.name.startswith("kernel-explorer-")
    assert not scratch.exists()


def test_a_run_whose_folder_is_gone_ends_all_the_same(launcher_of: MakeLauncher, tmp_path: Path) -> None:
    launcher = launcher_of("import shutil, sys; shutil.rmtree(sys.argv[1])")
    status = launcher.wait(launcher.submit(TINY, tmp_path / "run"), 20)
    assert status.state == "finished"
    assert "could not be written" in status.message
    assert launcher.active() == []


def test_invalid_settings_are_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="CUDA device"):
        Launcher().submit(RunSettings(device="cpu", mode="cuda_graph"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_folder_with_a_recording_is_not_overwritten(launcher_of: MakeLauncher, tmp_path: Path) -> None:
    launcher = launcher_of("")
    launcher.wait(launcher.submit(TINY, tmp_path / "run"), 20)
    with pytest.raises(RecordingError, match="already holds"):
        launcher.submit(TINY, tmp_path / "run")
