"""Which fixtures do all tests share?"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from explorer.ingest import read_trace
from explorer.trace import Trace


@cache
def _read_once(path: Path) -> Trace:
    return read_trace(path)


@pytest.fixture(scope="session")
def read() -> Callable[[Path], Trace]:
    """Reads a trace once a test session; traces are immutable."""
    return _read_once
