"""Where do recordings lie: the bundled ones, a person's own, and what this server was given?"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from datetime import datetime
from pathlib import Path

import streamlit as st

TRACES_VARIABLE = "EXPLORER_TRACES"
"""Environment variable naming a folder with `samples/` and `runs/`, for when they lie outside the checkout."""

_UPLOADS_PREFIX = "kernel-explorer-uploads-"
_NEW_S = 60


def traces_folder() -> Path:
    """The folder that holds `samples/` and `runs/`."""
    chosen = os.environ.get(TRACES_VARIABLE)
    return Path(chosen) if chosen else Path(__file__).resolve().parents[2] / "traces"


def samples_folder() -> Path:
    """The bundled recordings, one folder each."""
    return traces_folder() / "samples"


def runs_folder() -> Path:
    """A person's own recordings, one folder each."""
    return traces_folder() / "runs"


@st.cache_resource(show_spinner=False, on_release=lambda folder: shutil.rmtree(folder, ignore_errors=True))
def uploads_folder() -> Path:
    """The server's folder for what people upload; gone when the server ends or its caches are cleared.

    A killed server cannot clear up: the next one removes what nobody holds a lock on any more.
    """
    remove_left_behind(_UPLOADS_PREFIX)
    folder = Path(tempfile.mkdtemp(prefix=_UPLOADS_PREFIX))
    fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_SH)  # open, and so locked, as long as this process lives
    return folder


def remove_left_behind(prefix: str) -> None:
    """Removes temporary folders of that name whose process has ended; a new one gets the time to lock its own."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):  # somebody else's folder, held, or just removed
            if time.time() - folder.stat().st_mtime < _NEW_S:
                continue
            held = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(held)


def new_run_folder(letter: str) -> Path:
    """A folder name for a new run that sorts by time and is not in use: `20261129-142530-a`."""
    stamp = datetime.fromtimestamp(time.time()).strftime("%Y%m%d-%H%M%S")
    folder = runs_folder() / f"{stamp}-{letter}"
    number = 1
    while folder.exists():
        number += 1
        folder = runs_folder() / f"{stamp}-{letter}{number}"
    return folder
