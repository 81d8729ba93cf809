"""Which traces come in another way than as one uploaded file? By a path on this machine, and several ranks as one.

A path is only taken from folders that whoever started the app has named: a page must not read any file of its server.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from explorer.errors import TraceError
from explorer.ingest.preview import TraceFile, join_files, ranks_of
from explorer.recording import TRACE_FILE
from explorer.settings import RunSettings
from explorer.ui.places import uploads_folder
from explorer.ui.sources import Source, experiment_of, find_source, keep_folder, list_upload, write_upload
from explorer.units import shortened

OPEN_FROM_VARIABLE = "EXPLORER_OPEN_FROM"
"""Environment variable naming the folders, with `:` between them, whose files the Library may open by their path."""


def open_folders() -> tuple[Path, ...]:
    """The folders from which a file may be opened by its path; none where nobody named any."""
    named = os.environ.get(OPEN_FROM_VARIABLE, "")
    return tuple(Path(folder).resolve() for folder in named.split(os.pathsep) if folder)


def kept_source(source_id: str) -> Source | None:
    """The kept upload as a run that can be read; an experiment's recording is listed at once, and None."""
    folder = uploads_folder() / source_id.removeprefix("upload:")
    if experiment_of(folder) != RunSettings.experiment:
        list_upload(source_id)
        return None
    return find_source(source_id, [])


def keep_path(typed: str) -> str:
    """The source id of a trace file on this machine, which stays where it is. Raises TraceError with what to do."""
    path = Path(typed.strip()).expanduser().resolve()
    if not any(path.is_relative_to(folder) for folder in open_folders()):
        raise TraceError(
            f"{shortened(typed)} is in none of the folders that this app may open files from. "
            f"Start it with {OPEN_FROM_VARIABLE} naming the folder."
        )
    if not path.is_file():
        raise TraceError(f"{shortened(typed)} is no file on this machine. Check the path.")
    status = path.stat()
    identity = f"{path}|{status.st_size}|{status.st_mtime_ns}"
    digest = hashlib.sha256(identity.encode()).hexdigest()
    return keep_folder(digest, lambda folder: write_upload(folder, path.name, path))


def ranks_among(sources: Sequence[Source]) -> tuple[int, ...]:
    """The ranks of these traces where they are different ranks of one job, else empty."""
    return ranks_of([TraceFile(source.title, source.trace_path) for source in sources])


def keep_joined(sources: Sequence[Source]) -> str:
    """The source id of one trace that holds these, rank by rank. Raises TraceError."""
    digest = hashlib.sha256(" ".join(source.source_id for source in sources).encode()).hexdigest()

    def write(folder: Path) -> None:
        join_files([source.trace_path for source in sources], folder / TRACE_FILE)
        write_upload(folder, f"{len(sources)} ranks · {sources[0].title}")

    return keep_folder(digest, write)
