"""Which runs are going on, and where does each stand? A run's id finds it after a reload and after a restart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import streamlit as st

from explorer.errors import RecordingError
from explorer.launch import ENDED, JobState, JobStatus, Launcher, StageProgress
from explorer.recording import END_FILE, FACTS_FILE, SETTINGS_FILE, STAGES, Recording
from explorer.settings import RunSettings, validated
from explorer.ui.places import new_run_folder, runs_folder

_LOG_TAIL_CHARACTERS = 16_384
_STATES: dict[str, JobState] = {
    "running": "running",
    "finished": "finished",
    "failed": "failed",
    "cancelled": "cancelled",
    "lost": "failed",
}


@st.cache_resource(show_spinner=False)
def launcher() -> Launcher:
    """The one launcher of this server."""
    return Launcher()


def start_runs(settings: Sequence[RunSettings]) -> list[str]:
    """Submits runs in this order and returns their ids; raises SettingsError before any has started."""
    for chosen in settings:
        validated(chosen)
    return [launcher().submit(chosen, new_run_folder(letter)) for letter, chosen in zip("ab", settings, strict=False)]


def statuses(run_ids: Iterable[str]) -> list[JobStatus]:
    """Where each run stands; ids of runs that are gone are left out."""
    found = (_status(run_id) for run_id in run_ids)
    return [status for status in found if status is not None]


def any_active(jobs: Iterable[JobStatus]) -> bool:
    """Whether one of them still runs or waits."""
    return any(job.state not in ENDED for job in jobs)


def _status(run_id: str) -> JobStatus | None:
    if launcher().knows(run_id):
        return launcher().status(run_id)
    folders = {path.name: path for path in runs_folder().iterdir()} if runs_folder().is_dir() else {}
    folder = folders.get(run_id)
    if folder is None or not (folder / SETTINGS_FILE).is_file():
        return None
    try:
        return _from_folder(folder)
    except RecordingError:
        return None


def _from_folder(folder: Path) -> JobStatus:
    """The status of a run that another process started, from what it left on disk."""
    recording = Recording(folder)
    has_facts = (folder / FACTS_FILE).exists()
    failure = recording.failure() if has_facts or (folder / END_FILE).exists() else None
    stage_ns = recording.facts().stage_ns if has_facts else {}
    log = recording.log_path.read_text(encoding="utf-8", errors="replace") if recording.log_path.exists() else ""
    return JobStatus(
        run_id=folder.name,
        folder=folder,
        settings=recording.settings(),
        state=_STATES[recording.state()],
        stages=tuple(
            StageProgress(stage, "finished" if stage in stage_ns else "waiting", stage_ns.get(stage))
            for stage in STAGES
        ),
        place_in_queue=None,
        elapsed_ns=sum(stage_ns.values()),
        message=failure.message if failure else "",
        notes=(),
        log_tail=log[-_LOG_TAIL_CHARACTERS:],
    )
