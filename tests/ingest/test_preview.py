"""Is a file's size in events guessed well, and are ranks of one job told from traces that only lie together?"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from explorer.errors import TraceError
from explorer.ingest import read_trace
from explorer.ingest.preview import TraceFile, join_files, ranks_of, rough_event_count
from tests.benchmarks.generate import write_trace
from tests.drawing import drawn_document
from tests.shared import needs_shared, shared_traces

DRAWING = """
    host     L..L......
    stream 7 .KK.K.....
"""


def written(path: Path, **head: Any) -> TraceFile:
    path.write_text(json.dumps({**head, **drawn_document(DRAWING)}), encoding="utf-8")
    return TraceFile(path.name, path)


def of_rank(folder: Path, rank: int, world_size: int = 2) -> TraceFile:
    return written(folder / f"{rank}.json", distributedInfo={"rank": rank, "world_size": world_size})


def test_events_of_a_small_file_are_counted(tmp_path: Path) -> None:
    file = written(tmp_path / "a.json")

    assert rough_event_count(file.path) == len(drawn_document(DRAWING)["traceEvents"])


@pytest.mark.parametrize("is_packed", [False, True])
def test_events_of_a_large_file_are_guessed_from_its_beginning(tmp_path: Path, is_packed: bool) -> None:
    path = tmp_path / "large.json"
    write_trace(path, 60_000)
    if is_packed:
        path.write_bytes(gzip.compress(path.read_bytes(), 1))

    assert rough_event_count(path) == pytest.approx(60_000, rel=0.05)


@needs_shared
@pytest.mark.parametrize("path", shared_traces(), ids=lambda path: path.name.removesuffix(".json.gz"))
def test_guess_for_a_real_trace_is_near(path: Path) -> None:
    assert rough_event_count(path) == pytest.approx(read_trace(path).source.event_count, rel=0.2)


def test_different_ranks_of_one_job_are_found_in_any_order(tmp_path: Path) -> None:
    assert ranks_of([of_rank(tmp_path, 1), of_rank(tmp_path, 0)]) == (1, 0)


def test_the_same_rank_twice_or_of_other_jobs_is_no_set_of_ranks(tmp_path: Path) -> None:
    one = of_rank(tmp_path, 0)

    assert ranks_of([one, one]) == ()
    assert ranks_of([one, of_rank(tmp_path, 1, world_size=8)]) == ()
    assert ranks_of([one]) == ()


def test_names_tell_the_rank_where_the_files_do_not(tmp_path: Path) -> None:
    files = [written(tmp_path / name) for name in ("x-TP-0.trace.json", "x-TP-1.trace.json")]

    assert ranks_of(files) == (0, 1)
    assert ranks_of([files[0], written(tmp_path / "other.json")]) == ()


def test_joined_files_hold_the_work_of_each_under_its_rank(tmp_path: Path) -> None:
    files = [of_rank(tmp_path, number) for number in (0, 1)]
    join_files([file.path for file in files], tmp_path / "joined.json.gz")

    trace = read_trace(tmp_path / "joined.json.gz")

    assert trace.devices() == ["rank0/0", "rank1/0"]
    assert len(trace.work) == 2 * len(read_trace(files[0].path).work)


def test_a_file_that_is_no_trace_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.json").touch()
    with pytest.raises(TraceError, match="is empty"):
        rough_event_count(tmp_path / "empty.json")
