"""Has this content been read before? Parsed traces as memory-mapped Arrow files, under the hash of the file's content.

    <cache>/traces/<hash of content>-<version of the reader>/   work.arrow, calls.arrow, ..., said.json
    <cache>/files.json                                          path, size and time of change → hash of content

The reader's version is a digest of its own sources, so that nobody has to remember to raise it. Old entries and the
least recently opened ones go when the folder outgrows its limit.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from explorer.errors import TraceError
from explorer.ingest.open import checked
from explorer.ingest.places import cache_folder
from explorer.trace import ReadingNote, Trace, TraceSource

LIMIT_BYTES = 4 << 30
"""What all parsed traces together may take; `EXPLORER_CACHE_LIMIT_BYTES` changes it."""

_TABLES = ("operators", "calls", "work", "annotations", "frames", "dropped_work")
_SAID = "said.json"
_MOST_FILES_KNOWN = 1000


def content_key(path: Path) -> str:
    """The hash of the file's content and of the reader; not computed again while the file's time and size stay.

    Raises TraceError for what is no file or cannot be read.
    """
    status = checked(path)
    identity = f"{path.resolve()}|{status.st_size}|{status.st_mtime_ns}|{status.st_ino}"
    known = _known_files()
    if identity not in known:
        try:
            with path.open("rb") as file:
                known[identity] = hashlib.file_digest(file, "sha256").hexdigest()[:32]
        except OSError as problem:
            raise TraceError(
                f"{path} cannot be read: {problem.strerror}. Check the file and its permissions."
            ) from None
        _remember(known)
    return f"{known[identity]}-{_reader_version()}"


def load(key: str) -> Trace | None:
    """The parsed trace under that key, memory-mapped, or None; its name in `source` is that of the file read then."""
    folder = _traces_folder() / key
    try:
        said = json.loads((folder / _SAID).read_text(encoding="utf-8"))
        tables = {name: _mapped(folder / f"{name}.arrow") for name in _TABLES}
        os.utime(folder / _SAID)
    except (OSError, ValueError, pa.ArrowInvalid):
        return None
    return Trace(
        source=TraceSource(**{**said["source"], "device_names": tuple(said["source"]["device_names"])}),
        notes=tuple(ReadingNote(**note) for note in said["notes"]),
        **tables,
    )


def store(key: str, trace: Trace) -> bool:
    """Keeps a parsed trace and makes room for it; False where nothing can be kept (a full or read-only disk)."""
    folder = _traces_folder() / key
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder.parent))
        for name in _TABLES:
            with pa.OSFile(str(draft / f"{name}.arrow"), "wb") as file:
                table = getattr(trace, name)
                with pa.ipc.new_file(file, table.schema) as writer:
                    writer.write_table(table)
        said = {"source": dataclasses.asdict(trace.source), "notes": [dataclasses.asdict(note) for note in trace.notes]}
        (draft / _SAID).write_text(json.dumps(said), encoding="utf-8")
        _put_in_place(draft, folder)
    except OSError:
        return False
    make_room(keep=key)
    return True


def make_room(keep: str = "") -> None:
    """Removes entries of other reader versions and then the least recently opened, down to the limit."""
    limit = int(os.environ.get("EXPLORER_CACHE_LIMIT_BYTES", LIMIT_BYTES))
    entries = sorted(_entries(), key=lambda entry: entry[1])
    total = sum(size for _, _, size in entries)
    for folder, _, size in entries:
        is_old = not folder.name.endswith(f"-{_reader_version()}")
        if folder.name != keep and (is_old or total > limit):
            shutil.rmtree(folder, ignore_errors=True)
            total -= size


def _entries() -> Iterator[tuple[Path, float, int]]:
    """(folder, when it was last opened, bytes) of every parsed trace."""
    for folder in _traces_folder().glob("[!.]*"):
        try:
            yield folder, (folder / _SAID).stat().st_mtime, sum(file.stat().st_size for file in folder.iterdir())
        except OSError:  # removed by another process meanwhile
            continue


def _put_in_place(draft: Path, folder: Path) -> None:
    try:
        draft.rename(folder)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        if not folder.is_dir():  # otherwise another process was faster, with the same content
            raise


def _mapped(path: Path) -> pa.Table:
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def _traces_folder() -> Path:
    return cache_folder() / "traces"


@functools.cache
def _reader_version() -> str:
    digest = hashlib.sha256()
    here = Path(__file__).parent
    for source in (*sorted(here.glob("*.py")), here.parent / "trace.py", here.parent / "spans.py"):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def _known_files() -> dict[str, str]:
    try:
        known = json.loads((cache_folder() / "files.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _remember(known: dict[str, Any]) -> None:
    path = cache_folder() / "files.json"
    recent = dict(list(known.items())[-_MOST_FILES_KNOWN:])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".files.{os.getpid()}")
        draft.write_text(json.dumps(recent), encoding="utf-8")
        draft.replace(path)
    except OSError:  # then it is hashed again next time
        return
