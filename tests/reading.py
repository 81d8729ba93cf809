"""How do tests make a trace out of events or bytes?"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from explorer.ingest import read_trace
from explorer.trace import Trace


def trace_of_events(events: Sequence[dict[str, Any]], **other_keys: Any) -> Trace:
    """The trace of a document with those events and other keys, read as any file is."""
    return trace_of_bytes(json.dumps({**other_keys, "traceEvents": list(events)}).encode())


def trace_of_bytes(content: bytes, name: str = "trace.json") -> Trace:
    """The trace of a file with that content."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        return read_trace(path)
