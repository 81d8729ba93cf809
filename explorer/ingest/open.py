"""Which bytes are the trace, whatever the file is called? Gzip members, zip entries or plain text, by content.

Text comes out in blocks of a bounded size: nobody ever holds a whole file. What a broken gzip still gives is given,
and `Source.problem` says then what is missing.
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from isal import isal_zlib

from explorer.errors import TraceError

BLOCK_BYTES = 2 << 20
TEXT_LIMIT_BYTES = 64 << 30
PLAIN_TEXT_BYTES, MOST_PACKING = 1 << 30, 300
"""A file that unpacks to more than the first is refused when it is more than so many times its size: gzip packs up to a
thousandfold, and profilers' JSON to a twentieth at most.
"""

_IsalError = cast("type[Exception]", isal_zlib.error)  # its stubs declare an instance
_USUAL_PACKING = 14
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_UTF_16 = "UTF-16 text, and JSON is UTF-8. Save it as UTF-8"
_UNPACK = "not a profiler's JSON trace. Unpack or export it as JSON first"
_REFUSED = {
    b"\x28\xb5\x2f\xfd": f"Zstandard, {_UNPACK}",
    b"BZh": f"bzip2, {_UNPACK}",
    b"\xfd7zXZ": f"xz, {_UNPACK}",
    b"PAR1": f"Parquet, {_UNPACK}",
    b"SQLite format 3": f"an SQLite database (Nsight Systems writes them), {_UNPACK}",
    _GZIP: f"packed twice, {_UNPACK}",
    _ZIP: f"a zip inside another packed file, {_UNPACK}",
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
    b"{\x00": _UTF_16,
    b"[\x00": _UTF_16,
    b"\x00{": _UTF_16,
    b"\x00[": _UTF_16,
}
"""How a text begins that is no trace, once it is unpacked, and what it is then."""
_TAR_AT, _TAR = 257, b"ustar"
OnBytes = Callable[[int], None]


@dataclass
class Source:
    """An opened file: iterate over `blocks()` once, then ask `problem`."""

    path: Path
    size_bytes: int
    on_bytes: OnBytes | None = None
    problem: str = ""
    read_bytes: int = field(default=0)

    def likely_text_bytes(self) -> int:
        """About how much text the file holds: profilers' JSON packs to about a fourteenth."""
        with self.path.open("rb") as file:
            is_packed = file.read(2) in (_GZIP, _ZIP[:2])
        return self.size_bytes * (_USUAL_PACKING if is_packed else 1)

    def blocks(self) -> Iterator[bytes]:
        """The text, block after block; raises TraceError for content that cannot hold a trace."""
        with self.path.open("rb") as file:
            yield from self._limited(self._unpacked(file))

    def _unpacked(self, file: BinaryIO) -> Iterator[bytes]:
        head = file.read(len(_ZIP))
        file.seek(0)
        if head.startswith(_GZIP):
            return self._gzip_blocks(file)
        if head.startswith(_ZIP):
            return self._zip_blocks(file)
        return self._raw_blocks(file)

    def _raw_blocks(self, file: BinaryIO) -> Iterator[bytes]:
        while block := file.read(BLOCK_BYTES):
            self._count(len(block))
            yield block

    def _count(self, count: int) -> None:
        self.read_bytes += count
        if self.on_bytes is not None:
            self.on_bytes(self.read_bytes)

    def _gzip_blocks(self, file: BinaryIO) -> Iterator[bytes]:
        member = isal_zlib.decompressobj(wbits=31)
        member_at = text_bytes = 0
        pending = b""
        while True:
            packed = pending or file.read(BLOCK_BYTES // 2)
            if not pending:
                self._count(len(packed))
            if not packed:
                if not member.eof:
                    self.problem = "the gzip stream ends early"
                return
            try:
                text = member.decompress(packed, BLOCK_BYTES)
            except _IsalError as problem:
                self.problem = f"the gzip stream is damaged ({problem})"
                file.seek(member_at)
                yield from _behind(text_bytes, _salvaged(file))
                return
            if text:
                text_bytes += len(text)
                yield text
            pending = member.unconsumed_tail
            if member.eof:
                pending = member.unused_data or file.read(BLOCK_BYTES // 2)
                if not pending.startswith(_GZIP):  # padding after the last member
                    return
                member = isal_zlib.decompressobj(wbits=31)
                member_at, text_bytes = file.tell() - len(pending), 0

    def _zip_blocks(self, file: BinaryIO) -> Iterator[bytes]:
        try:
            archive = zipfile.ZipFile(file)
            names = [name for name in archive.namelist() if name.endswith((".json", ".json.gz", ".gz"))]
        except zipfile.BadZipFile as problem:
            raise TraceError(f"{self.path.name} is a damaged zip ({problem}). Make it again.") from None
        if not names:
            raise TraceError(f"{self.path.name} is a zip without a .json or .json.gz in it. Put the trace into it.")
        for name in sorted(names):
            yield from self._zip_entry(archive, name)
            yield b"\n"

    def _zip_entry(self, archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
        try:
            with archive.open(name) as entry:
                start = entry.read(2)
            with archive.open(name) as entry:
                whole = io.BufferedReader(entry)  # type: ignore[type-var]  # ZipExtFile is a raw stream in all but type
                yield from self._gzip_blocks(whole) if start == _GZIP else self._raw_blocks(whole)
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as problem:
            self.problem = f"{name} in the zip cannot be unpacked ({problem})"

    def _limited(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        most, total = max(PLAIN_TEXT_BYTES, MOST_PACKING * self.size_bytes), 0
        for block in blocks:
            if not total:
                self._refuse(block)
            total += len(block)
            if total > TEXT_LIMIT_BYTES:
                raise TraceError(
                    f"{self.path.name} unpacks to more than {TEXT_LIMIT_BYTES >> 30} GiB; record fewer steps."
                )
            if total > most:
                raise TraceError(
                    f"{self.path.name} unpacks to more than {total // self.size_bytes:,} times its size, as no trace "
                    "does; copy or record it again."
                )
            yield block

    def _refuse(self, begin: bytes) -> None:
        """Raises TraceError where the text begins as no trace does."""
        said = next((said for magic, said in _REFUSED.items() if begin.startswith(magic)), None)
        if begin.startswith(_TAR, _TAR_AT):
            said = f"a tar archive, {_UNPACK}"
        if said:
            raise TraceError(f"{self.path.name} is {said}.")


def _salvaged(file: BinaryIO) -> Iterator[bytes]:
    """The text of the gzip member that begins here, to the last byte before its damage.

    A decompressor that fails gives nothing of what it was handed, so it is handed less and less.
    """
    member, packed, size = zlib.decompressobj(wbits=31), b"", BLOCK_BYTES // 2
    while not member.eof:
        packed = packed or file.read(size)
        before = member.copy()
        try:
            text = member.decompress(packed[:size], BLOCK_BYTES)
        except zlib.error:
            if size == 1:
                return
            member, size = before, max(size >> 10, 1)
            continue
        if not text and not packed:  # cut off, too
            return
        yield text
        packed = member.unconsumed_tail + packed[size:]


def _behind(skipped_bytes: int, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """What follows after so many bytes."""
    for block in blocks:
        if len(block) > skipped_bytes:
            yield block[skipped_bytes:]
        skipped_bytes = max(skipped_bytes - len(block), 0)


def ahead(blocks: Iterator[bytes], reader: ThreadPoolExecutor) -> Iterator[bytes]:
    """The same blocks, each fetched by the reader's thread while the one before it is in use."""
    coming = reader.submit(next, blocks, None)
    while (block := coming.result()) is not None:
        coming = reader.submit(next, blocks, None)
        yield block


def checked(path: Path) -> os.stat_result:
    """What the system says of the file at `path`; raises TraceError where none can be."""
    try:
        status = path.stat()
    except OSError as problem:
        raise TraceError(f"{path} cannot be opened: {problem.strerror}. Check the path.") from None
    if stat.S_ISDIR(status.st_mode):
        raise TraceError(f"{path} is a folder; name the trace file in it.")
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
        raise TraceError(f"{path} is a device or a socket, not a file. Name the trace file.")
    return status


def open_source(path: Path, on_bytes: OnBytes | None = None) -> Source:
    """The file at `path`, not read yet; raises TraceError when there is none or when it is empty."""
    size = checked(path).st_size
    if size == 0:
        raise TraceError(f"{path} is empty. Record or copy it again.")
    return Source(path, size, on_bytes)
