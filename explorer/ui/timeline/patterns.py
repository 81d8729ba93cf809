"""Which events does a search pattern mean? A regular expression over the distinct names, never allowed to hang.

Python's `re` cannot be interrupted and some expressions take ages on one long name, so the matching runs in a process
of its own that is stopped after a second. What is no regular expression is looked for as plain text, since kernel
names are full of brackets and stars.
"""

from __future__ import annotations

import json
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
    with _AT_ONCE:
        try:
            done = subprocess.run(
                command,
                input=json.dumps({"pattern": pattern, "names": names}),
                capture_output=True,
                text=True,
                timeout=TIME_LIMIT_S,
                check=True,
            )
        except subprocess.TimeoutExpired:
            raise PatternError(
                f"The pattern took longer than {TIME_LIMIT_S:.0f} s. Leave out nested repeats such as (a+)+."
            ) from None
        except subprocess.CalledProcessError:
            raise PatternError("The pattern could not be used. Write a simpler one.") from None
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
