"""Which events does a search pattern mean? A regular expression over the distinct names, never allowed to hang.

Python's `re` cannot be interrupted and some expressions take ages on one long name, so the matching runs in a process
of its own that ends after a second of work. What is no regular expression is looked for as plain text, since kernel
names are full of brackets and stars.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from explorer.analysis.timeline_build import Timeline
from explorer.analysis.timeline_search import Matches, distinct_names
from explorer.errors import ExplorerError

LONGEST_PATTERN = 200
TIME_LIMIT_S = 1.0
"""Work of a processor, so that a busy machine refuses no pattern."""
_PATIENCE_S = 20.0
_AT_ONCE = threading.BoundedSemaphore(2)
_PROGRAM = Path(__file__).with_name("pattern_process.py")


class PatternError(ExplorerError):
    """A search pattern that is too long or takes too long."""


@dataclass(frozen=True)
class Search:
    """The matches of a pattern; `note` says when it was taken as plain text and why."""

    matches: Matches
    note: str = ""


def search(timeline: Timeline, pattern: str) -> Search:
    """The events whose names match; raises PatternError with what to do."""
    if len(pattern) > LONGEST_PATTERN:
        raise PatternError(f"The pattern has {len(pattern)} characters; shorten it to {LONGEST_PATTERN}.")
    names = distinct_names(timeline)
    flat = [word for words in names.values() for word in words]
    answer = _ask(pattern, flat)
    note = ""
    if "problem" in answer:
        note = f"no regular expression ({answer['problem']}), so it was looked for as plain text"
        wanted = pattern.casefold()
        answer = {"matched": [position for position, name in enumerate(flat) if wanted in name.casefold()]}
    chosen = np.zeros(len(flat), bool)
    chosen[answer["matched"]] = True
    is_word, position = {}, 0
    for table, words in names.items():
        is_word[table] = chosen[position : position + len(words)]
        position += len(words)
    return Search(Matches(is_word), note)


def _ask(pattern: str, names: list[str]) -> dict[str, Any]:
    command = [sys.executable, "-I", "-S", str(_PROGRAM)]
    asked = {"pattern": pattern, "names": names, "limit_s": TIME_LIMIT_S}
    with _AT_ONCE:
        try:
            done = subprocess.run(
                command,
                input=json.dumps(asked),
                capture_output=True,
                text=True,
                timeout=_PATIENCE_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise PatternError("This machine is too busy to search. Press Enter to try again.") from None
    if done.returncode == -signal.SIGPROF:
        took = f"The pattern took longer than {TIME_LIMIT_S:.0f} s."
        raise PatternError(f"{took} Leave out nested repeats such as (a+)+.")
    if done.returncode:
        raise PatternError("The pattern could not be used. Write a simpler one.")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
