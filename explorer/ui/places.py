"""Where do recordings lie: the bundled ones, a person's own, and what this server was given?"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from datetime import datetime
from pathlib import Path

import streamlit as st

TRACES_VARIABLE = "EXPLORER_TRACES"
"""Environment variable naming a folder with `samples/` and `runs/`, for when they lie outside the checkout."""


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
    """The server's folder for what people upload; gone when the server ends or its caches are cleared."""
    return Path(tempfile.mkdtemp(prefix="kernel-explorer-uploads-"))


def new_run_folder(letter: str) -> Path:
    """A folder name for a new run that sorts by time and is not in use: `20261129-142530-a`."""
    stamp = datetime.fromtimestamp(time.time()).strftime("%Y%m%d-%H%M%S")
    folder = runs_folder() / f"{stamp}-{letter}"
    number = 1
    while folder.exists():
        number += 1
        folder = runs_folder() / f"{stamp}-{letter}{number}"
    return folder
