"""How do recordings and uploads become a folder that TensorBoard's profiler plugin opens?

FOLDER/<run>/<worker>.<n>.pt.trace.json.gz        tensorboard --logdir FOLDER
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from pathlib import Path

from explorer.errors import TraceError
from explorer.ingest.chrome_events import document_texts
from explorer.trace import Trace

_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")


def write_tensorboard_folder(runs: Mapping[str, Trace], folder: Path) -> list[Path]:
    """Writes each trace as a run of its own, named by its key; returns the files. Raises TraceError when it cannot."""
    written = []
    for number, (name, trace) in enumerate(runs.items()):
        run = _UNFIT.sub("_", name).strip("_") or f"run_{number}"
        path = folder / run / f"{run}.{1_000_000_000_000 + number}.pt.trace.json.gz"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with gzip.open(path, "wt", compresslevel=3, encoding="utf-8") as file:
                for text in document_texts(trace):
                    file.write(text)
        except OSError as problem:
            raise TraceError(f"Cannot write {path}: {problem.strerror}. Choose a folder that you may write.") from None
        written.append(path)
    return written
