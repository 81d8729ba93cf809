"""Which numbers does every device get? The keys of definitions.md's machine-readable output, computed in one place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from explorer.analysis.idle import HOST_PARTS, PARTS, Gaps, gaps_of
from explorer.analysis.windows import DeviceWindows, WindowKind, device_windows
from explorer.report import Metric
from explorer.spans import NO_ROW, Rows
from explorer.trace import Trace, codes_and_words, values
from explorer.units import Number, Unit

_LABELS: dict[str, str] = {
    "kernel_count": "kernels",
    "work_count": "pieces of GPU work",
    "linked_count": "pieces with a known launch",
    "gap_count": "gaps",
    "graph_launch_count": "graph launches",
    "span_ns": "span",
    "busy_ns": "busy",
    "idle_ns": "idle",
    "late_host_ns": "late host",
    "device_latency_ns": "device latency",
    "inside_graph_ns": "inside graph",
    "unattributed_ns": "unattributed",
    "host_sync_ns": "host sync",
    "allocator_ns": "allocator",
    "launch_call_ns": "launch call",
    "compile_and_guards_ns": "compile and guards",
    "dispatch_ns": "dispatch",
    "python_and_host_ns": "Python and host",
    "after_sync_ns": "drained by a sync",
}
METRIC_KEYS = tuple(_LABELS)
"""The keys of one device's metrics, in the order of definitions.md."""

PART_LABELS = {part: _LABELS[f"{part}_ns"] for part in PARTS}


@dataclass(frozen=True)
class DeviceFacts:
    """One device's windows and gaps; what every report about it starts from."""

    windows: DeviceWindows
    gaps: Gaps

    @property
    def device(self) -> str:
        return self.windows.pieces.device

    @property
    def step_count(self) -> int:
        """Windows looked at; the whole trace counts as one."""
        return len(self.windows.windows)


def device_facts(trace: Trace, device: str, kind: WindowKind) -> DeviceFacts:
    """Windows and gaps of one device."""
    windows = device_windows(trace, device, kind)
    return DeviceFacts(windows, gaps_of(trace, windows))


def metric_values(trace: Trace, facts: DeviceFacts, window: int | None = None) -> dict[str, Number | None]:
    """Every key of METRIC_KEYS, over all windows or over one of them; nanoseconds and counts."""
    windows, gaps = facts.windows, facts.gaps
    chosen = windows.windows if window is None else (windows.windows[window],)
    in_window = windows.window_of_piece != NO_ROW if window is None else windows.window_of_piece == window
    in_gap = np.ones(len(gaps.start_ns), bool) if window is None else gaps.window == window
    span = sum(one.length_ns for one in chosen)
    idle = int(gaps.length_ns[in_gap].sum())
    found: dict[str, Number | None] = {
        **_counts(trace, windows, in_window),
        "gap_count": int(in_gap.sum()),
        "span_ns": span,
        "busy_ns": span - idle,
        "idle_ns": idle,
        "late_host_ns": int(gaps.late_host_ns[in_gap].sum()),
        **{f"{part}_ns": int(gaps.parts[part][in_gap].sum()) for part in PARTS},
        "after_sync_ns": int(gaps.late_host_ns[in_gap & (gaps.drained_by != NO_ROW)].sum()),
    }
    return {key: found[key] for key in METRIC_KEYS}


def _counts(trace: Trace, windows: DeviceWindows, chosen: npt.NDArray[np.bool_]) -> dict[str, Number | None]:
    pieces = windows.pieces
    if pieces.is_cpu:
        operators = len(np.unique(pieces.row[chosen]))
        return {"kernel_count": operators, "work_count": operators, "linked_count": None, "graph_launch_count": 0}
    return {
        "kernel_count": int(pieces.is_kernel[chosen].sum()),
        "work_count": int(chosen.sum()),
        "linked_count": int((pieces.call_row[chosen] != NO_ROW).sum()),
        "graph_launch_count": len(graph_launches(trace, pieces.call_row[chosen])),
    }


def graph_launches(trace: Trace, call_rows: Rows) -> Rows:
    """The distinct calls among those given that launch a graph: by name, or by submitting several pieces."""
    calls = np.unique(call_rows[call_rows != NO_ROW])
    kinds, words = codes_and_words(trace.calls, "kind")
    named = kinds[calls] == (words.index("graph_launch") if "graph_launch" in words else NO_ROW)
    return np.asarray(calls[named | (values(trace.calls, "work_count")[calls] > 1)])


def to_metrics(found: dict[str, Number | None]) -> tuple[Metric, ...]:
    """The values as labelled metrics."""
    return tuple(
        Metric(
            key=key,
            label=_LABELS[key],
            value=value,
            unit=unit_of(key),
            better="lower" if key.removesuffix("_ns") in ("idle", "late_host", *HOST_PARTS) else None,
            reason="" if value is not None else "On the CPU nothing is launched.",
        )
        for key, value in found.items()
    )


def unknown_metrics(why: str) -> tuple[Metric, ...]:
    """Every key, all unknown for one reason."""
    return tuple(Metric(key, label, None, unit_of(key), None, why) for key, label in _LABELS.items())


def unit_of(key: str) -> Unit:
    """The unit that a key's ending names."""
    for ending, unit in _UNITS.items():
        if key.endswith(ending):
            return unit
    raise KeyError(key)


_UNITS: dict[str, Unit] = {"_ns": "ns", "_count": "count", "_ratio": "ratio", "_bytes": "bytes"}
