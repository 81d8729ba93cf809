"""What can be said of a file before it is read: about how many events, and which rank of one job?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from isal import igzip

from explorer.ingest.document import Text, other_keys
from explorer.ingest.open import open_source
from explorer.ingest.repair import Notes

_EVENT_MARK = b'"ph"'
_RANK_IN_NAME = re.compile(r"(?:rank|TP|DP|PP)[-_ ]?(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class TraceFile:
    """A file and what its owner calls it."""

    name: str
    path: Path


def rough_event_count(path: Path) -> int:
    """About how many events a file holds, from its first megabytes; exact for a small one. Raises TraceError."""
    source = open_source(path)
    counted, looked_at_bytes = 0, 0
    for block in source.blocks():
        if looked_at_bytes and source.read_bytes > looked_at_bytes:
            break
        looked_at_bytes = source.read_bytes
        counted += block.count(_EVENT_MARK)
    is_whole = not 0 < looked_at_bytes < source.size_bytes
    return counted if is_whole else counted * source.size_bytes // looked_at_bytes


def ranks_of(files: Sequence[TraceFile]) -> tuple[int, ...]:
    """The files' ranks where they are different ranks of one job, else empty.

    A file's `distributedInfo` decides; where one has none, its name does (`rank3`, vLLM's `rank0.`, SGLang's `TP-0`).
    Raises TraceError for a file that holds no trace.
    """
    said = [_said_rank(file.path) for file in files]
    world_sizes = {world_size for _, world_size in said if world_size is not None}
    ranks = [rank if rank is not None else _named_rank(file.name) for (rank, _), file in zip(said, files, strict=True)]
    found = tuple(rank for rank in ranks if rank is not None)
    are_of_one_job = len(found) == len(files) > 1 and len(set(found)) == len(found) and len(world_sizes) <= 1
    return found if are_of_one_job else ()


def join_files(paths: Sequence[Path], target: Path) -> None:
    """Writes several files as one that holds all their documents, gzip member after gzip member. Raises TraceError."""
    with target.open("wb") as joined:
        for path in paths:
            member = cast(BinaryIO, igzip.IGzipFile(fileobj=joined, mode="wb", compresslevel=1))  # type: ignore[no-untyped-call]
            with member:
                for block in open_source(path).blocks():
                    member.write(block)
                member.write(b"\n")


def _said_rank(path: Path) -> tuple[int | None, int | None]:
    """(rank, world size) as the head of a file's first document says."""
    head = Text(open_source(path).blocks())
    found = head.read_head()
    info = other_keys(found, b"", Notes()).get("distributedInfo") if found else None
    if not isinstance(info, Mapping):
        return None, None
    rank, world_size = info.get("rank"), info.get("world_size")
    return (rank if isinstance(rank, int) else None, world_size if isinstance(world_size, int) else None)


def _named_rank(name: str) -> int | None:
    match = _RANK_IN_NAME.search(name)
    return int(match[1]) if match else None
