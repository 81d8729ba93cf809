"""Which figures does every shared trace give, over its steps? Made by `python -m tests.goldens.make_steps`.

Remake only when a definition changed, and read the difference line by line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from explorer.analysis.kernels import kernel_report
from explorer.analysis.machine_output import report_object
from explorer.ingest import read_trace
from explorer.trace import Trace
from tests.shared import shared_traces

GOLDEN = Path(__file__).with_name("steps.json")


def figures_of(trace: Trace) -> dict[str, Any]:
    """Metrics of each device over the steps, steps' spans, kernel time by family, and the trust card."""
    found = report_object(trace)
    return {
        "window": found["window"],
        "devices": {one["device"]: one["metrics"] for one in [*found["devices"], *filter(None, [found.get("cpu")])]},
        "step_spans_ns": {
            one["device"]: [step["metrics"]["span_ns"] for step in one.get("steps", [])] for one in found["devices"]
        },
        "family_ns": {
            device: dict(zip(families["family"], families["total_ns"].tolist(), strict=True))
            for device, families in _families(trace)
        },
        "trust": {key: value for key, value in found["trust"].items() if key not in ("blocks", "reading")},
        "reading": {note["kind"]: note["count"] for note in found["trust"]["reading"]},
    }


def _families(trace: Trace) -> list[tuple[str, Any]]:
    return [(device, report.table("families")) for device, report in kernel_report(trace).children.items()]


if __name__ == "__main__":
    figures = {path.name: figures_of(read_trace(path)) for path in shared_traces()}
    GOLDEN.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
