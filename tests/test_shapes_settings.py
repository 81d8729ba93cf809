"""Are sizes taken in their order from a list, and is everything else refused with its line?"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

import pytest

from explorer.analysis.engine_steps import sequence_from_trace
from explorer.errors import ExplorerError, SettingsError, TraceError
from explorer.ingest import read_trace
from explorer.shapes_command import add_shapes, shapes_settings
from explorer.shapes_settings import LARGEST_CALL_COUNT, sizes_of_text
from tests.shared import SHARED, needs_shared


@pytest.mark.parametrize(
    ("words", "sizes"),
    [
        ("1 2 3", (1, 2, 3)),
        ("8,16;1", (8, 16, 1)),
        ("[8, 16, 1]", (8, 16, 1)),
        ("batch\n8\n16\n\n1\n", (8, 16, 1)),
        ("\ufeff8\r\n16\r\n", (8, 16)),
    ],
)
def test_a_list_keeps_its_order(words: str, sizes: tuple[int, ...]) -> None:
    assert sizes_of_text("sizes.csv", words) == sizes


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "has 0 sizes"),
        ("8\nmany", "line 2: 'many' is no whole number"),
        ("8\n-1", "line 2: '-1'"),
        ("[1, 2.5]", "has '2.5'"),
        ("[1, true]", "has 'True'"),
        ("[1, 2", "is no JSON list"),
        ("[" * 100_000, "is no JSON list"),
        ("9" * 5000, "is no whole number"),
        ("1 " * (LARGEST_CALL_COUNT + 1), "has 513 sizes"),
    ],
)
def test_anything_else_is_refused_with_its_place(words: str, said: str) -> None:
    with pytest.raises(SettingsError) as refused:
        sizes_of_text("sizes.csv", words)
    assert said in str(refused.value)
    assert len(str(refused.value)) < 200


def engine_trace(path: Path, names: list[str]) -> Path:
    events = [
        {"ph": "X", "cat": "user_annotation", "name": name, "ts": 10 * at, "dur": 5, "pid": 1, "tid": 1}
        for at, name in enumerate(names)
    ]
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    return path


MARKS = [
    "execute_context_1(512)_generation_0(0)",
    "execute_context_0(0)_generation_31(31)",
    "execute_context_0(0)_generation_31(31)",
    "execute_context_1(73)_generation_31(31)",
    "execute_context_0(0)_generation_30(30)",
    "execute_context_0(0)_generation_31(31)",
]


def test_an_engine_trace_gives_batches_and_lengths_in_order(tmp_path: Path) -> None:
    trace = read_trace(engine_trace(tmp_path / "engine.json.gz", MARKS))
    batches = sequence_from_trace(trace, "batch", LARGEST_CALL_COUNT)
    assert batches.sizes == (31, 30, 31)
    assert batches.note == "4 steps, in which the batch changes 2 times."
    assert sequence_from_trace(trace, "length", LARGEST_CALL_COUNT).sizes == (512, 73)
    cut = sequence_from_trace(trace, "batch", 2)
    assert cut.sizes == (31, 30)
    assert cut.note.endswith("The first 2 of them are taken.")


def test_a_trace_without_marks_is_refused(tmp_path: Path) -> None:
    trace = read_trace(engine_trace(tmp_path / "other.json.gz", ["step[DECODE bs=32]"]))
    assert sequence_from_trace(trace, "batch", 8).sizes == (32,)
    with pytest.raises(TraceError, match="tokens of one prompt"):
        sequence_from_trace(trace, "length", 8)


@needs_shared
def test_a_real_engine_trace_gives_its_batches() -> None:
    trace = read_trace(SHARED / "traces" / "mi300_vllm_decode_fullgraph.json.gz")
    found = sequence_from_trace(trace, "batch", LARGEST_CALL_COUNT)
    assert found.sizes
    assert all(size >= 1 for size in found.sizes)


def settings_from(*words: str) -> tuple[str, tuple[int, ...]]:
    parser = argparse.ArgumentParser()
    add_shapes(parser)
    settings = shapes_settings(parser.parse_args(["--device", "cpu", *words]))
    return settings.axis, settings.sizes


def test_the_command_takes_sizes_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = tmp_path / "sizes.csv"
    listed.write_text("size\n3\n5\n3\n")
    assert settings_from("--sizes-from", str(listed)) == ("batch", (3, 5, 3))
    trace = engine_trace(tmp_path / "engine.json.gz", MARKS)
    assert settings_from("--sizes-from", str(trace), "--axis", "length") == ("length", (512, 73))
    assert "the length changes 1 times" in capsys.readouterr().err


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.csv", tmp_path):
        with pytest.raises(ExplorerError, match="cannot be read"):
            settings_from("--sizes-from", str(path))
