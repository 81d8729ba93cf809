"""Runs torch-tb-profiler's parser over one trace: `python -m explorer.ingest.tb_worker PATH`, one JSON line at the end.

The parser knows the category names of 2021 and is taught today's here. It prints, it is slow (about 40 s and 2 GB a
million events) and it may fail: that is why it runs in a process of its own.
"""

from __future__ import annotations

import contextlib
import html
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

from torch_tb_profiler.profiler import trace as tb_trace
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.event_parser import ProfileRole

from explorer.ingest.open import open_source

_MOST_ROWS = 200
_OWN_STEP = re.compile(r"^step#(\d+)$")
_TAGS = re.compile(r"<[^>]+>")


def main(path: Path) -> int:
    """Prints what the parser says of the trace; the exit code."""
    with contextlib.redirect_stdout(sys.stderr):
        _teach_todays_names()
        profile = RunProfileData.from_json("worker", None, _document(path))
    print(json.dumps(_said(profile)), flush=True)
    return 0


def _teach_todays_names() -> None:
    names = tb_trace.EventTypeMap
    for category in ("cuda_runtime", "cuda_driver", "xpu_runtime", "xpu_driver", "privateuse1_runtime"):
        names[category] = tb_trace.EventTypes.RUNTIME
    names.pop("gpu_user_annotation", None)  # it would count every step twice


def _document(path: Path) -> dict[str, Any]:
    document = json.loads(b"".join(open_source(path).blocks()))
    events = document["traceEvents"] if isinstance(document, dict) else document
    events = [event for event in events if event.get("ph") != "X" or isinstance(event.get("cat"), str)]
    for event in events:
        step = _OWN_STEP.match(str(event.get("name")))
        if step and event.get("cat") == "user_annotation":
            event["name"] = f"ProfilerStep#{step[1]}"
    return {**(document if isinstance(document, dict) else {}), "traceEvents": events}


def _said(profile: RunProfileData) -> dict[str, Any]:
    gpu = profile.gpu_metrics_parser
    costs = profile.avg_costs.costs
    return {
        "step_us": _finite(costs[ProfileRole.Total]),
        "split_us": {role.name: _finite(costs[role]) for role in ProfileRole if role is not ProfileRole.Total},
        "step_names": list(profile.steps_names),
        "devices": [
            {
                "device": str(device),
                "utilisation_ratio": _finite(gpu.gpu_utilization[device]),
                "sm_efficiency_ratio": _finite(gpu.avg_approximated_sm_efficiency_per_device[device]),
                "occupancy_percent": _finite(gpu.avg_occupancy_per_device[device]),
            }
            for device in sorted(gpu.gpu_ids)
        ],
        "tensor_core_ratio": _finite(profile.tc_used_ratio),
        "tensor_core_eligible_ratio": _finite(profile.tc_eligible_ops_kernel_ratio),
        "operators": _operators(profile),
        "kernels": _kernels(profile),
        "recommendations": [html.unescape(_TAGS.sub("", text)) for text in profile.recommendations],
    }


def _operators(profile: RunProfileData) -> list[dict[str, Any]]:
    slowest = sorted(
        profile.op_list_groupby_name, key=lambda one: (-(one.self_device_duration or 0), -one.self_host_duration)
    )
    return [
        {
            "operator": one.name,
            "count": one.calls,
            "device_self_us": _finite(one.self_device_duration),
            "host_self_us": _finite(one.self_host_duration),
            "is_tensor_core_eligible": bool(one.tc_eligible),
            "tensor_core_ratio": _finite(one.tc_self_ratio),
        }
        for one in slowest[:_MOST_ROWS]
    ]


def _kernels(profile: RunProfileData) -> list[dict[str, Any]]:
    if profile.kernel_stat is None:
        return []
    return [
        {
            "kernel": str(name),
            "count": int(row["count"]),
            "total_us": _finite(row["sum"]),
            "uses_tensor_cores": bool(row["tc_used"]),
            "blocks_per_sm": _finite(row["blocks_per_sm"]),
            "occupancy_percent": _finite(row["occupancy"]),
        }
        for name, row in profile.kernel_stat.head(_MOST_ROWS).iterrows()
    ]


def _finite(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
