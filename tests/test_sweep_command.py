"""Does `explorer sweep` measure, tell what was measured, and refuse what it cannot do?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.cli import main
from tests.ui.drawn_sweep import write_sweep


def test_a_recording_is_told_with_its_sums(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sweep(tmp_path / "sweep", (1, 2, 4))
    assert main(["sweep", str(tmp_path / "sweep")]) == 0
    told = capsys.readouterr().out
    assert "qwen3-0.6b · sweep of 3 sizes to 4" in told
    assert "start-up of full graphs" in told
    assert "450 ms" in told


def test_json_has_a_row_a_size_and_null_for_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sweep(tmp_path / "sweep", (1, 2), device="cpu")
    assert main(["sweep", str(tmp_path / "sweep"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["size"] for row in told["sizes"]] == [1, 2]
    assert told["metrics"]["full_memory_bytes"] is None
    assert told["results"]["no_graphs_reason"] == "CUDA graphs need a CUDA device."


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "Give a recording"),
        (["a", "--out", "b"], "Give a recording"),
        (["--out", "b", "--max", "0"], "--max is 0"),
        (["--out", "b", "--device", "cpu", "--compile-up-to", "4"], "needs a CUDA device"),
        (["--out", "b", "--sizes", "0"], "sizes is (0,)"),
    ],
)
def test_what_cannot_be_swept_is_one_line(
    arguments: list[str],
    reason: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", *arguments]) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


@pytest.mark.slow
def test_a_sweep_on_the_cpu_measures_eager_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "sweep"
    sizes = ["--sizes", "2", "1", "--context", "20", "--cache", "32", "--device", "cpu", "--eager-steps", "2"]
    assert main(["sweep", "--out", str(folder), *sizes]) == 0
    printed = capsys.readouterr()
    assert printed.out.strip() == str(folder)
    assert "CUDA graphs need a CUDA device" in printed.err
    assert main(["sweep", str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert all(row["eager_step_ns"] > 0 for row in told["sizes"])
    assert [batch["kind"] for batch in told["results"]["batches"]] == ["NONE"] * 5
