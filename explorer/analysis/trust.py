"""How far can this trace's figures be trusted? What is linked, found, dropped, and which verdicts that blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from explorer.analysis.kernels import launch_latencies
from explorer.analysis.lost_work import lost_launches
from explorer.analysis.metrics import graph_launches
from explorer.analysis.pieces import CPU, Pieces, devices_of, no_pieces_text, pieces_of
from explorer.analysis.windows import DeviceWindows, default_window, device_windows, has_steps
from explorer.report import Column, Metric, Report, ReportTable
from explorer.spans import NO_ROW
from explorer.trace import Trace, codes_and_words, values
from explorer.units import Number, Unit

QUESTION = "How far can this trace be trusted?"
_LINKED_ENOUGH_RATIO = 0.95
_ANYTHING_LAUNCHED = "late host, launch latency, operators behind kernels"
_ANYTHING_THAT_RAN = "kernel counts, busy time, idle and its parts"
_A_STEP = "anything a step"
_UNUSABLE = ("no_start", "far_start", "unfilled", "no_duration", "negative_duration")


@dataclass(frozen=True)
class _Entry:
    key: str
    label: str
    value: Number | None
    unit: Unit
    blocks: str = ""
    reason: str = ""


def trust_report(trace: Trace) -> Report:
    """The trust card (definitions.md), each entry with the verdicts that it blocks, and what reading repaired."""
    pieces = [pieces_of(trace, device) for device in devices_of(trace) if device != CPU]
    devices = devices_of(trace)
    windows = device_windows(trace, devices[0], default_window(trace)) if devices else None
    entries = (
        *_linking(trace, pieces),
        *_steps(trace, windows),
        *_timing(trace, pieces),
        *_losses(trace),
    )
    metrics = tuple(Metric(one.key, one.label, one.value, one.unit, None, one.reason) for one in entries)
    window = windows.text if windows else no_pieces_text(trace)
    return Report(QUESTION, window, metrics, (_blocks_table(entries), _notes_table(trace)), _notes(trace, pieces))


def _linking(trace: Trace, pieces: list[Pieces]) -> tuple[_Entry, ...]:
    total = sum(len(one.row) for one in pieces)
    linked = sum(int((one.call_row != NO_ROW).sum()) for one in pieces)
    share = linked / total if total else None
    blocks = "" if share is None or share >= _LINKED_ENOUGH_RATIO else _with_steps(trace, _ANYTHING_LAUNCHED)
    graphs = (
        np.concatenate([graph_launches(trace, one.call_row) for one in pieces]) if pieces else np.zeros(0, np.int64)
    )
    work_counts = values(trace.calls, "work_count")[graphs]
    return (
        _Entry("linked_ratio", "GPU work with a known launch", share, "ratio", blocks, "" if total else "No GPU work."),
        _Entry(
            "unlinked_count",
            "GPU work with no launch",
            total - linked,
            "count",
            "" if total == linked else "their gaps",
        ),
        _Entry("graph_launch_count", "graph launches", len(graphs), "count"),
        _Entry(
            "work_per_graph_launch",
            "GPU work a graph launch",
            float(work_counts.mean()) if len(graphs) else None,
            "count",
            "",
            "" if len(graphs) else "No graph is launched.",
        ),
    )


def _with_steps(trace: Trace, blocked: str) -> str:
    """The verdicts, and those on a step where there are any: a step's work is found by its launches."""
    return f"{blocked}, {_A_STEP}" if has_steps(trace) else blocked


def _steps(trace: Trace, windows: DeviceWindows | None) -> tuple[_Entry, ...]:
    kinds, words = codes_and_words(trace.annotations, "kind")
    count = int((kinds == words.index("step")).sum()) if "step" in words else 0
    return (
        _Entry("step_count", "steps found", count, "count", "" if windows and windows.kind == "steps" else _A_STEP),
    )


def _timing(trace: Trace, pieces: list[Pieces]) -> tuple[_Entry, ...]:
    latencies = [launch_latencies(trace, one)[0] for one in pieces]
    latency = np.concatenate(latencies) if latencies else np.zeros(0, np.int64)
    early = int((latency < 0).sum())
    cut_ns = values(trace.work, "recorded_end_ns") - values(trace.work, "end_ns")
    clipped = int((cut_ns > 0).sum())
    resolution = trace.source.resolution_ns
    coarse = resolution is not None and resolution >= 1000
    return (
        _Entry(
            "resolution_ns",
            "time resolution",
            resolution,
            "ns",
            "gaps and kernels below a few microseconds" if coarse else "",
            "" if resolution is not None else "Too few events to tell.",
        ),
        _Entry("overlap_count", "overlaps on one stream", _overlap_count(trace), "count"),
        _Entry("negative_latency_count", "work before its launch", early, "count", "launch latency" if early else ""),
        _Entry(
            "shortest_latency_ns",
            "shortest launch latency",
            int(latency.min()) if len(latency) else None,
            "ns",
            "",
            "" if len(latency) else "No launch is known.",
        ),
        _Entry("clipped_count", "implausible durations, clipped", clipped, "count", "kernel times" if clipped else ""),
        _Entry("clipped_ns", "time cut from them", int(cut_ns.sum()), "ns"),
    )


def _overlap_count(trace: Trace) -> int:
    """Pieces that start before an earlier one on their own stream has ended."""
    device, _ = codes_and_words(trace.work, "device")
    stream, stream_words = codes_and_words(trace.work, "stream")
    lane = device.astype(np.int64) * (len(stream_words) + 1) + stream
    start, end = values(trace.work, "start_ns"), values(trace.work, "end_ns")
    order = np.lexsort((end, start, lane))
    count = 0
    for group in np.split(order, np.flatnonzero(np.diff(lane[order])) + 1):
        if len(group) > 1:
            count += int((start[group][1:] < np.maximum.accumulate(end[group])[:-1]).sum())
    return count


def _losses(trace: Trace) -> tuple[_Entry, ...]:
    lost_count = len(lost_launches(trace))
    dropped = sum(note.count for note in trace.notes if note.kind in (*_UNUSABLE, "dropped_event"))
    broken = sum(note.count for note in trace.notes if note.kind in ("truncated", "gzip_damaged"))
    return (
        _Entry(
            "lost_work_count",
            "launches whose GPU work is missing",
            lost_count,
            "count",
            _with_steps(trace, _ANYTHING_THAT_RAN) if lost_count else "",
        ),
        _Entry(
            "dropped_count", "events dropped while reading", dropped, "count", "the gaps around them" if dropped else ""
        ),
        _Entry(
            "break_count",
            "places where the file breaks off",
            broken,
            "count",
            "how long the workload ran" if broken else "",
        ),
    )


def _blocks_table(entries: tuple[_Entry, ...]) -> ReportTable:
    rows = [(one.label, one.blocks) for one in entries if one.blocks]
    columns = (Column("entry", "because of", "text"), Column("blocks", "not to be trusted", "text"))
    return ReportTable("blocks", "What this blocks", columns, pd.DataFrame(rows, columns=["entry", "blocks"]))


def _notes_table(trace: Trace) -> ReportTable:
    rows = [(note.kind, note.text, note.count, note.first_byte) for note in trace.notes]
    columns = (
        Column("kind", "kind", "text"),
        Column("text", "what", "text"),
        Column("count", "how often", "count"),
        Column("first_byte", "first at byte", "count"),
    )
    frame = pd.DataFrame(rows, columns=[column.key for column in columns])
    frame["first_byte"] = frame["first_byte"].astype("Int64")
    return ReportTable("reading", "What reading repaired or left out", columns, frame)


def _notes(trace: Trace, pieces: list[Pieces]) -> tuple[str, ...]:
    notes = [note.text + "." for note in trace.notes]
    if not pieces and (lost := len(lost_launches(trace))):
        launches = "a launch" if lost == 1 else f"{lost:,} launches"
        notes.append(f"The trace has no GPU work, though {launches} submitted some: the device's records were lost.")
    early = sum(int((launch_latencies(trace, one)[0] < 0).sum()) for one in pieces)
    if early:
        notes.append(
            f"{early:,} pieces of work start before their launch does, which cannot be: the host's and the GPU's "
            "clocks are apart. Such latencies are kept as they are."
        )
    if trace.source.document_count > 1:
        notes.append(f"The file holds {trace.source.document_count} traces; their devices are kept apart.")
    return tuple(notes)
