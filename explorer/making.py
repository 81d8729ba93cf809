"""How does a command make a recording? It submits the settings, tells of progress on standard error and waits."""

from __future__ import annotations

import sys
from pathlib import Path

from explorer.errors import RunError
from explorer.experiments import ExperimentSettings
from explorer.launch import JobStatus, Launcher
from explorer.settings import STAGE_LABELS
from explorer.units import text


def make_recording(settings: ExperimentSettings, folder: Path) -> None:
    """Makes the experiment into `folder`; raises RunError when it did not finish, and cancels it at Ctrl-C."""
    launcher = Launcher()
    run_id = launcher.submit(settings, folder)
    try:
        status = _follow(launcher, run_id)
    except KeyboardInterrupt:
        launcher.cancel(run_id)
        launcher.wait(run_id, 5)
        raise
    if status.state != "finished":
        raise RunError(f"The {settings.experiment} {status.state}: {status.message} The recording is in {folder}.")


def _follow(launcher: Launcher, run_id: str) -> JobStatus:
    told: set[str] = set()
    for change, status in enumerate(launcher.follow(run_id)):
        if status.place_in_queue and change > 0 and "queue" not in told:  # every run is queued for a moment
            told.add("queue")
            print("waiting for the device: another run is measuring on it", file=sys.stderr)
        for stage in status.stages:
            if stage.state == "finished" and stage.stage not in told:
                told.add(stage.stage)
                label = STAGE_LABELS.get(stage.stage, stage.stage)
                print(f"{label:<12} {text(stage.elapsed_ns, 'ns'):>10}", file=sys.stderr)
        for note in status.notes:
            if note not in told:
                told.add(note)
                print(f"note: {note}", file=sys.stderr)
    return status
