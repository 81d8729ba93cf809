"""What does torch-tb-profiler say of this trace? A second opinion, from a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from explorer.report import Column, Metric, Report, ReportTable
from explorer.units import Unit

QUESTION = "What does torch-tb-profiler say of this trace?"
LONGEST_S = 900.0
IsCancelled = Callable[[], bool]
_LOOK_EVERY_S = 0.3
KNOWN_ERRORS = (
    "torch-tb-profiler is of 2021 to 2023 and no longer maintained. It was taught today's category names here; what "
    "remains wrong on today's traces:",
    "Its list of kernels that use tensor cores is old: nvjet, Triton and FlashAttention kernels are missing from it, "
    "so tensor-core shares come out too low, often 0.",
    "Communication is counted by the names of a few operators, and under-reported.",
    "AMD and Intel traces carry neither blocks per SM nor occupancy, so both are missing there.",
    "GPU utilisation is kernels only (no copies), over all steps by their host times.",
)
_LABELS = {
    "Kernel": "kernels",
    "Memcpy": "copies",
    "Memset": "fills",
    "Communication": "communication",
    "Runtime": "runtime calls",
    "DataLoader": "data loading",
    "CpuOp": "operators on the CPU",
    "Other": "other",
}


def second_opinion(path: Path, longest_s: float = LONGEST_S, is_cancelled: IsCancelled | None = None) -> Report:
    """Its overview, device figures, operators and kernels; metrics unknown, with the reason, where it fails.

    Slow: about 40 s and 2 GB a million events. After `longest_s` seconds, or once `is_cancelled` says so, it is
    stopped. A report without tables is one that failed.
    """
    said, why = _run(path, longest_s, is_cancelled)
    if said is None:
        return Report(QUESTION, "", _metrics({}, why), (), (why, *KNOWN_ERRORS))
    steps = said["step_names"]
    tables = (
        _split_table(said["split_us"], said["step_us"]),
        _table("devices", "Devices", _DEVICE_COLUMNS, said["devices"]),
        _table("operators", "Operators", _OPERATOR_COLUMNS, said["operators"]),
        _table("kernels", "Kernels", _KERNEL_COLUMNS, said["kernels"]),
    )
    notes = (*said["recommendations"], *KNOWN_ERRORS)
    return Report(
        QUESTION, f"{len(steps)} steps by their host times", _metrics(said, "It does not say."), tables, notes
    )


def _run(path: Path, longest_s: float, is_cancelled: IsCancelled | None) -> tuple[dict[str, Any] | None, str]:
    worker = subprocess.Popen(
        [sys.executable, "-m", "explorer.ingest.tb_worker", str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, complaint = _communicate(worker, longest_s, is_cancelled)
    except subprocess.TimeoutExpired:
        if is_cancelled is not None and is_cancelled():
            return None, "torch-tb-profiler was cancelled."
        return None, f"torch-tb-profiler was stopped after {longest_s:.0f} s; it takes about 40 s a million events."
    finally:
        if worker.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            worker.communicate()
    if worker.returncode != 0:
        last = complaint.strip().splitlines()[-1:] or [f"exit code {worker.returncode}"]
        return None, f"torch-tb-profiler cannot read this trace: {last[0]}"
    said: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    return said, ""


def _communicate(worker: subprocess.Popen[str], longest_s: float, is_cancelled: IsCancelled | None) -> tuple[str, str]:
    """All that the worker prints; raises TimeoutExpired when its time is over or nobody wants it any more."""
    until = time.monotonic() + longest_s
    while True:
        left_s = until - time.monotonic()
        try:
            return worker.communicate(timeout=max(0.0, min(left_s, _LOOK_EVERY_S)))
        except subprocess.TimeoutExpired:
            if left_s <= _LOOK_EVERY_S or (is_cancelled is not None and is_cancelled()):
                raise


def _metrics(said: dict[str, Any], why: str) -> tuple[Metric, ...]:
    devices = said.get("devices") or [{}]
    values: tuple[tuple[str, str, float | None, Unit], ...] = (
        ("step_ns", "average step", _ns(said.get("step_us")), "ns"),
        ("gpu_utilisation_ratio", "GPU utilisation", devices[0].get("utilisation_ratio"), "ratio"),
        ("sm_efficiency_ratio", "estimated SM efficiency", devices[0].get("sm_efficiency_ratio"), "ratio"),
        ("occupancy_ratio", "estimated achieved occupancy", _ratio(devices[0].get("occupancy_percent")), "ratio"),
        ("tensor_core_ratio", "kernel time on tensor cores", said.get("tensor_core_ratio"), "ratio"),
        (
            "tensor_core_eligible_ratio",
            "kernel time of eligible operators",
            said.get("tensor_core_eligible_ratio"),
            "ratio",
        ),
    )
    return tuple(
        Metric(key, label, value, unit, None, "" if value is not None else why) for key, label, value, unit in values
    )


def _ns(value_us: float | None) -> float | None:
    return None if value_us is None else value_us * 1000


def _ratio(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


def _split_table(split_us: dict[str, float | None], step_us: float | None) -> ReportTable:
    columns = (
        Column("part", "part", "text"),
        Column("per_step_ns", "a step", "ns"),
        Column("share_ratio", "share", "ratio"),
    )
    rows = [
        (_LABELS[role], (value or 0.0) * 1000, (value or 0.0) / step_us if step_us else None)
        for role, value in split_us.items()
    ]
    return ReportTable(
        "split", "Its split of the step", columns, pd.DataFrame(rows, columns=[one.key for one in columns])
    )


_DEVICE_COLUMNS = (
    Column("device", "device", "text"),
    Column("utilisation_ratio", "utilisation", "ratio"),
    Column("sm_efficiency_ratio", "estimated SM efficiency", "ratio"),
    Column("occupancy_ratio", "achieved occupancy", "ratio"),
)
_OPERATOR_COLUMNS = (
    Column("operator", "operator", "text"),
    Column("count", "calls", "count"),
    Column("device_self_ns", "device time", "ns"),
    Column("host_self_ns", "host time", "ns"),
    Column("is_tensor_core_eligible", "may use tensor cores", "text"),
    Column("tensor_core_ratio", "on tensor cores", "ratio"),
)
_KERNEL_COLUMNS = (
    Column("kernel", "kernel", "text"),
    Column("count", "count", "count"),
    Column("total_ns", "total", "ns"),
    Column("uses_tensor_cores", "tensor cores", "text"),
    Column("blocks_per_sm", "blocks per SM", "count"),
    Column("occupancy_ratio", "achieved occupancy", "ratio"),
)


def _table(key: str, label: str, columns: tuple[Column, ...], rows: list[dict[str, Any]]) -> ReportTable:
    """The rows with their microseconds as nanoseconds and their percents as ratios."""
    converted = [
        {
            **row,
            **{name.replace("_us", "_ns"): _ns(value) for name, value in row.items() if name.endswith("_us")},
            **{
                name.replace("_percent", "_ratio"): _ratio(value)
                for name, value in row.items()
                if name.endswith("_percent")
            },
        }
        for row in rows
    ]
    return ReportTable(key, label, columns, pd.DataFrame(converted, columns=[column.key for column in columns]))
