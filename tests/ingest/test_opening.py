"""Is a trace read once, in a process of its own, and then only mapped?"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from explorer.errors import TraceError
from explorer.ingest import cache, open_trace, opening, read_trace
from explorer.trace import Trace
from tests.benchmarks.generate import write_trace


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for each test."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("EXPLORER_CACHE", str(folder))
    return folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A trace big enough for a worker."""
    written = tmp_path / "trace.json"
    write_trace(written, 5000)
    return written


def assert_same(one: Trace, other: Trace) -> None:
    """Compares all that two traces hold."""
    for name in ("operators", "calls", "work", "annotations", "frames", "dropped_work"):
        assert getattr(one, name).equals(getattr(other, name)), name
    assert one.source == other.source
    assert one.notes == other.notes


def test_opened_in_a_worker_is_the_same_as_read_here_and_so_is_the_second_time(path: Path) -> None:
    first = open_trace(path)
    second = open_trace(path)

    assert_same(first, read_trace(path))
    assert_same(second, first)


def test_second_opening_starts_no_worker(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_trace(path)
    monkeypatch.setattr(opening, "_read_in_worker", lambda *_: pytest.fail("read again"))

    open_trace(path)


def test_the_same_content_under_another_name_is_known(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_trace(path)
    monkeypatch.setattr(opening, "_read_in_worker", lambda *_: pytest.fail("read again"))
    copy = path.with_name("copy.json")
    copy.write_bytes(path.read_bytes())

    opened = open_trace(copy)

    assert len(opened.work) == 1000
    assert opened.source.name == "copy.json"


def test_changed_content_is_read_again(path: Path) -> None:
    before = cache.content_key(path)
    write_trace(path, 6000)

    assert cache.content_key(path) != before
    assert len(open_trace(path).work) == 1200


def test_progress_is_heard_in_bytes_of_the_file(tmp_path: Path) -> None:
    big = tmp_path / "big.json"
    write_trace(big, 60_000)
    heard: list[tuple[int, int]] = []

    open_trace(big, lambda read, size: heard.append((read, size)))

    assert heard
    assert all(0 <= read <= size == big.stat().st_size for read, size in heard)


class CancelledError(Exception):
    """What a page raises when its reader goes away."""


def test_exception_in_progress_kills_the_worker(tmp_path: Path) -> None:
    big = tmp_path / "big.json"
    write_trace(big, 200_000)

    def cancel(_read: int, _size: int) -> None:
        raise CancelledError

    with pytest.raises(CancelledError):
        open_trace(big, cancel)

    assert cache.load(cache.content_key(big)) is None


def stand_in_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Has a shell script stand in for the worker."""
    stand_in = tmp_path / "worker.sh"
    stand_in.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    stand_in.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(stand_in))


def test_worker_that_says_nothing_any_more_is_cancelled_all_the_same(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, ended = tmp_path / "started", tmp_path / "ended"
    script = f"""echo $$ >'{started}'; echo '{{"read_bytes": 5}}'; sleep 60; touch '{ended}'"""
    stand_in_worker(tmp_path, monkeypatch, script)
    heard: list[int] = []

    def cancel(read_bytes: int, _size: int) -> None:
        heard.append(read_bytes)
        if heard.count(5) == 2:
            raise CancelledError

    with pytest.raises(CancelledError):
        open_trace(path, cancel)

    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
    assert not ended.exists()


def test_worker_may_complain_at_any_length(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in_worker(
        tmp_path, monkeypatch, "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo enough >&2; exit 3"
    )

    with pytest.raises(TraceError, match=r"ended unexpectedly \(enough\)"):
        open_trace(path)


def test_file_that_is_no_trace_says_the_same_through_a_worker(tmp_path: Path) -> None:
    path = tmp_path / "poem.json"
    path.write_bytes(b"roses are red " * 40_000)

    with pytest.raises(TraceError, match="no trace events"):
        open_trace(path)


def test_worker_that_dies_is_an_error_and_no_traceback(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")

    with pytest.raises(TraceError, match="ended unexpectedly"):
        open_trace(path)


def test_least_recently_opened_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = []
    for number in range(3):
        paths.append(tmp_path / f"{number}.json")
        write_trace(paths[-1], 1000 + number * 10)
        open_trace(paths[-1])
        said = tmp_path / "cache" / "traces" / cache.content_key(paths[-1]) / "said.json"
        os.utime(said, (number, number))
    open_trace(paths[0])  # the oldest, opened again just now
    entry_bytes = sum(file.stat().st_size for file in said.parent.iterdir())
    monkeypatch.setenv("EXPLORER_CACHE_LIMIT_BYTES", str(int(2.5 * entry_bytes)))

    cache.make_room()

    kept = [cache.load(cache.content_key(path)) is not None for path in paths]
    assert kept == [True, False, True]


def test_entries_of_another_reader_version_go(path: Path, own_cache: Path) -> None:
    open_trace(path)
    old = own_cache / "traces" / "abc-older"
    old.mkdir()
    (old / "said.json").write_text(json.dumps({}), encoding="utf-8")

    cache.make_room()

    assert not old.exists()
    assert cache.load(cache.content_key(path)) is not None


def test_damaged_entry_is_read_again(path: Path, own_cache: Path) -> None:
    open_trace(path)
    (own_cache / "traces" / cache.content_key(path) / "work.arrow").write_bytes(b"not arrow")

    assert len(open_trace(path).work) == 1000


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be opened"):
        open_trace(tmp_path / "absent.json")


def test_a_polite_worker_lets_others_go_first(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    start = subprocess.Popen

    def noted(command: list[str], **options: Any) -> subprocess.Popen[str]:
        started.append(command)
        return start(command, **options)

    monkeypatch.setattr(subprocess, "Popen", noted)
    assert_same(open_trace(path, is_polite=True), read_trace(path))
    assert started[0][-1] == "--polite"

    said = "import os; from explorer.ingest.worker import step_back; step_back(); print(os.nice(0))"
    after = subprocess.run(
        [sys.executable, "-c", said],
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,  # it steps back with its whole session, which would else be that of the tests
    )
    assert int(after.stdout) == min(19, os.nice(0) + 10)


def test_devices_are_refused_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hashlib.file_digest", lambda *_: pytest.fail("read without end"))

    for device in ("/dev/zero", "/dev/null"):
        with pytest.raises(TraceError, match="is a device"):
            open_trace(Path(device))


def test_a_file_that_cannot_be_read_is_one_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("hashlib.file_digest", failing)

    with pytest.raises(TraceError, match="cannot be read: Input/output error"):
        open_trace(path)


def test_a_pipe_is_read_once_and_its_errors_name_it(path: Path) -> None:
    pipe = path.with_name("pipe")
    os.mkfifo(pipe)

    with pytest.raises(TraceError, match=r"Nothing comes out of .*pipe"):
        open_trace(pipe)

    waiting = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with subprocess.Popen(["cp", str(path), str(pipe)]) as writer:
        while not select.select([waiting], [], [], 1)[0]:
            continue
        opened = open_trace(pipe)
        os.close(waiting)

    assert writer.returncode == 0
    assert opened.source.name == "pipe"
    assert len(opened.work) == 1000
