"""How do the answers look to a program? The one JSON object of `explorer report PATH --json` (definitions.md)."""

from __future__ import annotations

import dataclasses
from typing import Any

from explorer.analysis.findings import trace_findings
from explorer.analysis.metrics import DeviceFacts, device_facts, metric_values
from explorer.analysis.pieces import CPU, devices_of
from explorer.analysis.trust import trust_report
from explorer.analysis.windows import WindowKind, default_window
from explorer.report import metrics_to_json
from explorer.trace import Trace


def report_object(trace: Trace, window: WindowKind | None = None) -> dict[str, Any]:
    """`{"source", "window", "trust", "findings", "devices": [{"device", "metrics", "steps"}]}`, ready for json.dumps.

    Integers are nanoseconds, bytes and counts; unknown is None. `devices` holds devices with GPU work only; a trace
    without any has its host operators under `cpu`, in the same shape.
    """
    kind = window or default_window(trace)
    facts = [device_facts(trace, device, kind) for device in devices_of(trace)]
    found = {
        "source": _source(trace),
        "window": kind,
        "trust": _trust(trace),
        "findings": list(trace_findings(facts)),
        "devices": [_device(one) for one in facts if one.device != CPU],
    }
    for one in facts:
        if one.device == CPU:
            found["cpu"] = _device(one)
    return found


def _source(trace: Trace) -> dict[str, Any]:
    fields = dataclasses.asdict(trace.source)
    return {key: value for key, value in fields.items() if key not in ("process_names", "thread_names")}


def _trust(trace: Trace) -> dict[str, Any]:
    report = trust_report(trace)
    return {
        **metrics_to_json(report),
        "blocks": [
            {"because": row.entry, "not_to_be_trusted": row.blocks}
            for row in report.table("blocks").itertuples(index=False)
        ],
        "reading": [dataclasses.asdict(note) for note in trace.notes],
    }


def _device(facts: DeviceFacts) -> dict[str, Any]:
    windows = facts.windows
    one: dict[str, Any] = {
        "device": facts.device,
        "window": windows.text,
        "metrics": metric_values(facts),
        "notes": list(windows.notes),
    }
    if windows.kind == "steps":
        one["between_steps_ns"] = windows.between_ns
        one["steps"] = [
            {
                "name": window.name,
                "index": window.index,
                "start_ns": window.start_ns,
                "end_ns": window.end_ns,
                "pitch_ns": window.pitch_ns,
                "metrics": metric_values(facts, number),
            }
            for number, window in enumerate(windows.windows)
        ]
    return one
