"""What did the compiler do meanwhile, stage by stage? Dynamo's own metrics, read after the work.

import         loading Dynamo and Inductor and starting its workers, once a process, before anything is compiled
dynamo … kernels   exclusive of each other, over every compilation of the work (`torch_trace_log.py`)
autotune       trying kernels out, while compiling or at the first launch of a Triton kernel
"""

from __future__ import annotations

import importlib
import time
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import torch

from explorer.shapes_results import CompiledEntry
from explorer.torch_trace_log import entry_of_metrics

_WORKERS_LIMIT_S = 60


def import_compiler(device: torch.device) -> int:
    """Loads the compiler, which the first compilation would otherwise do; nanoseconds, next to none the second time.

    On a GPU it waits for the compiler's worker processes too. They start once a process and take seconds, during which
    a small graph's kernels are compiled one after another and a large graph's are not reached: neither is compiling.
    """
    started_ns = time.perf_counter_ns()
    importlib.import_module("torch._inductor.compile_fx")
    if device.type == "cuda":
        from torch._inductor.async_compile import AsyncCompile

        with suppress(TimeoutError):  # without workers it compiles in this process
            AsyncCompile.wait_pool_ready(timeout=_WORKERS_LIMIT_S)
    return time.perf_counter_ns() - started_ns


def forget_compilations() -> None:
    """Empties Dynamo's list of compilations, which keeps the latest few dozen only."""
    from torch._dynamo.utils import clear_compilation_metrics

    clear_compilation_metrics()


def compiled_entries() -> list[CompiledEntry]:
    """What was compiled, or refused, since the list was emptied; records of running are no compilations."""
    return [entry_of_metrics(metrics) for metrics in _metrics() if not metrics.get("is_runtime")]


def launch_autotune_ns() -> int:
    """Time in which first launches tried kernels out, since the list was emptied; no part of any compilation."""
    return sum(int((metrics.get("runtime_triton_autotune_time_us") or 0) * 1000) for metrics in _metrics())


def stage_sums() -> dict[str, int]:
    """Time in every stage since the list was emptied, ns; empty when nothing was compiled."""
    entries = [entry for entry in compiled_entries() if entry.stage_ns]
    sums = {
        stage: sum(entry.stage_ns[stage] for entry in entries) for stage in (entries[0].stage_ns if entries else ())
    }
    return {**sums, "autotune": sums["autotune"] + launch_autotune_ns()} if sums else {}


def _metrics() -> list[dict[str, Any]]:
    from torch._dynamo.utils import get_compilation_metrics

    return [asdict(metrics) for metrics in get_compilation_metrics()]
