"""How does a recording travel as one zip file, and which zip files are safe to open?

A zip is only read through its directory: nothing in it decides where a file is written. Accepted are the known file
names of a recording, at the top or in one folder, each once and within its size.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from explorer.errors import RecordingError
from explorer.recording import (
    FACTS_FILE,
    RECORDING_FILES,
    RESULTS_FILE,
    SETTINGS_FILE,
    TORCH_TRACE_FILE,
    TRACE_FILE,
    Recording,
)
from explorer.units import text

LIMIT_MEGABYTES = 500
LIMIT_BYTES = LIMIT_MEGABYTES * 10**6
"""Most that a file which a person hands in may have, as the browser counts it, and most that a zip may hold."""
_SMALL_LIMIT_BYTES = 16 * 2**20
_CHUNK_BYTES = 2**20
_PACKED_FILES = (TRACE_FILE, TORCH_TRACE_FILE)
_ENCRYPTED = 1
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def pack(folder: Path) -> bytes:
    """The recording's files as one zip, in a folder of its own name; missing files are left out."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in RECORDING_FILES:
            path = folder / name
            if path.is_file():
                # These are compressed already; deflating them again costs seconds and saves nothing.
                kind = zipfile.ZIP_STORED if name in _PACKED_FILES else zipfile.ZIP_DEFLATED
                archive.write(path, f"{folder.name}/{name}", compress_type=kind)
    return packed.getvalue()


def holds_recording(packed: bytes) -> bool:
    """Whether a zip is meant as a recording, by the name of its settings; any other may hold a trace.

    A damaged zip is taken for a recording: `unpack` says what is wrong with it.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            names = [PurePosixPath(name).name for name in archive.namelist()]
    except zipfile.BadZipFile:
        return True
    return SETTINGS_FILE in names or not any(name.endswith((".json", ".json.gz")) for name in names)


def unpack(packed: bytes, folder: Path) -> Recording:
    """Writes the recording in a zip into the new `folder`; raises RecordingError for anything else than a recording."""
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            members = _members(archive)
            folder.mkdir(parents=True, exist_ok=True)
            for name, member in members.items():
                _write(archive, member, folder / name)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as problem:
        raise RecordingError(f"The zip file is damaged ({problem}). Download it again.") from None
    recording = Recording(folder)
    recording.experiment_settings()
    recording.facts()
    return recording


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The files of the one recording in the archive, by their name in the recording."""
    members: dict[str, zipfile.ZipInfo] = {}
    parents = set()
    for info in archive.infolist():
        if info.is_dir():
            continue
        path = PurePosixPath(info.filename)
        is_known = path.name in RECORDING_FILES and len(path.parts) <= 2 and path.name not in members
        if not is_known or info.flag_bits & _ENCRYPTED or info.compress_type not in _COMPRESSIONS:
            raise RecordingError(
                f"The zip holds {info.filename!r}, which is no file of one recording. "
                "Upload a zip that the Library made, or the trace file alone."
            )
        parents.add(path.parent)
        members[path.name] = info
    measured = RESULTS_FILE if RESULTS_FILE in members else TRACE_FILE  # not every experiment profiles
    missing = [name for name in (SETTINGS_FILE, FACTS_FILE, measured) if name not in members]
    if missing or len(parents) != 1:
        raise RecordingError(
            f"The zip is no recording: {', '.join(missing) or 'its files lie in several folders'}"
            f"{' missing' if missing else ''}. Upload a zip that the Library made, or the trace file alone."
        )
    return members


def _write(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> None:
    """Copies one file, counting what really comes out: a zip's own sizes may lie."""
    limit = LIMIT_BYTES if target.name in _PACKED_FILES else _SMALL_LIMIT_BYTES
    written = 0
    with archive.open(member) as packed, target.open("wb") as unpacked:
        while chunk := packed.read(_CHUNK_BYTES):
            written += len(chunk)
            if written > limit:
                raise RecordingError(
                    f"{target.name} in the zip is larger than {text(limit, 'bytes')}. Record fewer profiled steps."
                )
            unpacked.write(chunk)
