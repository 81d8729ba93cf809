"""Does a mutated trace give an answer or one clear error? Ten thousand more: tests/benchmarks/fuzz.py."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.benchmarks.fuzz import check_one, mutated, small_text
from tests.benchmarks.generate import write_trace
from tests.shared import needs_shared, shared_traces

pytestmark = pytest.mark.usefixtures("compiled_scanner")


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("path", shared_traces(), ids=lambda path: path.name.removesuffix(".json.gz"))
def test_mutated_real_traces_are_read_or_refused(path: Path, tmp_path: Path) -> None:
    chance = random.Random(path.name)
    text = small_text(path, 12_000)

    for _ in range(12):
        outcome, seconds = check_one(mutated(text, chance), tmp_path / "mutated.json")
        assert outcome in ("whole", "repaired", "refused")
        assert seconds < 20


@pytest.mark.parametrize("seed", range(8))
def test_mutated_generated_traces_are_read_or_refused(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    write_trace(path, 40)
    chance, text = random.Random(seed), path.read_bytes()

    outcomes = {check_one(mutated(text, chance), path)[0] for _ in range(20)}

    assert outcomes <= {"whole", "repaired", "refused"}
    assert outcomes
