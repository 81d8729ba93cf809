"""How does a running worker tell what it has done? It rewrites facts.json and prints progress lines."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from explorer.facts import Facts, Failure, facts_to_json
from explorer.recording import FACTS_FILE, Progress, write_json

_COUNT_INTERVAL_NS = 200_000_000


class Journal:
    """The one writer of a recording's facts.json and of the worker's progress lines."""

    def __init__(self, folder: Path, progress: TextIO, settings_title: str = "") -> None:
        self._path = folder / FACTS_FILE
        self._progress = progress
        self._last_count_ns = 0
        self._writing = threading.RLock()
        self._is_abandoned = False
        self.facts = Facts(started_unix_s=time.time(), process_id=os.getpid(), settings_title=settings_title)

    def update(self, **fields: Any) -> None:
        """Sets fields of the facts and writes them to disk, unless the run has been abandoned."""
        with self._writing:
            if not self._is_abandoned:
                self.facts = dataclasses.replace(self.facts, **fields)
                write_json(self._path, facts_to_json(self.facts))

    @contextmanager
    def stage(self, stage: str) -> Iterator[None]:
        """Announces a stage, times it and announces its end; a failure inside leaves it as the current stage."""
        self.update(stage=stage)
        self._say(Progress(kind="stage_started", stage=stage))
        start_ns = time.perf_counter_ns()
        yield
        elapsed_ns = time.perf_counter_ns() - start_ns
        self.update(stage_ns={**self.facts.stage_ns, stage: elapsed_ns})
        self._say(Progress(kind="stage_finished", stage=stage, elapsed_ns=elapsed_ns))

    def note(self, text: str) -> None:
        """Adds a sentence to the facts and says it."""
        self.update(notes=[*self.facts.notes, text])
        self._say(Progress(kind="note", stage=self.facts.stage, text=text))

    def count(self, done: int, total: int) -> None:
        """Says how many steps of a stage are done, at most a few times a second and always at the end."""
        now_ns = time.perf_counter_ns()
        if done == total or now_ns - self._last_count_ns >= _COUNT_INTERVAL_NS:
            self._last_count_ns = now_ns
            self._say(Progress(kind="count", stage=self.facts.stage, done=done, total=total))

    def finish(self) -> None:
        """The run is complete."""
        self.update(state="finished")
        self._say(Progress(kind="finished"))

    def fail(self, failure: Failure) -> None:
        """The run ends here."""
        self.update(state="failed", failure=failure)
        self._say(Progress(kind="failed", stage=self.facts.stage, text=failure.message))

    def abandon(self) -> None:
        """Nobody waits for the run any more: the last word, from whichever thread."""
        with self._writing:
            stage = self.facts.stage or "start"
            why = Failure(stage=stage, kind="cancelled", message=f"What started this run ended during {stage}.")
            self.update(state="cancelled", failure=why)
            self._is_abandoned = True

    def _say(self, progress: Progress) -> None:
        with suppress(BrokenPipeError):  # nobody listens any more: `__main__` ends the process
            self._progress.write(progress.to_line() + "\n")
            self._progress.flush()
