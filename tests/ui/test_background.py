"""Does a task say how far it is, stop when it is told to, and keep what it found or what went wrong?"""

from __future__ import annotations

import queue
import threading

import pytest

from explorer.errors import TraceError
from explorer.ui.background import Task


def test_a_task_keeps_its_result() -> None:
    task: Task[int] = Task(lambda _: 7)
    task.wait(60)

    assert task.state == "finished"
    assert task.result() == 7


def test_a_task_says_how_far_it_is_until_it_ends() -> None:
    has_said, may_end = threading.Event(), threading.Event()

    def work(task: Task[None]) -> None:
        task.hear(3, 10)
        has_said.set()
        may_end.wait(60)

    task = Task(work)
    assert has_said.wait(60)
    assert (task.state, task.done_bytes, task.total_bytes) == ("running", 3, 10)
    may_end.set()
    task.wait(60)
    assert task.state == "finished"


def test_a_cancelled_task_counts_so_at_once_and_stops_at_its_next_word() -> None:
    may_go_on, went_on = threading.Event(), []

    def work(task: Task[None]) -> None:
        may_go_on.wait(60)
        task.hear(1, 2)
        went_on.append(True)

    task = Task(work)
    task.cancel()
    assert task.state == "cancelled"
    may_go_on.set()
    task.wait(60)
    assert went_on == []


def test_a_failed_task_raises_what_its_work_raised() -> None:
    def work(_: Task[None]) -> None:
        raise TraceError("It is no trace.")

    task = Task(work)
    task.wait(60)
    assert task.state == "failed"
    with pytest.raises(TraceError, match="no trace"):
        task.result()


def test_a_bug_in_the_work_is_no_result_and_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    logged: queue.Queue[type[BaseException]] = queue.Queue()
    monkeypatch.setattr(threading, "excepthook", lambda told: logged.put(told.exc_type))

    def work(_: Task[None]) -> None:
        raise ZeroDivisionError

    task = Task(work)
    assert logged.get(timeout=60) is ZeroDivisionError
    assert task.state == "failed"
    with pytest.raises(RuntimeError, match="log"):
        task.result()


def test_an_ended_task_cannot_be_cancelled() -> None:
    task: Task[int] = Task(lambda _: 1)
    task.wait(60)
    task.cancel()

    assert task.state == "finished"
