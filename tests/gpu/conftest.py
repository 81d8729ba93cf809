"""Runs of the engine on a GPU, each in its own process as the launcher starts them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.recording import Recording, create_recording
from explorer.settings import RunSettings

ROOT = Path(__file__).parents[2]


FinishedRun = tuple[Recording, int]
"""The recording, and the exit code of the process that made it."""


@pytest.fixture(scope="session")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., FinishedRun]:
    """Makes a run with the given settings in a process of its own."""

    def make(**fields: Any) -> FinishedRun:
        folder = tmp_path_factory.mktemp("run")
        recording = create_recording(folder, RunSettings(device="cuda", **fields))
        done = subprocess.run(
            [sys.executable, "-m", "explorer.engine", str(folder)],
            cwd=ROOT,
            timeout=400,
            check=False,
            stdout=subprocess.DEVNULL,
        )
        return recording, done.returncode

    return make


@pytest.fixture(scope="session")
def eager_run(make_run: Callable[..., FinishedRun]) -> FinishedRun:
    """The mission's model, one row, 500 tokens, eager."""
    return make_run(model="qwen3-0.6b")
