"""The bundled recordings: readable, within their size, exact in their parts, and what the README says of them."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from explorer.analysis.idle import PARTS
from explorer.analysis.machine_output import report_object
from explorer.ingest import read_trace
from explorer.recording import Recording
from explorer.settings import RunSettings

SAMPLES = Path(__file__).parents[1] / "traces" / "samples"
FOLDERS = sorted(path.parent for path in SAMPLES.glob("*/settings.json"))
RUNS = [folder for folder in FOLDERS if Recording(folder).experiment_settings().experiment == RunSettings.experiment]


def step_ms(name: str) -> float:
    return median(Recording(SAMPLES / name).facts().steady_latencies_ns) / 1e6


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_recording_is_finished_small_and_described(folder: Path) -> None:
    assert Recording(folder).state() == "finished"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 2_000_000
    assert f"| {folder.name} |" in (SAMPLES / "ORIGIN.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.name)
def test_run_was_correct_and_lost_no_kernels(folder: Path) -> None:
    facts = Recording(folder).facts()
    assert facts.correctness is not None
    assert facts.correctness.passed
    assert facts.profile is not None
    assert len(set(facts.profile.kernel_counts)) == 1
    assert facts.profile.expected_kernel_count in (None, facts.profile.kernel_counts[0])


@pytest.mark.parametrize("window", ["steps", "trace"])
@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.name)
def test_idle_parts_add_up_to_idle(folder: Path, window: str) -> None:
    answer = report_object(read_trace(Recording(folder).trace_path), window)  # type: ignore[arg-type]
    sides = answer["devices"] or [answer["cpu"]]
    for metrics in [entry["metrics"] for side in sides for entry in (side, *side.get("steps", []))]:
        assert sum(metrics[f"{part}_ns"] for part in PARTS) == metrics["idle_ns"]
        assert metrics["busy_ns"] + metrics["idle_ns"] == metrics["span_ns"]


def test_the_settings_tell_the_story_that_the_readme_tells() -> None:
    assert step_ms("h200-eager") > 10 * step_ms("h200-compile-cuda-graph")
    assert step_ms("h200-best") < 1.3
    assert step_ms("h200-piecewise") > 2 * step_ms("h200-compile-cuda-graph")
    assert step_ms("h200-compile-piecewise") > 1.5 * step_ms("h200-compile-cuda-graph")
