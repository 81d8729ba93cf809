"""What does a trace show of torch.compile? Cache look-ups (the guards' cost), compiled regions and recompiles."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from explorer.report import Metric, Report
from explorer.trace import Trace, codes_and_words, values

_REGION = re.compile(r"Torch-Compiled Region: (\d+)/(\d+)")
_LOOK_UP = "TorchDynamo Cache Lookup"
_COMPILING = "(dynamo_timed)"
"""What PyTorch appends to the names of the compiler's own phases."""


def compilation_trace_report(trace: Trace) -> Report:
    """Counts and times over the whole trace; what the trace does not show is unknown, with the reason."""
    codes, names = codes_and_words(trace.operators, "name")
    lengths_ns = values(trace.operators, "end_ns") - values(trace.operators, "start_ns")
    look_ups = np.isin(codes, _codes(names, lambda name: name.startswith(_LOOK_UP)))
    phase_count = sum(_COMPILING in name for name in trace.annotations["name"].to_pylist())
    phase_count += int(np.isin(codes, _codes(names, lambda name: _COMPILING in name)).sum())
    regions = {found.groups() for name in names if (found := _REGION.search(name))}
    step_count = max(1, sum(kind == "step" for kind in trace.annotations["kind"].to_pylist()))
    look_up_ns = int(lengths_ns[look_ups].sum())
    seen = bool(regions) or bool(look_ups.any()) or phase_count > 0
    reason = "" if seen else "The trace has no event of torch.compile."
    recompiled = sorted(f"{frame}/{entry}" for frame, entry in regions if entry != "0")
    metrics = (
        Metric("look_up_count", "guard checks", int(look_ups.sum()) if seen else None, "count", "lower", reason),
        Metric("look_up_ns", "guard checks a step", look_up_ns / step_count if seen else None, "ns", "lower", reason),
        Metric("region_count", "compiled regions", len(regions) if seen else None, "count", None, reason),
        Metric("recompile_count", "recompiled entries", len(recompiled) if seen else None, "count", "lower", reason),
        Metric("compile_event_count", "compile events", phase_count if seen else None, "count", "lower", reason),
    )
    notes = (f"Entries beyond a frame's first ran here: {', '.join(recompiled)}.",) if recompiled else ()
    return Report(question="What does the trace show of torch.compile?", window="trace", metrics=metrics, notes=notes)


def _codes(names: Sequence[str], wanted: Callable[[str], bool]) -> list[int]:
    return [code for code, name in enumerate(names) if wanted(name)]
