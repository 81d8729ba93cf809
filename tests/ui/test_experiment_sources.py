"""Are recordings of other experiments kept apart from runs, and found by their word?"""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.recording import SETTINGS_FILE
from explorer.ui.archive import pack, unpack
from explorer.ui.experiment_sources import experiment_sources, find_experiment
from explorer.ui.sources import all_sources
from tests.drawn_probe import write_probe
from tests.ui.conftest import EAGER
from tests.ui.drawn import write_recording

pytestmark = pytest.mark.usefixtures("traces")


def test_probe_is_no_run_and_a_run_is_no_probe(traces: Path) -> None:
    write_recording(traces / "samples" / "eager", EAGER)
    write_probe(traces / "samples" / "attention")
    assert [source.source_id for source in all_sources()] == ["sample:eager"]
    (probe,) = experiment_sources("probe")
    assert probe.source_id == "sample:attention"
    assert probe.title == "attention probe · 4 calls · cuda, NVIDIA H200, bundled"
    assert probe.state == "finished"


def test_own_probes_come_after_bundled_ones_newest_first(traces: Path) -> None:
    for name in ("samples/bundled", "runs/20261129-a", "runs/20261130-a"):
        write_probe(traces / name)
    ids = [source.source_id for source in experiment_sources("probe")]
    assert ids == ["sample:bundled", "run:20261130-a", "run:20261129-a"]
    assert find_experiment("run:20261129-a", experiment_sources("probe")) is not None
    assert find_experiment("run:../../etc", experiment_sources("probe")) is None


def test_damaged_settings_are_a_run_with_a_problem(traces: Path) -> None:
    write_probe(traces / "samples" / "attention")
    (traces / "samples" / "attention" / SETTINGS_FILE).write_text("[", encoding="utf-8")
    (source,) = all_sources()
    assert "cannot be read" in source.problem


def test_probe_travels_as_a_zip(traces: Path, tmp_path: Path) -> None:
    recording = write_probe(traces / "samples" / "attention")
    recording.trace_path.write_bytes(b"\x1f\x8b")
    copy = unpack(pack(recording.folder), tmp_path / "copy")
    assert copy.results() == recording.results()
