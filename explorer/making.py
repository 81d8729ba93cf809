"""How does a command make a recording, and tell about one? It submits the settings, tells of progress on standard
error and waits; what was found goes to standard output, as lines or as one object.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from explorer.errors import RunError, SettingsError
from explorer.experiments import ExperimentSettings
from explorer.launch import JobStatus, Launcher
from explorer.settings import STAGE_LABELS
from explorer.units import text

Answers = tuple[Callable[[Path], str], Callable[[Path], Any]]
"""What a recording's folder says: as lines for a person, as an object for a program."""


def make_or_tell(
    chosen: argparse.Namespace,
    settings_of: Callable[[argparse.Namespace], ExperimentSettings],
    answers: Callable[[], Answers],
) -> int:
    """Makes the experiment into `chosen.out` or tells about `chosen.recording`, and returns the exit code.

    `answers` imports the analysis only when it is needed: a bare GPU machine has torch and numpy only. Raises
    SettingsError unless exactly one of the two is given.
    """
    if (chosen.recording is None) == (chosen.out is None):
        raise SettingsError("Give a recording to tell about, or --out and a new folder to measure into.")
    if chosen.out is not None:
        make_recording(settings_of(chosen), chosen.out)
        if not chosen.json:
            print(chosen.out)
            return 0
    folder = chosen.recording or chosen.out
    lines, as_object = answers()
    if chosen.json:
        json.dump(as_object(folder), sys.stdout, indent=1)
        print()
    else:
        print(lines(folder))
    return 0


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
