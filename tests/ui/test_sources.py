"""Are runs found by their ids, and uploads kept safely?"""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import sys
from pathlib import Path

import pytest

from explorer.errors import RecordingError, TraceError
from explorer.launch import Launcher
from explorer.settings import RunSettings
from explorer.ui import sources
from explorer.ui.answers import trace_of
from explorer.ui.archive import pack
from explorer.ui.places import remove_left_behind
from explorer.ui.sources import add_upload, all_sources, default_pair, delete_run, find_source
from tests.ui.drawn import trace_events, write_recording

TRACE = json.dumps({"traceEvents": trace_events()}).encode()


def ids() -> list[str]:
    return [source.source_id for source in all_sources()]


def test_bundled_come_first_and_own_runs_newest_first(pair: Path) -> None:
    for name in ("20260101-000000-a", "20260102-000000-a"):
        write_recording(pair / "runs" / name, RunSettings())
    assert ids() == ["sample:eager", "sample:graph", "run:20260102-000000-a", "run:20260101-000000-a"]


def test_home_opens_with_eager_and_compile_with_cuda_graph(pair: Path) -> None:
    write_recording(pair / "samples" / "aaa", RunSettings())
    assert default_pair(all_sources()) == ("sample:eager", "sample:graph")


def test_without_that_pair_the_first_runs_with_a_trace_open(traces: Path) -> None:
    write_recording(traces / "runs" / "1", RunSettings(), with_trace=False)
    write_recording(traces / "runs" / "2", RunSettings(mode="compile"))
    assert default_pair(all_sources()) == ("run:2", "run:2")
    assert default_pair([]) == (None, None)


@pytest.mark.parametrize("wrong", ["run:../samples/eager", "run:", "upload:../../etc", "upload:" + "a" * 32, ""])
def test_an_id_that_is_not_listed_finds_nothing(pair: Path, wrong: str) -> None:
    assert find_source(wrong, all_sources()) is None


def test_a_source_without_its_trace_says_why(traces: Path) -> None:
    write_recording(traces / "runs" / "1", RunSettings(), with_trace=False)
    add_upload("mine.json", TRACE)
    run, upload = all_sources()
    upload.trace_path.unlink()
    with pytest.raises(TraceError, match=r"its trace\.json\.gz is gone"):
        trace_of(run)
    with pytest.raises(TraceError, match=r"mine\.json is no longer there\. Add it again"):
        trace_of(upload)


def test_equal_titles_are_told_apart_by_their_folder(traces: Path) -> None:
    for name in ("one", "two"):
        write_recording(traces / "runs" / name, RunSettings())
    assert {source.title for source in all_sources()} == {
        "tiny · batch 1 · eager · one",
        "tiny · batch 1 · eager · two",
    }


def test_a_damaged_recording_is_listed_with_its_problem(pair: Path) -> None:
    (pair / "samples" / "eager" / "facts.json").write_text("{", encoding="utf-8")
    broken = all_sources()[-1]
    assert "cannot be read" in broken.problem
    assert not broken.has_trace


@pytest.mark.parametrize(
    ("name", "content"), [("a.json", TRACE), ("b.json.gz", gzip.compress(TRACE))], ids=["plain", "gzip"]
)
def test_a_trace_is_kept_under_its_hash_and_once(traces: Path, name: str, content: bytes) -> None:
    first = add_upload(name, content)
    assert add_upload("another name", content) == first
    assert ids() == [first]
    found = find_source(first, all_sources())
    assert found is not None
    assert found.title == name
    assert found.has_trace


def test_a_hostile_file_name_never_becomes_a_path(traces: Path) -> None:
    source_id = add_upload("../../../<script>evil</script>.json", TRACE)
    found = find_source(source_id, all_sources())
    assert found is not None
    assert found.trace_path.name == "trace.json"
    assert found.folder.name == source_id.removeprefix("upload:")


def test_a_recording_zip_is_an_upload_with_settings(pair: Path) -> None:
    source_id = add_upload("eager.zip", pack(pair / "samples" / "eager"))
    found = find_source(source_id, all_sources())
    assert found is not None
    assert found.settings is not None
    assert found.settings.mode == "eager"


def test_neither_json_nor_gzip_nor_zip_is_refused_and_leaves_nothing(traces: Path) -> None:
    with pytest.raises(TraceError, match="neither JSON, gzip nor zip"):
        add_upload("photo.png", b"\x89PNG....")
    with pytest.raises(RecordingError):
        add_upload("broken.zip", b"PK\x03\x04 nothing")
    assert ids() == []


def test_too_large_an_upload_says_the_limit(traces: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "LIMIT_BYTES", 1024)
    with pytest.raises(TraceError, match=r"up to 1\.00 KiB can be uploaded"):
        add_upload("large.json", TRACE)


def test_a_run_that_goes_on_is_ended_before_it_is_deleted(
    traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    (tmp_path / "worker.py").write_text("import time; print('{}', flush=True); time.sleep(60)")
    launcher = Launcher((sys.executable, str(tmp_path / "worker.py")))
    monkeypatch.setattr("explorer.ui.jobs.launcher", lambda: launcher)
    run_id = launcher.submit(RunSettings(device="cpu"), traces / "runs" / "going")
    (source,) = [source for source in all_sources() if source.source_id == f"run:{run_id}"]
    delete_run(source)
    assert launcher.wait(run_id, 60).state == "cancelled"
    assert not source.folder.exists()


def test_what_a_killed_server_left_behind_is_removed_and_what_is_held_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    left, held, new = (tmp_path / f"uploads-{name}" for name in ("left", "held", "new"))
    for folder in (left, held, new):
        folder.mkdir()
        (folder / "trace.json").touch()
    for folder in (left, held):
        os.utime(folder, (1, 1))
    holder = os.open(held, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_SH)
    remove_left_behind("uploads-")
    os.close(holder)
    assert [folder.exists() for folder in (left, held, new)] == [False, True, True]


def test_runs_of_one_title_say_when_they_were_measured(pair: Path) -> None:
    for name in ("20261130-101503-a", "20261130-101503-b"):
        write_recording(pair / "runs" / name, RunSettings(model="qwen3-0.6b", device="cuda", mode="eager"))
    titles = [source.title for source in all_sources() if "eager" in source.title]
    assert titles == [
        "qwen3-0.6b · batch 1 · eager · bundled",
        "qwen3-0.6b · batch 1 · eager · measured 10:15:03, B",
        "qwen3-0.6b · batch 1 · eager · measured 10:15:03, A",
    ]


def test_own_runs_are_deleted_and_bundled_ones_stay(pair: Path) -> None:
    write_recording(pair / "runs" / "mine", RunSettings())
    for source in all_sources():
        delete_run(source)
    assert ids() == ["sample:eager", "sample:graph"]
    assert not (pair / "runs" / "mine").exists()
