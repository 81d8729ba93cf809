"""Where do torch-tb-profiler and this product differ about one trace, and why?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from explorer.analysis.metrics import DeviceFacts, device_facts, metric_values
from explorer.analysis.pieces import CPU, devices_of
from explorer.analysis.windows import default_window
from explorer.report import Column, Report, ReportTable
from explorer.spans import union
from explorer.trace import Trace, values, values_or
from explorer.units import Number, Unit

QUESTION = "Where do two tools differ, and why?"
_GPU_STEP = "Theirs lasts until the next step's host start; ours ends with the step's own last GPU work."
_CPU_STEP = (
    "Theirs lasts until the next step's host start; ours is the step's own mark on the host: nothing ran on a GPU."
)
_COLUMNS = (
    Column("figure", "figure", "text"),
    Column("theirs", "torch-tb-profiler", "text"),
    Column("ours", "here", "text"),
    Column("unit", "unit", "text"),
    Column("why", "why they differ", "text"),
)


def beside(trace: Trace, opinion: Report) -> Report:
    """Their figures and ours in one table `figures`, each row with its unit and the reason for the difference.

    `opinion` is what `ingest.second_opinion` returned; its first device is compared with our first.
    """
    devices = devices_of(trace)
    facts = device_facts(trace, devices[0], default_window(trace)) if devices else None
    is_cpu = facts is not None and facts.device == CPU
    on_gpu = None if is_cpu else facts
    table = opinion.table("split") if opinion.tables else None
    split = {} if table is None else dict(zip(table["part"].tolist(), table["per_step_ns"].tolist(), strict=True))
    rows: list[tuple[str, Number | None, Number | None, Unit, str]] = [
        (
            "average step",
            opinion.value("step_ns"),
            _per_step(facts, "span_ns"),
            "ns",
            _CPU_STEP if is_cpu else _GPU_STEP,
        ),
        (
            "GPU utilisation",
            opinion.value("gpu_utilisation_ratio"),
            _ratio(_per_step(on_gpu, "busy_ns"), _per_step(on_gpu, "span_ns")),
            "ratio",
            "Theirs counts kernels only, over the host times of all steps; ours counts copies too, over the windows.",
        ),
        (
            "kernel time a step",
            split.get("kernels"),
            _kernel_time(on_gpu),
            "ns",
            "Theirs gives communication kernels to communication; both count overlapping streams once.",
        ),
        (
            "estimated SM efficiency",
            opinion.value("sm_efficiency_ratio"),
            None,
            "ratio",
            "Not computed here: it is blocks per SM, at most 1, by time. An SM with a block may still wait for memory.",
        ),
        (
            "achieved occupancy",
            opinion.value("occupancy_ratio"),
            _occupancy(trace, on_gpu),
            "ratio",
            "Both weigh the profiler's estimate by time; kernels without one count as 0 there and not at all here.",
        ),
        (
            "kernel time on tensor cores",
            opinion.value("tensor_core_ratio"),
            None,
            "ratio",
            "Not counted here: names alone do not tell. Theirs knows the names of 2021.",
        ),
    ]
    frame = pd.DataFrame(rows, columns=[column.key for column in _COLUMNS])
    window = facts.windows.text if facts else "a trace without work"
    return Report(QUESTION, window, (), (ReportTable("figures", "Side by side", _COLUMNS, frame),), opinion.notes)


def _per_step(facts: DeviceFacts | None, key: str) -> float | None:
    if facts is None or not facts.step_count:
        return None
    value = metric_values(facts)[key]
    return None if value is None else value / facts.step_count


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _kernel_time(facts: DeviceFacts | None) -> float | None:
    if facts is None or not facts.step_count:
        return None
    pieces = facts.windows.pieces
    kernels = pieces.where(pieces.is_kernel & (facts.windows.window_of_piece >= 0))
    return union(kernels.start_ns, kernels.end_ns).total / facts.step_count


def _occupancy(trace: Trace, facts: DeviceFacts | None) -> float | None:
    """The profiler's estimate, weighted by the time of the kernels that have one."""
    if facts is None:
        return None
    rows = facts.windows.pieces.row
    occupancy = values_or(trace.work, "occupancy_ratio", np.nan)[rows]
    length = (values(trace.work, "end_ns") - values(trace.work, "start_ns"))[rows]
    known = ~np.isnan(occupancy)
    return float(np.average(occupancy[known], weights=length[known])) if length[known].sum() else None
