"""Reads one trace in a process of its own, so that nobody else waits for it.

`python -m explorer.ingest.worker PATH [--polite]`; with `--polite` every other process goes first.
Says on standard output, one JSON object a line: `{"read_bytes": ...}` while it reads, and at the
end `{"key": ...}`, under which the parsed trace lies in the cache, or `{"error": ...}`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError
from explorer.ingest.cache import content_key, store
from explorer.ingest.opening import POLITE
from explorer.ingest.reading import read_trace

_SECONDS_BETWEEN_LINES = 0.1
_NICENESS = 10
_OWN_GROUP = Path("/proc/self/autogroup")
NOT_KEPT = "The parsed trace cannot be kept: the cache folder is full or read-only. Free some space and open it again."


def main(path: Path) -> int:
    """Reads the trace and keeps it in the cache; the exit code."""
    last_said = 0.0

    def on_bytes(read_bytes: int) -> None:
        nonlocal last_said
        if time.monotonic() - last_said > _SECONDS_BETWEEN_LINES:
            last_said = time.monotonic()
            _say(read_bytes=read_bytes)

    try:
        key = content_key(path)
        trace = read_trace(path, on_bytes)
    except ExplorerError as problem:
        _say(error=str(problem))
        return problem.exit_code
    if not store(key, trace):
        _say(error=NOT_KEPT)
        return 1
    _say(key=key)
    return 0


def step_back() -> None:
    """Lets every other process go first; on Linux also among sessions, which may share the processors equally."""
    os.nice(_NICENESS)
    with contextlib.suppress(OSError):  # no Linux, or one without these groups
        _OWN_GROUP.write_text(str(_NICENESS), encoding="ascii")


def _say(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


if __name__ == "__main__":
    if POLITE in sys.argv[2:]:
        step_back()
    sys.exit(main(Path(sys.argv[1])))
