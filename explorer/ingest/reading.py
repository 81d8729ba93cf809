"""How does a path become a Trace?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from explorer.errors import TraceError
from explorer.ingest.categories import kind_of_category
from explorer.ingest.columns import Document, Longs
from explorer.ingest.link import link
from explorer.ingest.merge import rank_of
from explorer.ingest.open import OnBytes, open_source
from explorer.ingest.repair import Notes
from explorer.ingest.tolerant import read_documents
from explorer.ingest.unfilled import without_unfilled
from explorer.ingest.warm import compile_in_background, is_compiled
from explorer.trace import Trace, TraceSource

_WORTH_BYTES = 12 << 20
"""Below it the tolerant reader is done before the fast one has loaded."""
_RESOLUTIONS_NS = (1_000_000, 1_000, 250, 100, 10, 1)
_FEW = 1000
_OPTIONS = (
    "record_shapes",
    "profile_memory",
    "with_stack",
    "with_flops",
    "with_modules",
    "schemaVersion",
    "cuda_runtime_version",
    "cuda_driver_version",
    "cupti_version",
    "hip_runtime_version",
    "hip_driver_version",
    "roctracer_version",
    "trace_id",
)


def read_trace(path: Path, on_bytes: OnBytes | None = None) -> Trace:
    """The trace in a file: JSON, gzip or zip by content, whole or broken, one document or several.

    Every repair and everything left out is in `Trace.notes`. `on_bytes` hears how much of the file has been read; when
    the fast reader gives a file up it starts again from 0. Raises TraceError only when nothing can be read.
    """
    found, problem = _read_documents(path, on_bytes)
    return trace_of_documents(path, found, problem)


def trace_of_documents(path: Path, found: list[Document], problem: str) -> Trace:
    """The trace of what a reader found in the file; `problem` is what was wrong with the file as a whole.

    `found` is emptied: its columns and the tables made of them never lie in memory together.
    """
    documents = [document for document in found if document.event_count or document.head]
    with_events = [document for document in documents if document.event_count]
    if not documents:
        raise _without_events(path, problem)
    documents = [without_unfilled(document) for document in with_events or documents[:1]]
    source, notes = _trace_source(path, documents), _joined_notes(documents)
    if problem:
        notes.add("gzip_damaged", None)
    del with_events
    found.clear()
    linked = link(documents)
    return Trace(
        source=dataclasses.replace(source, base_time_ns=linked.base_time_ns),
        operators=linked.operators,
        calls=linked.calls,
        work=linked.work,
        annotations=linked.annotations,
        frames=linked.frames,
        dropped_work=linked.dropped_work,
        notes=(*notes.to_reading_notes(), *linked.notes),
    )


def _without_events(path: Path, problem: str) -> TraceError:
    """What to say of a file in which no event was found."""
    if problem:
        return TraceError(f"{path.name}: {problem}, and no trace event is left of it. Copy or record it again.")
    lines = next(open_source(path).blocks(), b"").split(b"\n", 2)[:2]
    if len(lines) == 2 and all(line.strip()[:1] == b"{" and b'"ph"' in line for line in lines):
        return TraceError(
            f"{path.name} holds an event a line (JSON lines), not one list of them. Make one with "
            f"`jq -s . {path.name} > trace.json`."
        )
    return TraceError(
        f"{path.name} holds no trace events. A trace is JSON with a traceEvents list, or a list of events; "
        "torch.profiler's export_chrome_trace writes one."
    )


def _read_documents(path: Path, on_bytes: OnBytes | None) -> tuple[list[Document], str]:
    """The file's documents by the fast reader where it is worth its start and ready, else by the tolerant one."""
    source = open_source(path, on_bytes)
    is_worth_it = source.likely_text_bytes() >= _WORTH_BYTES
    if is_worth_it and is_compiled():
        from explorer.ingest.fast import RefusedError, read_documents_fast

        try:
            return read_documents_fast(source), source.problem
        except RefusedError:
            source = open_source(path, on_bytes)
    documents = read_documents(source)
    if is_worth_it and not is_compiled():  # not sooner: the compiler would slow down this very reading
        compile_in_background()
    return documents, source.problem


def _trace_source(path: Path, documents: Sequence[Document]) -> TraceSource:
    head = documents[0].head
    info = head.get("distributedInfo")
    world_size = info.get("world_size") if isinstance(info, Mapping) else None
    counts: dict[str, int] = {}
    for document in documents:
        for category, count in document.category_counts.items():
            counts[category] = counts.get(category, 0) + count
    return TraceSource(
        name=path.name,
        size_bytes=path.stat().st_size,
        event_count=sum(counts.values()),
        resolution_ns=_resolution_ns(documents),
        device_names=_device_names(head),
        world_size=world_size if isinstance(world_size, int) else None,
        rank=rank_of(documents[0]) if len(documents) == 1 else None,
        options={name: head[name] for name in _OPTIONS if name in head},
        category_counts=counts,
        document_count=len(documents),
        process_names=_merged_names(document.process_names for document in documents),
        thread_names=_merged_names(document.thread_names for document in documents),
    )


def _merged_names(parts: Any) -> dict[str, str]:
    merged: dict[str, str] = {}
    for part in parts:
        for key, name in part.items():
            merged.setdefault(key, name)
    return merged


def _device_names(head: Mapping[str, Any]) -> tuple[str, ...]:
    properties = head.get("deviceProperties")
    if not isinstance(properties, list):
        return ()
    return tuple(str(device.get("name") or "") for device in properties if isinstance(device, Mapping))


def _resolution_ns(documents: Sequence[Document]) -> int | None:
    """The coarsest step that every recorded time is a multiple of, among those that clocks have."""
    times = [column for document in documents for column in (document.host.start_ns, document.work.start_ns)]
    times += [document.work.end_ns for document in documents]
    if sum(map(len, times)) < 2:
        return None
    return next(step for step in _RESOLUTIONS_NS if all(_are_multiples(column, step) for column in times))


def _are_multiples(times: Longs, step: int) -> bool:
    """The first few tell of most steps that they are none."""
    return step == 1 or not ((times[:_FEW] % step).any() or (times % step).any())


def _joined_notes(documents: Sequence[Document]) -> Notes:
    """All documents' notes, with the events of foreign kinds of a document that holds no others."""
    notes = Notes()
    for document in documents:
        for note in document.notes:
            notes.add(note.kind, note.first_byte, note.count)
        if not (len(document.host.start_ns) or len(document.work.start_ns)):
            notes.add("unknown_kind", None, sum(map(_foreign_count, document.category_counts.items())))
    return notes


def _foreign_count(counted: tuple[str, int]) -> int:
    """How many events of a category and its count no table takes; those without one are counted by their phase."""
    category, count = counted
    return 0 if category.startswith("ph:") or kind_of_category(category) is not None else count
