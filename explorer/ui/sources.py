"""Which runs are there to look at, and what is each? Ids are `sample:NAME`, `run:NAME` and `upload:HASH`.

An id from an address is only ever looked up among the sources that exist; no part of it becomes a path.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import streamlit as st

from explorer.errors import ExplorerError, RecordingError, TraceError
from explorer.facts import Facts, RunState
from explorer.recording import FACTS_FILE, SETTINGS_FILE, TRACE_FILE, Recording
from explorer.settings import MODES, RunSettings
from explorer.ui.archive import LIMIT_BYTES, holds_recording, unpack
from explorer.ui.jobs import end_run
from explorer.ui.marking import marked
from explorer.ui.places import runs_folder, samples_folder, uploads_folder
from explorer.units import shortened, text

SourceKind = Literal["sample", "run", "upload"]
KIND_LABELS: dict[SourceKind, str] = {"sample": "bundled", "run": "measured here", "upload": "uploaded"}
_NAME_FILE = "upload.json"
_HASH_LENGTH = 32
_KEPT_COUNT = 2000
_HEAD_BYTES = 4096

_MADE_AT = re.compile(r"\d{8}-(\d\d)(\d\d)(\d\d)-(.+)")
"""Hours, minutes, seconds and letter of a run's folder, as `places.new_run_folder` names it."""


@dataclass(frozen=True)
class Source:
    """One run or trace that can be chosen as A or B. `problem` says why it cannot be opened, else it is empty.

    The title carries the mark of wrong results, so that it stands wherever the run's name is written.
    """

    source_id: str
    kind: SourceKind
    title: str
    folder: Path
    trace_path: Path
    settings: RunSettings | None = None
    facts: Facts | None = None
    state: RunState | None = None
    problem: str = ""

    @property
    def has_trace(self) -> bool:
        return not self.problem and self.trace_path.is_file()

    @property
    def stamp(self) -> str:
        """Changes whenever the files behind this source do; the key of everything cached about it."""
        return _stamp(self.folder, self.trace_path)


def all_sources() -> list[Source]:
    """Bundled runs in their order, then a person's own, newest first, then this session's uploads.

    Recordings of other experiments are not runs: `experiment_sources` lists them.
    """
    samples = sorted((_read_folder(folder, "sample") for folder in _run_folders(samples_folder())), key=_teaching_order)
    runs = [_read_folder(folder, "run") for folder in reversed(_run_folders(runs_folder()))]
    folders = [uploads_folder() / name for name in session_uploads() if _exists(name)]
    uploads = [_read_upload(folder) for folder in folders if experiment_of(folder) == RunSettings.experiment]
    return _with_distinct_titles([*samples, *runs, *uploads])


def experiment_of(folder: Path) -> str:
    """The experiment that a recording's folder is of; a bare trace or an unreadable folder counts as a run."""
    path = folder / SETTINGS_FILE
    if not path.is_file():
        return RunSettings.experiment
    status = path.stat()
    return _experiment(str(path), f"{status.st_mtime_ns}.{status.st_size}")


def recording_folders(parent: Path) -> list[Path]:
    """The recordings in a folder, of any experiment, by name."""
    if not parent.is_dir():
        return []
    return sorted(path for path in parent.iterdir() if (path / SETTINGS_FILE).is_file())


def session_uploads() -> list[str]:
    """Names of the folders that this session uploaded."""
    return list(st.session_state.get("uploads", []))


def find_source(source_id: str | None, sources: Iterable[Source]) -> Source | None:
    """The source with that id; an upload of another session is found by its hash, which nobody can guess."""
    if not source_id:
        return None
    for source in sources:
        if source.source_id == source_id:
            return source
    name = source_id.removeprefix("upload:")
    if name != source_id and name.isalnum() and len(name) == _HASH_LENGTH and _exists(name):
        return _read_upload(uploads_folder() / name)
    return None


def default_pair(sources: list[Source]) -> tuple[str | None, str | None]:
    """What opens first: bundled eager and compile + CUDA graph of one model, else the first two that have a trace."""
    usable = [source for source in sources if source.has_trace]
    samples = [source for source in usable if source.kind == "sample" and source.settings is not None]
    for eager in samples:
        for other in samples:
            if eager.settings and other.settings and _is_showcase(eager.settings, other.settings):
                return eager.source_id, other.source_id
    ids = [source.source_id for source in usable[:2]]
    return (ids[0] if ids else None, ids[-1] if ids else None)


def add_upload(name: str, content: bytes) -> str:
    """Keeps an uploaded trace or recording zip, lists it in this session and returns its source id.

    Raises TraceError or RecordingError when it is too large or not what its ending says. The same content twice is
    one upload.
    """
    source_id = keep_upload(name, content)
    list_upload(source_id)
    return source_id


def keep_upload(name: str, content: bytes) -> str:
    """As `add_upload`, but not listed yet: it is still to be read."""
    if len(content) > LIMIT_BYTES:
        raise TraceError(
            f"{shortened(name)} has {text(len(content), 'bytes')}; up to {text(LIMIT_BYTES, 'bytes')} can be "
            "uploaded. Compress it with gzip, or use `explorer report` on the command line."
        )
    digest = hashlib.sha256(content).hexdigest()
    return keep_folder(digest, lambda folder: _keep(name, content, folder))


def keep_folder(digest: str, write: Callable[[Path], None]) -> str:
    """The source id of the upload with that hexadecimal digest, its folder written by `write` where there is none."""
    name = digest[:_HASH_LENGTH]
    folder = uploads_folder() / name
    if not folder.exists():
        draft = uploads_folder() / f".{name}"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        try:
            write(draft)
        except ExplorerError:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        draft.rename(folder)
    return f"upload:{name}"


def list_upload(source_id: str) -> None:
    """Makes an upload one of this session's sources."""
    name = source_id.removeprefix("upload:")
    if name not in session_uploads():
        st.session_state["uploads"] = [*session_uploads(), name]


def write_upload(folder: Path, name: str, path: Path | None = None) -> None:
    """Writes what an upload is called, and where its trace lies when that is not in the folder itself."""
    said = {"name": name} if path is None else {"name": name, "path": str(path)}
    (folder / _NAME_FILE).write_text(json.dumps(said), encoding="utf-8")


def delete_run(source: Source) -> None:
    """Deletes a person's own run or drops an upload from this session; bundled recordings stay."""
    if source.kind == "run":
        end_run(source.folder.name)
        shutil.rmtree(source.folder, ignore_errors=True)
    elif source.kind == "upload":
        st.session_state["uploads"] = [name for name in session_uploads() if name != source.folder.name]


def _keep(name: str, content: bytes, folder: Path) -> None:
    if content[:4] == b"PK\x03\x04":
        if holds_recording(content):
            unpack(content, folder)
        else:
            (folder / "trace.zip").write_bytes(content)
    elif content[:2] == b"\x1f\x8b":
        (folder / TRACE_FILE).write_bytes(content)
    elif content[:_HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        (folder / "trace.json").write_bytes(content)
    else:
        raise TraceError(
            f"{shortened(name)} is neither JSON, gzip nor zip. Upload a .json or .json.gz that the PyTorch profiler "
            "exported, or a .zip that the Library made."
        )
    write_upload(folder, name)


def _read_upload(folder: Path) -> Source:
    said = json.loads((folder / _NAME_FILE).read_text(encoding="utf-8"))
    if (folder / SETTINGS_FILE).exists():
        return _read_folder(folder, "upload")
    paths = [folder / name for name in (TRACE_FILE, "trace.json", "trace.zip")]
    path = Path(said["path"]) if "path" in said else next((path for path in paths if path.exists()), paths[0])
    return Source(f"upload:{folder.name}", "upload", shortened(str(said["name"]), 60), folder, path)


def _read_folder(folder: Path, kind: SourceKind) -> Source:
    source_id = f"{kind}:{folder.name}"
    trace_path = folder / TRACE_FILE
    try:
        settings, facts = _read_recording(str(folder), _stamp(folder, trace_path))
        state = facts.state if facts and facts.state != "running" else Recording(folder).state()
    except RecordingError as problem:
        return Source(source_id, kind, folder.name, folder, trace_path, problem=str(problem))
    return Source(source_id, kind, marked(settings.title, facts), folder, trace_path, settings, facts, state)


@lru_cache(
    maxsize=_KEPT_COUNT
)  # every script run asks for each recording; Streamlit's own cache costs 0.3 ms a question
def _read_recording(folder: str, stamp: str) -> tuple[RunSettings, Facts | None]:
    del stamp  # only part of the cache's key
    recording = Recording(Path(folder))
    facts = recording.facts() if (Path(folder) / FACTS_FILE).exists() else None
    return recording.settings(), facts


def _stamp(folder: Path, trace_path: Path) -> str:
    parts = []
    for path in (folder / SETTINGS_FILE, folder / FACTS_FILE, folder / "end.json", trace_path):
        if path.exists():
            status = path.stat()
            parts.append(f"{status.st_mtime_ns}.{status.st_size}")
        else:
            parts.append("-")
    return " ".join(parts)


def _run_folders(parent: Path) -> list[Path]:
    return [folder for folder in recording_folders(parent) if experiment_of(folder) == RunSettings.experiment]


@lru_cache(maxsize=_KEPT_COUNT)
def _experiment(path: str, stamp: str) -> str:
    del stamp  # only part of the cache's key
    try:
        return str(json.loads(Path(path).read_text(encoding="utf-8")).get("experiment", RunSettings.experiment))
    except (ValueError, AttributeError):
        return RunSettings.experiment


def _exists(upload_name: str) -> bool:
    return (uploads_folder() / upload_name / _NAME_FILE).is_file()


def _is_showcase(eager: RunSettings, other: RunSettings) -> bool:
    same = (eager.model, eager.batch_size, eager.phase, eager.device) == (
        other.model,
        other.batch_size,
        other.phase,
        other.device,
    )
    plain = not (other.joined_projections or other.autotune)
    return same and plain and eager.phase == "decode" and (eager.mode, other.mode) == ("eager", "compile_cuda_graph")


def _teaching_order(source: Source) -> tuple[int, int, int]:
    """GPU before CPU, decode before prefill, then from eager on to what is fastest."""
    settings = source.settings
    if settings is None:
        return (2, 0, 0)
    extras = settings.joined_projections + settings.autotune
    return (settings.device == "cpu", settings.phase == "prefill", MODES.index(settings.mode) * 10 + extras)


def _with_distinct_titles(sources: list[Source]) -> list[Source]:
    """Titles that occur twice get behind them what tells them apart: when it was measured, or that one is bundled."""
    told = sources
    for word in (_origin, lambda source: source.folder.name):
        titles = [source.title for source in told]
        told = [
            now if titles.count(now.title) == 1 else replace(now, title=f"{first.title} · {word(first)}")
            for first, now in zip(sources, told, strict=True)
        ]
    return told


def _origin(source: Source) -> str:
    if source.kind == "sample":
        return "bundled"
    made = _MADE_AT.fullmatch(source.folder.name)
    return f"measured {made[1]}:{made[2]}:{made[3]}, {made[4].upper()}" if made else source.folder.name[:8]
