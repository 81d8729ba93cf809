"""How are TORCH_TRACE logs kept? In one zip, without the machine's folders, still in the form that tlparse opens."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

_PROJECT = str(Path(__file__).resolve().parents[2])


def log_text(folder: Path) -> str:
    """The log that a process left in its TORCH_TRACE folder, machine's folders cut; empty when it left none."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.glob("*.log"))]
    return "\n".join(_without_places(text) for text in texts)


def keep_log(archive: Path, name: str, text: str) -> None:
    """Adds a log to the zip as `NAME/dedicated_log_torch_trace.log`: a folder for tlparse.

    A zip's list of contents is overwritten in place: an ending in between would lose every log, so a copy grows.
    """
    draft = archive.with_name(f".{archive.name}")
    if archive.exists():
        shutil.copyfile(archive, draft)
    with zipfile.ZipFile(draft, "a" if archive.exists() else "w", zipfile.ZIP_DEFLATED) as kept:
        kept.writestr(f"{name}/dedicated_log_torch_trace.log", text)
    draft.replace(archive)


def _without_places(text: str) -> str:
    for place, word in (
        (f"{sys.prefix}/", ""),
        (f"{sys.base_prefix}/", ""),
        (f"{_PROJECT}/", ""),
        (f"{Path.cwd()}/", ""),
    ):
        text = text.replace(place, word)
    return "\n".join(_with_sums(text.split("\n")))


def _with_sums(lines: list[str]) -> Iterator[str]:
    """The lines with every record's `has_payload`, an MD5 sum of the payload, made right again."""
    at = 0
    while at < len(lines):
        end = at + 1
        while end < len(lines) and lines[end].startswith("\t"):
            end += 1
        yield _with_sum(lines[at], [line[1:] for line in lines[at + 1 : end]])
        yield from lines[at + 1 : end]
        at = end


def _with_sum(line: str, payload: list[str]) -> str:
    head, brace, record_text = line.partition("] {")
    if not brace or not payload or '"has_payload"' not in record_text:
        return line
    try:
        record = json.loads("{" + record_text)
    except ValueError:
        return line
    record["has_payload"] = hashlib.md5("\n".join(payload).encode(), usedforsecurity=False).hexdigest()
    return f"{head}] {json.dumps(record)}"
