"""What happens between two times? Busy, idle by part and kernel count, a device at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer import spans
from explorer.analysis.idle import PARTS
from explorer.analysis.timeline_build import Step, Timeline
from explorer.trace import codes_and_words, values
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
    work = timeline.trace.work
    devices, words = codes_and_words(work, "device")
    kinds, kind_words = codes_and_words(work, "kind")
    start, end = values(work, "start_ns"), values(work, "end_ns")
    here = (devices == words.index(device)) & (start < end_ns) & (end > start_ns)
    cover = spans.union(np.maximum(start[here], start_ns), np.minimum(end[here], end_ns))
    is_kernel = here & (kinds == kind_words.index("kernel")) if "kernel" in kind_words else here & False
    pieces = timeline.gaps[device]
    length = np.minimum(pieces.end_ns, end_ns) - np.maximum(pieces.start_ns, start_ns)
    inside = length > 0
    sums = np.bincount(pieces.part[inside], weights=length[inside], minlength=len(PARTS)).astype(np.int64)
    return Measured(
        device=device,
        busy_ns=cover.total,
        idle_ns={part: int(total) for part, total in zip(PARTS, sums, strict=True) if total},
        outside_ns=end_ns - start_ns - cover.total - int(sums.sum()),
        kernel_count=int((is_kernel & (start >= start_ns)).sum()),
    )
