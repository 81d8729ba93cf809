"""Which kernels run, how often and how long, and what does launching them take?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from explorer.analysis.blame import categorical
from explorer.analysis.metrics import graph_launches
from explorer.analysis.pieces import CPU, Pieces, devices_of, has_word, no_pieces_text, process_of
from explorer.analysis.windows import DeviceWindows, WindowKind, default_window, device_windows
from explorer.report import Column, Metric, Report, ReportTable
from explorer.spans import NO_ROW, Rows, Times, distinct_rows
from explorer.trace import FAMILIES, Trace, codes_and_words, values, values_or
from explorer.units import Number, Unit

QUESTION = "Which kernels run, how often and how long?"
FAMILY_LABELS = {
    "matmul": "matrix products",
    "attention": "attention",
    "norm_reduction": "norm and reduction",
    "elementwise": "elementwise",
    "copy_cast": "copy and cast",
    "embedding_gather": "embedding and gather",
    "communication": "communication",
    "memory": "memcpy and memset",
    "other": "other",
}
_CPU_QUESTION = "Which operators run, how often and how long?"
_CPU_NOTE = (
    "This trace has no GPU work. Host operators stand in for kernels, each with its self time; compiled code shows as "
    "its Torch-Compiled Region."
)


def kernel_report(trace: Trace, window: WindowKind | None = None) -> Report:
    """Kernels by family and by name, launches and operator calls; one child a device.

    Totals are sums of durations (kernels of two streams may overlap, so they can exceed busy time); `share_ratio` is
    of their sum. `window` defaults to the steps where there are any; a kernel belongs to the step that launched it.
    """
    kind = window or default_window(trace)
    children = {device: _device_report(trace, device_windows(trace, device, kind)) for device in devices_of(trace)}
    if not children:
        return Report(QUESTION, no_pieces_text(trace), notes=("This trace has no work.",))
    first = next(iter(children.values()))
    if len(children) == 1:
        return Report(first.question, first.window, first.metrics, first.tables, first.notes, children)
    notes = (f"{len(children)} devices; each has its own report.",)
    return Report(QUESTION, first.window, (), (), notes, children)


def _device_report(trace: Trace, windows: DeviceWindows) -> Report:
    chosen = windows.pieces.where(windows.window_of_piece != NO_ROW)
    step_count = max(len(windows.windows), 1)
    metrics = (
        *_count_metrics(trace, chosen, step_count),
        *_latency_metrics(trace, chosen),
        *_operator_metrics(trace, windows),
    )
    tables = (_families_table(trace, chosen, step_count), _names_table(trace, chosen, step_count))
    notes = (*windows.notes, *((_CPU_NOTE,) if chosen.is_cpu else ()))
    return Report(_CPU_QUESTION if chosen.is_cpu else QUESTION, windows.text, metrics, tables, notes)


def _count_metrics(trace: Trace, pieces: Pieces, step_count: int) -> tuple[Metric, ...]:
    launches = launches_of(pieces)
    work_count = _distinct_count(pieces)
    kernels = work_count if pieces.is_cpu else int(pieces.is_kernel.sum())
    host = None if pieces.is_cpu else len(launches)
    why = "On the CPU nothing is launched." if pieces.is_cpu else ""
    what = _what(pieces)
    graphs = 0 if pieces.is_cpu else len(graph_launches(trace, launches))
    return (
        Metric("kernel_count", what, kernels, "count"),
        Metric(
            "work_count",
            "operators in place of GPU work" if pieces.is_cpu else "pieces of GPU work",
            work_count,
            "count",
        ),
        Metric("kernels_per_step", f"{what} a step", kernels / step_count, "count", "lower"),
        Metric("host_launch_count", "host launches", host, "count", "lower", why),
        Metric(
            "host_launches_per_step",
            "host launches a step",
            None if host is None else host / step_count,
            "count",
            "lower",
            why,
        ),
        Metric("graph_launch_count", "graph launches", graphs, "count"),
        Metric("total_ns", "sum of durations", int((pieces.end_ns - pieces.start_ns).sum()), "ns", "lower"),
    )


def _what(pieces: Pieces) -> str:
    return "operators" if pieces.is_cpu else "kernels"


def _distinct_count(pieces: Pieces) -> int:
    """Pieces of work; on the CPU the operators that the pieces of self time belong to."""
    return len(distinct_rows(pieces.row)) if pieces.is_cpu else len(pieces.row)


def launches_of(pieces: Pieces) -> Rows:
    """The distinct calls that launched the pieces."""
    return distinct_rows(pieces.call_row)


def launch_latencies(trace: Trace, pieces: Pieces) -> tuple[Times, Times]:
    """(launch latency, queue time) of each launch's first piece, nanoseconds; negative ones are kept.

    Latency is from the launch's start to the work's, queue time from its end. The further pieces of a graph wait for
    each other and not for the host.
    """
    first = np.flatnonzero((pieces.call_row != NO_ROW) & (pieces.position_in_launch == 0))
    calls = pieces.call_row[first]
    started = pieces.start_ns[first]
    return started - values(trace.calls, "start_ns")[calls], started - values(trace.calls, "end_ns")[calls]


def _latency_metrics(trace: Trace, pieces: Pieces) -> tuple[Metric, ...]:
    latency, queue = launch_latencies(trace, pieces)
    why = "" if len(latency) else "No launch is known."
    early = int((latency < 0).sum())

    def quantile(times: Times, share: float) -> Number | None:
        return float(np.quantile(times, share)) if len(times) else None

    return (
        Metric("launch_latency_p50_ns", "launch latency, median", quantile(latency, 0.5), "ns", "lower", why),
        Metric("launch_latency_p90_ns", "launch latency, 90th percentile", quantile(latency, 0.9), "ns", "lower", why),
        Metric("queue_time_p50_ns", "queue time, median", quantile(queue, 0.5), "ns", None, why),
        Metric(
            "launch_latency_min_ns",
            "launch latency, shortest",
            int(latency.min()) if len(latency) else None,
            "ns",
            None,
            why,
        ),
        Metric("negative_latency_count", "work that starts before its launch (clock skew)", early, "count"),
    )


def _operator_metrics(trace: Trace, windows: DeviceWindows) -> tuple[Metric, ...]:
    """Outermost operator calls a step of the device's process: those that a model's code makes itself."""
    start = values(trace.operators, "start_ns")
    home = process_of(trace, windows.pieces)
    is_here = has_word(trace.operators, "process", (home,)) if home is not None else True
    outermost = np.flatnonzero(is_outermost_operator(trace) & is_here)
    if len(outermost) == 0:
        why = "The trace has no host operators (recorded without CPU activity, or a replayed graph)."
        return tuple(
            Metric(f"{key}_per_step", label, None, "count", None, why) for key, label in _OPERATOR_LABELS.items()
        )
    inside = _in_host_windows(windows, start[outermost])
    launching = launching_operators(trace)[outermost] & inside
    steps = max(len(windows.windows), 1)
    counts = (int(inside.sum()), int(launching.sum()), int((inside & ~launching).sum()))
    return tuple(
        Metric(f"{key}_per_step", label, count / steps, "count", "lower")
        for (key, label), count in zip(_OPERATOR_LABELS.items(), counts, strict=True)
    )


_OPERATOR_LABELS = {
    "operator_calls": "operator calls a step",
    "launching_calls": "operator calls that launch work",
    "view_calls": "operator calls that launch none (views, allocations)",
}


def is_outermost_operator(trace: Trace) -> npt.NDArray[np.bool_]:
    """Operators with no operator around them; Dynamo's own events around one do not count."""
    parent = values_or(trace.operators, "parent_row", NO_ROW)
    kinds, words = codes_and_words(trace.operators, "kind")
    is_compile = kinds == (words.index("compile") if "compile" in words else NO_ROW)
    above = parent.copy()
    while True:
        climbs = above != NO_ROW
        climbs[climbs] = is_compile[above[climbs]]
        if not climbs.any():
            return np.asarray(~is_compile & (above == NO_ROW))
        above[climbs] = parent[above[climbs]]


def launching_operators(trace: Trace) -> npt.NDArray[np.bool_]:
    """Operators inside which some call launches work."""
    parent = values_or(trace.operators, "parent_row", NO_ROW)
    launches = np.zeros(len(parent), bool)
    around = values_or(trace.calls, "operator_row", NO_ROW)[values(trace.calls, "work_count") > 0]
    current = distinct_rows(around)
    while len(current):
        launches[current] = True
        above = distinct_rows(parent[current])
        current = above[~launches[above]]
    return launches


def _in_host_windows(windows: DeviceWindows, times: Times) -> npt.NDArray[np.bool_]:
    if windows.kind == "trace":
        return np.ones(len(times), bool)
    starts = np.array([window.host_start_ns for window in windows.windows])
    ends = np.array([window.host_end_ns for window in windows.windows])
    place = np.searchsorted(starts, times, side="right") - 1
    return (
        np.asarray((place >= 0) & (times < ends[np.maximum(place, 0)])) if len(starts) else np.zeros(len(times), bool)
    )


def _families_table(trace: Trace, pieces: Pieces, step_count: int) -> ReportTable:
    codes, words = _family_codes(trace, pieces)
    frame = _summary(codes, words, pieces, step_count).rename(columns={"name": "family"})
    frame.insert(1, "label", [FAMILY_LABELS[family] for family in frame["family"]])
    places = np.argsort([FAMILIES.index(family) for family in frame["family"]], kind="stable")
    frame = frame.iloc[places].reset_index(drop=True)
    columns = (Column("family", "family", "text"), Column("label", "what", "text"), *_SUMMARY_COLUMNS)
    return ReportTable("families", f"{_what(pieces).capitalize()} by family", columns, frame)


def _names_table(trace: Trace, pieces: Pieces, step_count: int) -> ReportTable:
    codes, words = codes_and_words(trace.operators if pieces.is_cpu else trace.work, "name")
    family_codes, family_words = _family_codes(trace, pieces)
    frame = _summary(codes[pieces.row], words, pieces, step_count)
    family_of_name = dict(zip(codes[pieces.row].tolist(), family_codes.tolist(), strict=True))
    position = {word: code for code, word in enumerate(words)}
    families = [family_words[family_of_name[position[name]]] for name in frame["name"]]
    frame.insert(1, "family", families)
    frame = frame.sort_values(["total_ns", "name"], ascending=[False, True], ignore_index=True)
    columns = (
        Column("name", _what(pieces).removesuffix("s"), "text"),
        Column("family", "family", "text"),
        *_SUMMARY_COLUMNS,
    )
    return ReportTable("kernels", f"{_what(pieces).capitalize()} by name", columns, frame)


def _family_codes(trace: Trace, pieces: Pieces) -> tuple[npt.NDArray[np.int32], list[str]]:
    codes, words = codes_and_words(trace.operators if pieces.device == CPU else trace.work, "family")
    return codes[pieces.row], words


_SUMMARY: tuple[tuple[str, str, Unit], ...] = (
    ("count", "count", "count"),
    ("total_ns", "total", "ns"),
    ("share_ratio", "share", "ratio"),
    ("mean_ns", "mean", "ns"),
    ("min_ns", "shortest", "ns"),
    ("max_ns", "longest", "ns"),
    ("count_per_step", "a step", "count"),
    ("per_step_ns", "time a step", "ns"),
)
_SUMMARY_COLUMNS = tuple(Column(*one) for one in _SUMMARY)


def _summary(codes: npt.NDArray[np.int32], words: list[str], pieces: Pieces, step_count: int) -> pd.DataFrame:
    duration = pieces.end_ns - pieces.start_ns
    if pieces.is_cpu:  # an operator's self time may lie in several pieces
        _, first, member = np.unique(pieces.row, return_index=True, return_inverse=True)
        codes, duration = codes[first], np.bincount(member, weights=duration, minlength=len(first)).astype(np.int64)
    frame = pd.DataFrame({"name": categorical(codes, words), "duration_ns": duration})
    durations = frame.groupby("name", observed=True)["duration_ns"]
    summary = pd.DataFrame(
        {"count": durations.size(), "total_ns": durations.sum(), "min_ns": durations.min(), "max_ns": durations.max()}
    )
    summary["share_ratio"] = summary["total_ns"] / max(int(duration.sum()), 1)
    summary["mean_ns"] = summary["total_ns"] / summary["count"]
    summary["count_per_step"] = summary["count"] / step_count
    summary["per_step_ns"] = summary["total_ns"] / step_count
    summary.insert(0, "name", [str(name) for name in summary.index])
    return summary.reset_index(drop=True)[["name", *(column.key for column in _SUMMARY_COLUMNS)]]
