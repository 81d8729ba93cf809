"""Which fixtures do all tests share?"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import hypothesis
import pytest

from explorer.ingest import read_trace
from explorer.trace import Trace

# Machine code and parsed traces of tests, kept from one run to the next and away from the user's own.
_KEPT = Path(__file__).parents[1] / ".pytest_cache" / "explorer"
os.environ.setdefault("EXPLORER_CACHE", str(_KEPT))
os.environ.setdefault("EXPLORER_MACHINE_CODE", str(_KEPT / "machine-code"))

# An example that a busy machine held up is no slow example.
hypothesis.settings.register_profile("tests", deadline=None, print_blob=True)
hypothesis.settings.load_profile("tests")


@pytest.fixture(scope="session", autouse=True)
def own_temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Runs take turns by a file in the temporary folder: those of other test processes are not waited for."""
    tempfile.tempdir = os.environ["TMPDIR"] = str(tmp_path_factory.mktemp("machine"))


@cache
def _read_once(path: Path) -> Trace:
    return read_trace(path)


@pytest.fixture(scope="session")
def read() -> Callable[[Path], Trace]:
    """Reads a trace once a test session; traces are immutable."""
    return _read_once
