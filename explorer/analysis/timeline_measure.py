"""What happens between two times? Busy, idle by part and kernel count, a device at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer import spans
from explorer.analysis.idle import PARTS
from explorer.analysis.timeline_build import Step, Timeline, group_of
from explorer.units import text


@dataclass(frozen=True)
class Measured:
    """One device in `[start_ns, end_ns)`. Busy, idle parts and `outside_ns` add up to the interval.

    `outside_ns` lies before the device's first gap or work or after its last. `kernel_count` counts kernels that
    start inside.
    """

    device: str
    busy_ns: int
    idle_ns: dict[str, int]
    outside_ns: int
    kernel_count: int


def measure(timeline: Timeline, start_ns: int, end_ns: int) -> list[Measured]:
    """Every device with GPU work, in the order of the rows."""
    return [_measure(timeline, device, start_ns, end_ns) for device in timeline.gaps]


def step_sentence(timeline: Timeline, step: Step | None) -> str:
    """What a step is, in half a sentence: `63.7 ms, the GPU busy 5.8 % of it with 1,726 kernels`."""
    start, end = (step.start_ns, step.end_ns) if step else (timeline.start_ns, timeline.end_ns)
    length = text(end - start, "ns")
    devices = measure(timeline, start, end)
    if not devices:
        return length
    kernels = text(sum(device.kernel_count for device in devices), "count")
    busy = sum(device.busy_ns for device in devices) / len(devices) / (end - start)
    owner = "the GPU" if len(devices) == 1 else f"{len(devices)} GPUs"
    return f"{length}, {owner} busy {text(busy, 'ratio')} of it with {kernels} kernels"


def _measure(timeline: Timeline, device: str, start_ns: int, end_ns: int) -> Measured:
    starts, ends, kernel_count = [], [], 0
    for row in timeline.rows_of("stream", "copies"):
        if row.name.group != group_of(device):
            continue
        first, last = row.window(start_ns, end_ns)
        starts.append(np.maximum(row.start_ns[first:last], start_ns))
        ends.append(np.minimum(row.end_ns[first:last], end_ns))
        event = np.arange(first, last)
        is_inside = row.start_ns[first:last] >= start_ns
        kernel_count += int(timeline.is_kernel[row.table_rows(event[is_inside])].sum())
    busy_ns = spans.union(np.concatenate(starts), np.concatenate(ends)).total
    pieces = timeline.gaps[device]
    inside = slice(
        int(np.searchsorted(pieces.end_ns, start_ns, side="right")),
        int(np.searchsorted(pieces.start_ns, end_ns, side="left")),
    )
    length = np.minimum(pieces.end_ns[inside], end_ns) - np.maximum(pieces.start_ns[inside], start_ns)
    sums = np.bincount(pieces.part[inside], weights=length, minlength=len(PARTS)).astype(np.int64)
    return Measured(
        device=device,
        busy_ns=busy_ns,
        idle_ns={part: int(total) for part, total in zip(PARTS, sums, strict=True) if total},
        outside_ns=end_ns - start_ns - busy_ns - int(sums.sum()),
        kernel_count=kernel_count,
    )
