"""How does a page or a command open a trace without making anybody wait? From the cache, or by a worker process."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

from explorer.errors import TraceError
from explorer.ingest import cache
from explorer.ingest.reading import read_trace
from explorer.trace import Trace

OnProgress = Callable[[int, int], None]
"""Hears (bytes read, bytes of the file), every now and then even when nothing is new.

An exception that it raises stops the reading and is passed on.
"""

POLITE = "--polite"
_SMALL_BYTES = 1 << 18
"""Below it a file is read at once: starting a process would take longer."""
_LOOK_EVERY_S = 0.3


def open_trace(path: Path, progress: OnProgress | None = None, *, is_polite: bool = False) -> Trace:
    """The trace in a file: from the cache, or read by a worker process and kept there.

    A polite worker leaves the processors to whoever else wants them: other people's clicks, on a server.
    Raises TraceError as `read_trace` does, and when the worker dies (out of memory, say). `progress` may raise to
    cancel: the worker is then killed within a moment.
    """
    with _in_a_file(path) as file:
        trace = _open(file, progress, is_polite)
    return dataclasses.replace(trace, source=dataclasses.replace(trace.source, name=path.name))


@contextlib.contextmanager
def _in_a_file(path: Path) -> Iterator[Path]:
    """The path, or for a pipe, which can be read only once, that of a copy of what comes out of it.

    A pipe that nobody writes to is not waited for: TraceError.
    """
    if not path.is_fifo():
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        with open(path, "rb", opener=_without_waiting) as pipe, copy.open("wb") as file:
            shutil.copyfileobj(pipe, file)
        if not copy.stat().st_size:
            raise TraceError(f"Nothing comes out of {path}. Start what writes the trace into it first.")
        yield copy


def _without_waiting(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return descriptor


def _open(path: Path, progress: OnProgress | None, is_polite: bool) -> Trace:
    key = cache.content_key(path)
    cached = cache.load(key)
    if cached is not None:
        return cached
    if path.stat().st_size < _SMALL_BYTES:
        trace = read_trace(path)
        cache.store(key, trace)
        return trace
    _read_in_worker(path, progress, is_polite)
    kept = cache.load(key)
    # The cache may be too small for it, or the file has changed meanwhile: then it is read here after all.
    return kept if kept is not None else read_trace(path)


def _read_in_worker(path: Path, progress: OnProgress | None, is_polite: bool) -> None:
    with tempfile.TemporaryFile() as complaints:  # no pipe: nobody reads it before the worker has ended
        worker = subprocess.Popen(
            [sys.executable, "-m", "explorer.ingest.worker", str(path), *([POLITE] if is_polite else [])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            start_new_session=True,
        )
        try:
            error = _follow(worker, progress, path.stat().st_size)
            code = worker.wait()
        finally:
            _end(worker)
        complaints.seek(0)
        complaint = complaints.read().decode(errors="replace")
    if error:
        raise TraceError(error)
    if code != 0:
        last = complaint.strip().splitlines()[-1:] or [f"exit code {code}"]
        raise TraceError(
            f"Reading {path.name} ended unexpectedly ({last[0]}). If the machine ran out of memory, record fewer steps."
        )


def _follow(worker: subprocess.Popen[str], progress: OnProgress | None, size_bytes: int) -> str:
    """Passes the worker's progress on, the last again while it says nothing; its error message, empty for none."""
    error, read_bytes = "", 0
    for line in _lines(worker):
        try:
            said = json.loads(line) if line else {}
        except ValueError:  # a library's own output
            continue
        error = said.get("error", error)
        read_bytes = said.get("read_bytes", read_bytes)
        if progress is not None and (not line or "read_bytes" in said):
            progress(read_bytes, size_bytes)
    return error


def _lines(worker: subprocess.Popen[str]) -> Iterator[str]:
    """What the worker says, line by line, and an empty line whenever it has said nothing for a while."""
    said: SimpleQueue[str | None] = SimpleQueue()

    def listen() -> None:
        with contextlib.suppress(ValueError):  # closed: it was ended
            for line in worker.stdout or ():
                said.put(line)
        said.put(None)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        try:
            line = said.get(timeout=_LOOK_EVERY_S)
        except Empty:
            yield ""
            continue
        if line is None:
            return
        yield line


def _end(worker: subprocess.Popen[str]) -> None:
    if worker.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
    if worker.stdout is not None:
        worker.stdout.close()
