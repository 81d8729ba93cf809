"""What is in this trace, and what was not recorded and can therefore not be answered?

The page of an upload: categories, processes, threads, streams, devices, versions and options, then one row for each
question that this trace cannot answer, with the option that would have recorded what it needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from explorer.analysis.lost_work import lost_launches
from explorer.analysis.pieces import threads_of
from explorer.analysis.windows import has_steps
from explorer.report import Column, Metric, Report, ReportTable
from explorer.trace import Trace, codes_and_words, values
from explorer.units import text

QUESTION = "What is in this trace, and what is not?"
_MEANINGS = {
    "cpu_op": "operators",
    "operator": "operators",
    "cuda_runtime": "runtime calls",
    "cuda_driver": "driver calls",
    "runtime": "runtime calls",
    "xpu_runtime": "runtime calls",
    "xpu_driver": "driver calls",
    "kernel": "kernels",
    "gpu_memcpy": "copies on the GPU",
    "memcpy": "copies on the GPU",
    "gpu_memset": "fills on the GPU",
    "memset": "fills on the GPU",
    "user_annotation": "annotations",
    "gpu_user_annotation": "shadows of annotations on the GPU; not work",
    "python_function": "Python frames",
    "ac2g": "flow arrows from launches to work; not needed",
    "async_cpu_to_gpu": "flow arrows from launches to work; not needed",
    "async": "flow arrows from launches to work; not needed",
    "fwdbwd": "flow arrows from forward to backward",
    "cpu_instant_event": "allocations (profile_memory)",
    "overhead": "the profiler's own overhead; not work",
    "cuda_sync": "synchronisation markers on the GPU; not work",
    "trace": "the profiler's own frame",
    "ph:m": "names of processes and threads",
    "ph:i": "marks of a moment",
}


@dataclass(frozen=True)
class _Missing:
    """Something that was not recorded."""

    what: str
    needs: str
    option: str


_NO_DEVICE = _Missing("GPU time, gaps, launches", "GPU work", "activities=[..., ProfilerActivity.CUDA] (or XPU)")
_LOST_RECORDS = _Missing(
    "GPU time, gaps, launches",
    "record of the launches' GPU work: the profiler lost it",
    "fewer steps, larger buffers (ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB in KINETO_CONFIG's file), no other profiler open",
)


def contents_report(trace: Trace) -> Report:
    """Tables `categories`, `processes`, `threads`, `streams`, `options` and `missing` (what cannot be answered)."""
    source = trace.source
    begin, end = _extent(trace)
    metrics = (
        Metric("event_count", "events", source.event_count, "count"),
        Metric("size_bytes", "file", source.size_bytes, "bytes"),
        Metric("document_count", "traces in the file", source.document_count, "count"),
        Metric("extent_ns", "from first to last event", end - begin, "ns"),
        Metric("operator_count", "operators", len(trace.operators), "count"),
        Metric("call_count", "runtime and driver calls", len(trace.calls), "count"),
        Metric("work_count", "pieces of GPU work", len(trace.work), "count"),
        Metric("annotation_count", "annotations", len(trace.annotations), "count"),
        Metric("frame_count", "Python frames", len(trace.frames), "count"),
    )
    tables = (
        _table("categories", "Kinds of events", ("category", "what", "count"), _categories(trace)),
        _table("processes", "Processes", ("process", "name", "count"), _processes(trace)),
        _table(
            "threads", "Host threads", ("process", "thread", "name", "operators", "calls", "frames"), _threads(trace)
        ),
        _table("streams", "GPU streams", ("device", "stream", "kernels", "copies", "busy_ns"), _streams(trace)),
        _table("options", "How it was recorded", ("option", "value"), _options(trace)),
        _table("missing", "What cannot be answered", ("what", "needs", "option"), _missing_rows(trace)),
    )
    return Report(QUESTION, "the whole file", metrics, tables, tuple(f"{note.text}." for note in trace.notes))


def contents_sentences(trace: Trace) -> tuple[str, str]:
    """What the trace holds, and whether anything cannot be answered from it."""
    begin, end = _extent(trace)
    devices = len(trace.devices())
    held = f"{_some(trace.source.event_count, 'event')} over {text(end - begin, 'ns')}"
    threads = {key for name in ("operators", "calls", "frames") for key in threads_of(trace, name)}
    host = f"{_some(len(trace.operators), 'operator')} on {_some(len(threads), 'host thread')}"
    work = f"{_some(len(trace.work), 'piece')} of GPU work on {_some(devices, 'device')}" if devices else "no GPU work"
    missing = len(list(_all_missing(trace)))
    lack = (
        f"{_some(missing, 'question')} cannot be answered from it: what they need was not recorded."
        if missing
        else "Everything that the pages ask was recorded."
    )
    return f"{held}: {host}, {work}.", lack


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


_LABELS = {
    "category": "category",
    "what": "what",
    "count": "events",
    "process": "process",
    "name": "name",
    "thread": "thread",
    "operators": "operators",
    "calls": "calls",
    "frames": "Python frames",
    "device": "device",
    "stream": "stream",
    "kernels": "kernels",
    "copies": "copies and fills",
    "busy_ns": "busy",
    "option": "option",
    "value": "value",
    "needs": "because there is no",
}
_COUNTS = frozenset({"count", "operators", "calls", "frames", "kernels", "copies"})


def _table(key: str, label: str, names: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> ReportTable:
    columns = tuple(
        Column(name, _LABELS[name], "ns" if name.endswith("_ns") else "count" if name in _COUNTS else "text")
        for name in names
    )
    return ReportTable(key, label, columns, pd.DataFrame(list(rows), columns=list(names)))


def _extent(trace: Trace) -> tuple[int, int]:
    tables = [
        table for table in (trace.operators, trace.calls, trace.work, trace.annotations, trace.frames) if len(table)
    ]
    if not tables:
        return 0, 0
    return (
        min(int(values(table, "start_ns").min()) for table in tables),
        max(int(values(table, "end_ns").max()) for table in tables),
    )


def _categories(trace: Trace) -> Iterator[tuple[str, str, int]]:
    for category, count in sorted(trace.source.category_counts.items(), key=lambda item: (-item[1], item[0])):
        yield category, _MEANINGS.get(category.lower(), "not used"), count


def _processes(trace: Trace) -> Iterator[tuple[str, str, int]]:
    counts: dict[str, int] = {}
    for table in (trace.operators, trace.calls, trace.annotations, trace.frames):
        codes, words = codes_and_words(table, "process")
        for word, count in zip(words, np.bincount(codes[codes >= 0], minlength=len(words)).tolist(), strict=True):
            counts[word] = counts.get(word, 0) + count
    for process in sorted(counts):
        yield process, trace.source.process_names.get(process.split("/")[-1], ""), counts[process]


def _threads(trace: Trace) -> Iterator[tuple[str, str, str, int, int, int]]:
    by_table = {name: threads_of(trace, name) for name in ("operators", "calls", "frames")}
    for process, thread in sorted({key for threads in by_table.values() for key in threads}):
        operators, calls, frames = (len(threads.get((process, thread), ())) for threads in by_table.values())
        name = trace.source.thread_names.get(f"{process.split('/')[-1]}/{thread}", "")
        yield process, thread, name, operators, calls, frames


def _streams(trace: Trace) -> Iterator[tuple[str, str, int, int, int]]:
    devices, device_words = codes_and_words(trace.work, "device")
    streams, stream_words = codes_and_words(trace.work, "stream")
    kinds, kind_words = codes_and_words(trace.work, "kind")
    is_kernel = kinds == (kind_words.index("kernel") if "kernel" in kind_words else -1)
    length = values(trace.work, "end_ns") - values(trace.work, "start_ns")
    lane = devices.astype(np.int64) * (len(stream_words) + 1) + streams
    for one in sorted(set(lane.tolist())):
        mine = lane == one
        device, stream = device_words[devices[mine][0]], streams[mine][0]
        kernels = int(is_kernel[mine].sum())
        yield (
            device,
            stream_words[stream] if stream >= 0 else "",
            kernels,
            int(mine.sum()) - kernels,
            int(length[mine].sum()),
        )


def _options(trace: Trace) -> Iterator[tuple[str, str]]:
    source = trace.source
    for name, value in source.options.items():
        yield name, str(value)
    if source.device_names:
        yield "devices", ", ".join(dict.fromkeys(name or "unnamed" for name in source.device_names))
    for name in ("rank", "world_size"):
        if getattr(source, name) is not None:
            yield name, str(getattr(source, name))


def _missing_rows(trace: Trace) -> Iterator[tuple[str, str, str]]:
    for missing in _all_missing(trace):
        yield missing.what, missing.needs, missing.option


def _all_missing(trace: Trace) -> Iterator[_Missing]:
    counts = {category.lower() for category, count in trace.source.category_counts.items() if count}
    has_work, has_operators = len(trace.work) > 0, len(trace.operators) > 0
    if not has_work:
        yield _LOST_RECORDS if len(lost_launches(trace)) else _NO_DEVICE
    if not has_operators:
        yield _Missing("operators behind kernels and gaps", "host operator", "activities=[ProfilerActivity.CPU, ...]")
    elif trace.operators["input_dims"].null_count == len(trace.operators):
        yield _Missing("moved bytes, achieved bandwidth, floors", "shape of any input", "record_shapes=True")
    elif trace.operators["input_strides"].null_count == len(trace.operators):
        yield _Missing(
            "bytes of broadcast and strided inputs", "stride", "record_shapes=True with PyTorch 2.3 or later"
        )
    if has_work and len(trace.calls) == 0:
        yield _Missing("who launched what, late host", "runtime call", "activities=[ProfilerActivity.CPU, ...]")
    if len(trace.frames) == 0:
        yield _Missing("Python lines behind a gap", "Python frame", "with_stack=True")
    if "cpu_instant_event" not in counts:
        yield _Missing("memory over time", "allocation", "profile_memory=True")
    if not has_steps(trace):
        yield _Missing("anything a step", "step mark", "profiler.step() or record_function('step#0')")
    if has_work and trace.work["registers_per_thread"].null_count == len(trace.work):
        yield _Missing("registers, occupancy", "launch detail", "NVIDIA's CUPTI records it; ROCm and XPU do not")
