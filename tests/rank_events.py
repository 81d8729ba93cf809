"""Profiler events as a file holds them, one at a time or a rank's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def event(category: str, name: str, start: int, length: int, pid: int = 1, tid: int = 1, **args: Any) -> dict[str, Any]:
    """One complete event; times in microseconds."""
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": length, "args": args}


def rank_events(rank: int, numbers: Iterable[int], late_us: int = 0, latency_us: int = 9) -> list[dict[str, Any]]:
    """One rank's launches and their work, numbered as every rank numbers its own, its host `late_us` behind."""
    events = []
    for number in numbers:
        start = 100 * number + late_us
        events.append(event("cuda_runtime", "cudaLaunchKernel", start, 5, pid=100 + rank, correlation=number))
        events.append(event("kernel", "k", start + latency_us, 3, pid=rank, device=rank, stream=7, correlation=number))
    return events
