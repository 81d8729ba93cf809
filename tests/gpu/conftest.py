"""Runs of the engine on a GPU, each in its own process as the launcher starts them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.engine.compile_caches import CACHE_VARIABLES
from explorer.recording import Recording, create_recording
from explorer.settings import RunSettings

ROOT = Path(__file__).parents[2]


def run_engine(folder: Path) -> int:
    """Makes the experiment of that folder in a process of its own; returns its exit code.

    Without the compile caches that a test leaves in this process' environment: a program that comes out of a cache is
    neither a cold start nor does it say what its kernels hold.
    """
    cold = {name: value for name, value in os.environ.items() if name not in CACHE_VARIABLES}
    command = [sys.executable, "-m", "explorer.engine", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=cold, timeout=400, check=False, stdout=subprocess.DEVNULL)
    return done.returncode


FinishedRun = tuple[Recording, int]
"""The recording, and the exit code of the process that made it."""


@pytest.fixture(scope="session")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., FinishedRun]:
    """Makes a run with the given settings in a process of its own."""

    def make(**fields: Any) -> FinishedRun:
        folder = tmp_path_factory.mktemp("run")
        recording = create_recording(folder, RunSettings(device="cuda", **fields))
        return recording, run_engine(folder)

    return make


@pytest.fixture(scope="session")
def eager_run(make_run: Callable[..., FinishedRun]) -> FinishedRun:
    """The mission's model, one row, 500 tokens, eager."""
    return make_run(model="qwen3-0.6b")
