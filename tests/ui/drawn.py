"""Recordings drawn for page tests: two steps of known length with known kernels, written as the profiler writes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from explorer.facts import Calibration, Correctness, Environment, Facts, Failure, Profile, facts_to_json
from explorer.recording import FACTS_FILE, LOG_FILE, SETTINGS_FILE, TRACE_FILE, write_json
from explorer.settings import RunSettings

KERNELS = (
    ("aten::mm", "nvjet_tst_128x8_64x12_1x2_h_bz_TNT", 30),
    ("aten::mul", "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>>(int)", 5),
    ("aten::scaled_dot_product_attention", "pytorch_flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits>", 10),
)
STEP_US = 500.0


def write_recording(
    folder: Path,
    settings: RunSettings,
    *,
    launch_pitch_us: float = 100.0,
    step_ns: int = 400_000,
    passed: bool = True,
    state: str = "finished",
    with_trace: bool = True,
) -> Path:
    """A recording of two steps of three kernels; a smaller pitch of launches means less idle time."""
    folder.mkdir(parents=True)
    write_json(folder / SETTINGS_FILE, settings.to_json())
    write_json(folder / FACTS_FILE, facts_of(settings, step_ns=step_ns, passed=passed, state=state))
    (folder / LOG_FILE).write_text("environment\nbuild\n", encoding="utf-8")
    if with_trace:
        write_trace(folder, launch_pitch_us)
    return folder


def write_trace(folder: Path, launch_pitch_us: float, *, without: Collection[str] = ()) -> None:
    """The trace file alone, without the events of those categories."""
    events = [event for event in trace_events(launch_pitch_us) if event["cat"] not in without]
    with gzip.open(folder / TRACE_FILE, "wt", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)


def trace_events(launch_pitch_us: float = 100.0, step_count: int = 2) -> list[dict[str, Any]]:
    """Events of `step_count` steps; each kernel is launched from within its operator, 5 us before it starts."""
    events: list[dict[str, Any]] = []
    for step in range(step_count):
        begin = 1000.0 + step * 1000.0
        events.append(_host("user_annotation", f"step#{step}", begin, STEP_US))
        for position, (operator, kernel, length) in enumerate(KERNELS):
            at = begin + 10 + position * launch_pitch_us
            correlation = step * 10 + position + 1
            events.append(_host("cpu_op", operator, at, 20))
            events.append(_host("cuda_runtime", "cudaLaunchKernel", at + 8, 6, {"correlation": correlation}))
            arguments = {"correlation": correlation, "stream": 7, "device": 0, "grid": [1, 1, 1], "block": [128, 1, 1]}
            place = {"pid": 0, "tid": 7, "args": arguments}
            events.append({"ph": "X", "cat": "kernel", "name": kernel, "ts": at + 19, "dur": length, **place})
    return events


def _host(
    category: str, name: str, start: float, length: float, arguments: dict[str, Any] | None = None
) -> dict[str, Any]:
    place = {"pid": 100, "tid": 100, "args": arguments or {}}
    return {"ph": "X", "cat": category, "name": name, "ts": start, "dur": length, **place}


def facts_of(
    settings: RunSettings,
    *,
    step_ns: int = 400_000,
    passed: bool = True,
    state: str = "finished",
    failure: Failure | None = None,
) -> dict[str, Any]:
    """What the engine would have measured, as it stands in facts.json."""
    facts = Facts(
        stage="profile",
        started_unix_s=1_796_000_000.0,
        settings_title=settings.title,
        parameter_count=596_049_920,
        weight_bytes=1_192_099_840,
        weight_read_bytes_per_step=1_192_099_840,
        kv_read_bytes_per_step=57_344_000,
        kv_written_bytes_per_step=114_688,
        tokens_per_step=settings.batch_size,
        environment=Environment(device_name="NVIDIA H200", python_version="3.12.1", torch_version="2.11.0"),
        calibration=Calibration(read_bandwidth_bytes_per_s=4.0e12, copy_bandwidth_bytes_per_s=4.2e12),
        correctness=Correctness(
            logits_error_ratio=0.01 if passed else 0.9,
            kv_cache_error_ratio=0.01,
            token_agreement_ratio=1.0 if passed else 0.1,
            compared_token_count=8,
            error_limit_ratio=0.05,
            passed=passed,
        ),
        stage_ns={"environment": 10**9, "build": 10**8},
        steady_latencies_ns=[step_ns, step_ns + 1000, step_ns - 1000],
        profile=Profile(
            step_latencies_ns=[500_000, 500_000], slowdown_ratio=1.25, kernel_counts=[3, 3], expected_kernel_count=3
        ),
        peak_memory_bytes=1_500_000_000,
        attention_requested=settings.attention,
        attention_kernels=["pytorch_flash::flash_fwd_splitkv_kernel"],
        failure=failure,
    )
    return {**facts_to_json(facts), "state": state}
