"""Which fixtures do all tests share?"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from explorer.ingest import read_trace
from explorer.trace import Trace

# Machine code and parsed traces of tests, kept from one run to the next and away from the user's own.
_KEPT = Path(__file__).parents[1] / ".pytest_cache" / "explorer"
os.environ.setdefault("EXPLORER_CACHE", str(_KEPT))
os.environ.setdefault("EXPLORER_MACHINE_CODE", str(_KEPT / "machine-code"))


@cache
def _read_once(path: Path) -> Trace:
    return read_trace(path)


@pytest.fixture(scope="session")
def read() -> Callable[[Path], Trace]:
    """Reads a trace once a test session; traces are immutable."""
    return _read_once
