"""Which runs are going on, and where does each stand? A run's id finds it after a reload and after a restart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from explorer.errors import RecordingError
from explorer.experiments import validated
from explorer.launch import ENDED, JobStatus, Launcher, recorded_status
from explorer.recording import SETTINGS_FILE, Recording
from explorer.settings import RunSettings
from explorer.ui.places import new_run_folder, runs_folder

_LONGEST_CANCEL_S = 5.0


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


def end_run(run_id: str) -> None:
    """Cancels a run of this server and waits until it has let go of its folder; nothing happens when it has ended."""
    if launcher().knows(run_id):
        launcher().cancel(run_id)
        launcher().wait(run_id, _LONGEST_CANCEL_S)


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
        return recorded_status(Recording(folder))
    except RecordingError:
        return None
