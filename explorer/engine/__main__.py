"""The worker process: `python -m explorer.engine FOLDER` makes the experiment that FOLDER/settings.json asks for.

Standard output carries progress lines and nothing else; whatever a library prints goes to FOLDER/worker.log. Exit
code 0: the run finished. 1: it failed, and facts.json says where and why.
"""

from __future__ import annotations

import importlib
import os
import select
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import TextIO

from explorer.engine.compile_caches import start_cold
from explorer.engine.journal import Journal
from explorer.errors import ExplorerError
from explorer.experiments import validated
from explorer.recording import LOG_FILE, Progress, Recording, open_recording


def main(arguments: list[str]) -> int:
    """Makes one experiment; returns the exit code, or leaves by an exception that `_record_uncaught` writes down."""
    if len(arguments) != 1:
        print("usage: python -m explorer.engine FOLDER", file=sys.stderr)
        return 2
    try:
        recording = open_recording(Path(arguments[0]))
        settings = recording.experiment_settings()
    except ExplorerError as problem:
        print(Progress(kind="failed", text=str(problem)).to_line(), flush=True)
        return 1
    progress = _divert_output(recording)
    journal = Journal(recording.folder, progress, settings.title)
    _record_uncaught(journal)
    _end_when_abandoned(journal, progress)
    # Compiling processes may still be writing when the run ends, hence no complaint about leftovers.
    with tempfile.TemporaryDirectory(prefix="kernel-explorer-", ignore_cleanup_errors=True) as cache_folder:
        if settings.compiles:
            start_cold(Path(cache_folder), journal)
        # torch comes in here, after output and caches are where they belong.
        experiment = importlib.import_module(f"explorer.engine.{settings.experiment}")
        experiment.run(validated(settings), recording.folder, journal)
    return 0


def _divert_output(recording: Recording) -> TextIO:
    """Sends file descriptors 1 and 2 to worker.log; returns the original standard output."""
    progress = os.fdopen(os.dup(1), "w", encoding="utf-8")
    log = os.open(recording.folder / LOG_FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    sys.stdout.flush()
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    return progress


def _end_when_abandoned(journal: Journal, progress: TextIO) -> None:
    """Ends this process once nobody reads its progress: the run would only disturb the next one's measurement."""

    def watch() -> None:
        reader = select.poll()
        reader.register(progress.fileno(), 0)  # asked for nothing, it returns when the other end has gone
        reader.poll()
        journal.abandon()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _record_uncaught(journal: Journal) -> None:
    """Makes an exception that nobody handles leave a failure in the facts; Python then exits with code 1."""

    def record(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        sys.__excepthook__(kind, error, trace)
        if isinstance(error, Exception):
            from explorer.engine.failures import failure_of

            journal.fail(failure_of(error, journal.facts.stage or "start"))

    sys.excepthook = record


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
