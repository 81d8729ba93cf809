"""Which TORCH_TRACE logs are in what a person hands in? A log alone, gzipped or not, a zip of logs, a tlparse folder.

Nothing is written to disk and nothing in a zip decides a place: its members are read, as text, and counted.
"""

from __future__ import annotations

import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import IO

from explorer.errors import TraceError
from explorer.torch_trace_log import GRAPH_BREAK, CompileLog, read_jsonl, read_log
from explorer.ui.archive import LIMIT_BYTES
from explorer.units import shortened, text

_RAW_JSONL = "raw.jsonl"
_ENDINGS = (".log", ".txt")
_MOST_MEMBERS = 20_000
_LARGEST_PAYLOAD_BYTES = 2**22
_TLPARSE_FOLDER = re.compile(r"^[^_]+_(\d{1,9})_(\d{1,9})_(\d{1,9})$")
_PAYLOAD_KINDS = ("dynamo_cpp_guards_str", GRAPH_BREAK)
_HELP = "Upload a log that TORCH_TRACE wrote, a zip of such logs, or a zip of the folder that tlparse made."


def logs_of_upload(name: str, content: bytes) -> dict[str, CompileLog]:
    """Every log that tells of a compilation or a graph break, by a name for it.

    Raises TraceError when the upload is too large, damaged, or tells of none.
    """
    name = shortened(name)
    if len(content) > LIMIT_BYTES:
        limit = text(LIMIT_BYTES, "bytes")
        raise TraceError(f"{name} has {text(len(content), 'bytes')}; up to {limit} can be uploaded. Compress it.")
    try:
        if content[:4] == b"PK\x03\x04":
            logs = _logs_of_zip(name, content)
        elif content[:2] == b"\x1f\x8b":
            logs = {name: _log_of(gzip.GzipFile(fileobj=io.BytesIO(content)), _Allowance(name))}
        else:
            logs = {name: _log_of(io.BytesIO(content), _Allowance(name))}
    except (zipfile.BadZipFile, zlib.error, gzip.BadGzipFile, NotImplementedError, EOFError, RuntimeError) as problem:
        raise TraceError(f"{name} is damaged or encrypted ({str(problem)[:200]}). {_HELP}") from None
    telling = {title: log for title, log in logs.items() if log.entries or log.breaks}
    if not telling:
        raise TraceError(f"{name} tells of no compilation. {_HELP}")
    return telling


class _Allowance:
    """How much may still come out of an upload: what is packed may be far larger than it says."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._left_bytes = LIMIT_BYTES

    def lines(self, file: IO[bytes] | gzip.GzipFile) -> Iterator[str]:
        """The file's lines as text, while they are allowed."""
        while line := file.readline(self._left_bytes + 1):
            self._left_bytes -= len(line)
            if self._left_bytes < 0:
                raise TraceError(f"{self._name} holds more than {text(LIMIT_BYTES, 'bytes')} of text. Upload one log.")
            yield line.decode("utf-8", errors="replace")


def _log_of(file: IO[bytes] | gzip.GzipFile, allowance: _Allowance) -> CompileLog:
    return read_log(allowance.lines(file))


def _logs_of_zip(name: str, content: bytes) -> dict[str, CompileLog]:
    allowance = _Allowance(name)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [info for info in archive.infolist() if not info.is_dir()]
        if len(members) > _MOST_MEMBERS:
            raise TraceError(f"{name} holds {len(members):,} files; up to {_MOST_MEMBERS:,} are read. {_HELP}")
        logs: dict[str, CompileLog] = {}
        for info in members:
            path = PurePosixPath(info.filename)
            is_log = path.suffix in _ENDINGS and not _TLPARSE_FOLDER.match(path.parent.name)
            if path.name == _RAW_JSONL:
                with archive.open(info) as file:
                    payloads = _payloads(archive, path.parent, members, allowance)
                    logs[_title(path, logs)] = read_jsonl(allowance.lines(file), payloads)
            elif is_log:
                with archive.open(info) as file:
                    logs[_title(path, logs)] = _log_of(file, allowance)
    return logs


def _payloads(
    archive: zipfile.ZipFile, folder: PurePosixPath, members: list[zipfile.ZipInfo], allowance: _Allowance
) -> dict[tuple[str, str], str]:
    """What tlparse wrote into `FOLDER/-_FRAME_ENTRY_ATTEMPT/KIND_7.txt`, by compile id with attempt, and kind."""
    payloads = {}
    for info in members:
        path = PurePosixPath(info.filename)
        place = _TLPARSE_FOLDER.match(path.parent.name)
        kind = next((kind for kind in _PAYLOAD_KINDS if path.name.startswith(kind)), None)
        if place and kind and path.parent.parent == folder and info.file_size <= _LARGEST_PAYLOAD_BYTES:
            with archive.open(info) as file:
                payloads["/".join(place.groups()), kind] = "".join(allowance.lines(file))
    return payloads


def _title(path: PurePosixPath, taken: Mapping[str, CompileLog]) -> str:
    """The folder where there is one, else the file; the whole path where that is taken."""
    short = path.parent.name or path.name
    return shortened(str(path) if short in taken else short)
