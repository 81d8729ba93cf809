"""What is the split of idle time, computed as slowly and plainly as definitions.md reads? One nanosecond at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from explorer.analysis.idle import HOST_PARTS, PARTS

_SYNCS = ("sync", "sync_copy")


@dataclass(frozen=True)
class Answer:
    """Totals over the whole trace of one device."""

    span_ns: int
    busy_ns: int
    gap_count: int
    parts: dict[str, int]
    after_sync_ns: int


def split_slowly(trace: Any, device: str) -> Answer:
    """The whole-trace figures of a device, by walking every nanosecond; for tiny traces only."""
    work = [row for row in trace.work.to_pylist() if row["device"] == device]
    calls, operators = trace.calls.to_pylist(), trace.operators.to_pylist()
    first, last = min(row["start_ns"] for row in work), max(row["end_ns"] for row in work)
    busy = [any(row["start_ns"] <= now < row["end_ns"] for row in work) for now in range(first, last)]
    parts, gap_count, after_sync = dict.fromkeys(PARTS, 0), 0, 0
    for begin, end, ending in _gaps(work, first, busy):
        gap_count += 1
        found = _split(begin, end, ending, calls, operators)
        for part, amount in found.items():
            parts[part] += amount
        if ending["call_row"] is not None and not ending["position_in_launch"] and _is_drained(ending, calls):
            after_sync += sum(found.get(part, 0) for part in HOST_PARTS)
    return Answer(last - first, sum(busy), gap_count, parts, after_sync)


def _gaps(work: list[Any], first: int, busy: list[bool]) -> list[tuple[int, int, Any]]:
    """Idle stretches; a piece that starts inside one, however short, ends it."""
    found: list[tuple[int, int, Any]] = []
    begin: int | None = None
    for now, is_busy in enumerate([*busy, True], start=first):
        starting = [row for row in work if row["start_ns"] == now]
        if begin is not None and starting:
            found.append((begin, now, min(starting, key=lambda row: row["end_ns"])))
            begin = None
        if not is_busy and begin is None:
            begin = now
    return found


def _split(begin: int, end: int, ending: Any, calls: list[Any], operators: list[Any]) -> dict[str, int]:
    if ending["call_row"] is None:
        return {"unattributed": end - begin}
    if ending["position_in_launch"] > 0:
        return {"inside_graph": end - begin}
    launch = calls[ending["call_row"]]
    until = min(max(launch["end_ns"], begin), end)
    found = {"device_latency": end - until}
    for now in range(begin, until):
        part = _doing(now, launch["thread"], calls, operators)
        found[part] = found.get(part, 0) + 1
    return found


def _doing(now: int, thread: str, calls: list[Any], operators: list[Any]) -> str:
    def open_on_thread(rows: list[Any]) -> list[Any]:
        return [row for row in rows if row["thread"] == thread and row["start_ns"] <= now < row["end_ns"]]

    kinds = {row["kind"] for row in open_on_thread(calls)}
    if kinds & set(_SYNCS):
        return "host_sync"
    if "allocator" in kinds:
        return "allocator"
    if kinds:
        return "launch_call"
    around = open_on_thread(operators)
    if not around:
        return "python_and_host"
    innermost = max(around, key=lambda row: (row["start_ns"], -row["end_ns"], operators.index(row)))
    if innermost["kind"] == "compile":
        return "compile_and_guards"
    return "dispatch"


def _is_drained(ending: Any, calls: list[Any]) -> bool:
    launch = calls[ending["call_row"]]
    on_thread = [row for row in calls if row["thread"] == launch["thread"]]
    earlier = [row["start_ns"] for row in on_thread if row["work_count"] and row["start_ns"] < launch["start_ns"]]
    since = max(earlier, default=-1)
    return any(row["is_blocking"] and since < row["end_ns"] <= launch["start_ns"] for row in on_thread)
