"""How do runs get into TensorBoard? As a zip of the folder that its profiler plugin opens."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from explorer.errors import TraceError
from explorer.ingest.tensorboard import pack_tensorboard_folder
from explorer.ui.sources import Source

ZIP_NAME = "tensorboard.zip"


def tensorboard_zip(sources: Iterable[Source]) -> bytes:
    """The zip with a run for each of these, written by a worker process; raises TraceError for one without a trace."""
    paths = {source.title: source.trace_path for source in sources}
    for title, path in paths.items():
        if not path.is_file():
            raise TraceError(f"{title} has no trace.")
    with tempfile.TemporaryDirectory(prefix="kernel-explorer-zip-") as folder:
        target = Path(folder) / ZIP_NAME
        pack_tensorboard_folder(paths, target)
        return target.read_bytes()
