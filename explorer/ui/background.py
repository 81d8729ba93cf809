"""What goes on behind a page, how far is it, and how is it stopped?

A task is a thread that calls no Streamlit and mostly waits for a worker process. It is kept in the session that
started it; the page looks at it from a fragment that runs again and again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, Literal, TypeVar

from explorer.errors import ExplorerError

Result = TypeVar("Result")
TaskState = Literal["running", "finished", "failed", "cancelled"]


class CancelledError(ExplorerError):
    """Raised inside the work of a task that nobody wants any more."""


class Task(Generic[Result]):
    """Work that has been started. It said last that `done_bytes` of `total_bytes` are done; 0 until it says so."""

    def __init__(self, work: Callable[[Task[Result]], Result]) -> None:
        self.done_bytes = 0
        self.total_bytes = 0
        self.started_s = time.monotonic()
        self._outcome: list[Result] = []
        self._problem: ExplorerError | None = None
        self._is_unwanted = threading.Event()
        self._has_ended = threading.Event()
        threading.Thread(target=self._run, args=(work,), daemon=True).start()

    @property
    def state(self) -> TaskState:
        """A cancelled task counts as cancelled at once, though its work may take a moment longer to end."""
        if self._is_unwanted.is_set():
            return "cancelled"
        if not self._has_ended.is_set():
            return "running"
        return "finished" if self._outcome else "failed"

    @property
    def elapsed_s(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self.started_s

    def hear(self, done_bytes: int, total_bytes: int) -> None:
        """Takes the work's progress; raises CancelledError in it when it is to stop."""
        self.done_bytes, self.total_bytes = done_bytes, total_bytes
        if self._is_unwanted.is_set():
            raise CancelledError("It was cancelled.")

    def is_unwanted(self) -> bool:
        """Whether the work is to stop, for work that looks by itself."""
        return self._is_unwanted.is_set()

    def cancel(self) -> None:
        """Asks the work to stop; nothing happens when it has ended."""
        if not self._has_ended.is_set():
            self._is_unwanted.set()

    def wait(self, seconds: float) -> None:
        """Returns when it has ended, or after that long."""
        self._has_ended.wait(seconds)

    def result(self) -> Result:
        """What a finished task's work returned; raises what a failed one's raised.

        Anything but an ExplorerError is a bug of ours: its traceback stands in the server's log.
        """
        if self._problem is not None:
            raise self._problem
        if not self._outcome:
            raise RuntimeError("The work ended by an error that the server's log tells.")
        return self._outcome[0]

    def _run(self, work: Callable[[Task[Result]], Result]) -> None:
        try:
            self._outcome.append(work(self))
        except ExplorerError as problem:
            self._problem = problem
        finally:
            self._has_ended.set()
