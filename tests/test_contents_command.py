"""Does the command line say what a trace holds, ask the second tool, and write a folder for TensorBoard?"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from explorer import terminal
from explorer.cli import main
from explorer.settings import RunSettings
from tests.shared import SHARED, needs_shared
from tests.ui.drawn import trace_events, write_recording


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Two drawn steps in a file."""
    path = tmp_path / "drawn.json"
    path.write_text(json.dumps({"traceEvents": trace_events()}), encoding="utf-8")
    return path


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_contents_tells_what_is_there_and_what_is_not(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json_of(capsys, "contents", str(trace))

    assert found["contents"]["metrics"]["work_count"] == 6
    missing = {row["what"]: row["option"] for row in found["contents"]["tables"]["missing"]}
    assert missing["Python lines behind a gap"] == "with_stack=True"
    assert found["launches"]["metrics"]["launch_count"] == 6
    (stream,) = found["launches"]["tables"]["streams"]
    assert (stream["stream"], stream["launch_count"], stream["negative_count"]) == ("7", 6, 0)


def test_contents_reads_well_without_json(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contents", str(trace)]) == 0

    printed = capsys.readouterr().out
    assert "What cannot be answered" in printed
    assert "Launches by stream" in printed
    assert "Queue length" not in printed


def test_contents_of_a_recording_are_its_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_recording(tmp_path / "run", RunSettings())

    assert json_of(capsys, "contents", str(folder))["contents"]["metrics"]["work_count"] == 6


def test_a_trace_is_parsed_once_for_all_commands(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path / "cache"))
    first = json_of(capsys, "report", str(trace))
    monkeypatch.setattr("explorer.ingest.opening.read_trace", None)

    assert json_of(capsys, "report", str(trace)) == first
    assert terminal.open_path(trace).trace.source.name == "drawn.json"


def test_tensorboard_writes_a_run_a_path_also_of_one_name(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = tmp_path / "drawn.json.gz"
    packed.write_bytes(gzip.compress(trace.read_bytes()))

    assert main(["tensorboard", str(trace), str(packed), "--out", str(tmp_path / "logs")]) == 0

    written = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert [path.parent.name for path in written] == ["drawn_0", "drawn_1"]
    assert all("traceEvents" in gzip.decompress(path.read_bytes()).decode() for path in written)


@needs_shared
@pytest.mark.slow
def test_opinion_stands_beside_our_figures_with_the_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SHARED / "traces" / "h200_item_sync.json.gz")

    found = json_of(capsys, "opinion", path)

    figures = {row["figure"]: row for row in found["beside"]["tables"]["figures"]}
    assert figures["kernel time a step"]["theirs"] == pytest.approx(figures["kernel time a step"]["ours"], rel=1e-3)
    assert figures["estimated SM efficiency"]["ours"] is None
    assert any("tensor cores" in note for note in found["opinion"]["notes"])
    assert main(["opinion", path]) == 0
    printed = capsys.readouterr().out
    assert "GPU utilisation: 5.2 % there, 6.0 % here" in printed
    assert "Theirs counts kernels only, over the host times of all steps; ours counts copies too" in printed


@needs_shared
@pytest.mark.slow
def test_opinion_that_fails_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opinion", str(SHARED / "cases" / "01-windows-path-escapes" / "trace.json")]) == 4

    assert "torch-tb-profiler cannot read this trace" in capsys.readouterr().err
