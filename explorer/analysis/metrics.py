"""Which numbers does every device get? The keys of definitions.md's machine-readable output, computed in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from explorer.analysis.idle import HOST_PARTS, PARTS, Gaps, gaps_of
from explorer.analysis.lost_work import lost_launches_of
from explorer.analysis.pieces import Pieces
from explorer.analysis.windows import DeviceWindows, WindowKind, device_windows
from explorer.report import Metric
from explorer.spans import NO_ROW, Rows, Times, distinct_rows
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
_CPU_LABELS = {
    "kernel_count": "operators",
    "work_count": "operators in place of GPU work",
    "linked_count": "operators with a known launch",
}
METRIC_KEYS = tuple(_LABELS)
"""The keys of one device's metrics, in the order of definitions.md."""

PART_LABELS = {part: _LABELS[f"{part}_ns"] for part in PARTS}


@dataclass(frozen=True)
class DeviceFacts:
    """One device's windows and gaps; what every report about it starts from."""

    windows: DeviceWindows
    gaps: Gaps
    by_window: Mapping[str, Times | None]  # every key of METRIC_KEYS with a value a window; None: it has no meaning
    lost_launch_count: int  # launches of its process whose work the trace does not hold

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
    gaps = gaps_of(trace, windows)
    lost_count = len(lost_launches_of(trace, windows.pieces))
    return DeviceFacts(windows, gaps, _window_values(trace, windows, gaps), lost_count)


def metric_values(facts: DeviceFacts, window: int | None = None) -> dict[str, Number | None]:
    """Every key of METRIC_KEYS, over all windows or over one of them; nanoseconds and counts."""
    by_window = facts.by_window.items()
    if window is not None:
        return {key: None if column is None else int(column[window]) for key, column in by_window}
    return {key: None if column is None else int(column.sum()) for key, column in by_window}


def _window_values(trace: Trace, windows: DeviceWindows, gaps: Gaps) -> dict[str, Times | None]:
    edges = np.searchsorted(gaps.window, np.arange(len(windows.windows) + 1))  # gaps stand in their windows' order

    def sums(amounts: Times) -> Times:
        """By window."""
        return np.asarray(np.diff(np.concatenate([[0], np.cumsum(amounts)])[edges]))

    span = np.array([one.length_ns for one in windows.windows], np.int64)
    idle = sums(gaps.length_ns)
    found: dict[str, Times | None] = {
        **_counts(trace, windows),
        "gap_count": sums(np.ones(len(gaps.window), np.int64)),
        "span_ns": span,
        "busy_ns": span - idle,
        "idle_ns": idle,
        "late_host_ns": sums(gaps.late_host_ns),
        **{f"{part}_ns": sums(gaps.parts[part]) for part in PARTS},
        "after_sync_ns": sums(np.where(gaps.drained_by != NO_ROW, gaps.late_host_ns, 0)),
    }
    return {key: found[key] for key in METRIC_KEYS}


def _counts(trace: Trace, windows: DeviceWindows) -> dict[str, Times | None]:
    pieces, member = windows.pieces, windows.window_of_piece
    inside = member != NO_ROW
    count = len(windows.windows)

    def by_window(chosen: npt.NDArray[np.bool_]) -> Times:
        return np.bincount(member[chosen], minlength=count)

    if pieces.is_cpu:
        operators = by_window(inside & _is_first(pieces.row, len(trace.operators)))
        nothing = np.zeros(count, np.int64)
        return {
            "kernel_count": operators,
            "work_count": operators,
            "linked_count": None,
            "graph_launch_count": nothing,
        }
    return {
        "kernel_count": by_window(inside & pieces.is_kernel),
        "work_count": by_window(inside),
        "linked_count": by_window(inside & (pieces.call_row != NO_ROW)),
        "graph_launch_count": by_window(_first_of_graph_launch(trace, pieces) & inside),
    }


def _first_of_graph_launch(trace: Trace, pieces: Pieces) -> npt.NDArray[np.bool_]:
    """The first piece on this device of each graph launch."""
    graphs = graph_launches(trace, pieces.call_row)
    is_graph = np.zeros(len(trace.calls) + 1, bool)  # the last one serves NO_ROW
    is_graph[graphs] = True
    return is_graph[pieces.call_row] & _is_first(pieces.call_row, len(trace.calls))


def _is_first(rows: Rows, row_count: int) -> npt.NDArray[np.bool_]:
    """Whether each is the first to name its row."""
    first = np.full(row_count + 1, len(rows), np.int64)
    np.minimum.at(first, rows, np.arange(len(rows)))
    return np.asarray(first[rows] == np.arange(len(rows)))


def graph_launches(trace: Trace, call_rows: Rows) -> Rows:
    """The distinct calls among those given that launch a graph: by name, or by submitting several pieces."""
    calls = distinct_rows(call_rows)
    kinds, words = codes_and_words(trace.calls, "kind")
    named = kinds[calls] == (words.index("graph_launch") if "graph_launch" in words else NO_ROW)
    return np.asarray(calls[named | (values(trace.calls, "work_count")[calls] > 1)])


def to_metrics(found: dict[str, Number | None], *, is_cpu: bool = False) -> tuple[Metric, ...]:
    """The values as labelled metrics, in the words of the GPU or of the CPU."""
    labels = {**_LABELS, **_CPU_LABELS} if is_cpu else _LABELS
    return tuple(
        Metric(
            key=key,
            label=labels[key],
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
