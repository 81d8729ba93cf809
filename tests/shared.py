"""Where do the shared traces and cases lie? Beside the checkout; tests that need them are skipped where they do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SHARED = (Path(__file__).parents[1] / ".." / "shared").resolve()

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared folder is not beside this checkout")


def shared_traces() -> list[Path]:
    """Every shared trace file, in order; empty where the folder is absent."""
    return sorted((SHARED / "traces").glob("*.json.gz"))


def expected_of_traces() -> dict[str, dict[str, dict[str, int]]]:
    """`{file: {device: {metric: value}}}`, computed by a separate program."""
    expected: dict[str, dict[str, dict[str, int]]] = read_json(SHARED / "traces" / "expected.json")
    return expected


def read_json(path: Path) -> Any:
    """What a JSON file holds."""
    return json.loads(path.read_text(encoding="utf-8"))
