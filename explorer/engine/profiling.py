"""What does the profiler see in a few steps, and did it see all of it?

One profiler session a process: later sessions can lose leading kernels. It is warmed up with discarded steps, then
records, on one host thread:

    [plain#0]  step#0  step#1 ...

Each `step#i` encloses the call of the step and nothing else. In eager code (and around compiled layers) `layer#i`
annotations stand inside it, in a step cut into pieces `piece#i` and `attention#i`; a compiled model or a graph has
no Python between its layers, so only the step's own remains. The host waits for the device *between* the
annotations, by polling, so that no wait stands inside a step and none is blamed for the first gap of the next.
`plain#0`, only before the replays of a graph, is the captured step called without the graph: its kernels are the
same in the same order, so its count is what is expected of a replay, and it names the operators that a replay does
not have.
"""

from __future__ import annotations

import gzip
import json
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch.profiler import ProfilerActivity, profile, record_function

from explorer.engine.clock import synchronize, unblocked_ns
from explorer.engine.modes import INPUT_COPY_KERNEL_COUNT, GraphStep
from explorer.engine.piecewise import PiecewiseStep, no_scope
from explorer.engine.steady import CountListener
from explorer.engine.trace_counts import TraceCounts, count_trace
from explorer.engine.workload import Step, Workload
from explorer.facts import Profile
from explorer.recording import TRACE_FILE

_DISCARDED_STEP_COUNT = 2


def profile_steps(
    workload: Workload, step: Step, folder: Path, on_count: CountListener
) -> tuple[list[int], TraceCounts]:
    """Profiles the steps, writes the trace into `folder`; returns their latencies in ns and what the trace holds."""
    latencies_ns = []
    step_count = workload.settings.profiled_steps
    if isinstance(step, PiecewiseStep):
        step.pieces.scope = record_function
    session = _start_session(workload, step)
    if isinstance(step, GraphStep | PiecewiseStep):
        _annotated(workload, step.captured, "plain#0")
    for index in range(step_count):
        latencies_ns.append(_annotated(workload, step, f"step#{index}"))
        on_count(index + 1, step_count)
    session.stop_trace()
    if isinstance(step, PiecewiseStep):
        step.pieces.scope = no_scope
    draft = folder / f".{TRACE_FILE}"  # the ending decides that the profiler compresses it
    session.export_chrome_trace(str(draft))
    draft.replace(folder / TRACE_FILE)
    return latencies_ns, count_trace(read_events(folder / TRACE_FILE))


def summarize(
    workload: Workload, latencies_ns: list[int], steady_latencies_ns: list[int], counts: TraceCounts
) -> Profile:
    """The Profile of a run: slowdown against the steady steps, kernels a step, and whether any are missing."""
    expected = None
    if counts.plain_count is not None:
        expected = counts.plain_count + INPUT_COPY_KERNEL_COUNT
    return Profile(
        step_latencies_ns=latencies_ns,
        slowdown_ratio=statistics.median(latencies_ns) / statistics.median(steady_latencies_ns),
        kernel_counts=counts.step_counts,
        expected_kernel_count=expected,
        note=_completeness_note(workload, counts, expected),
    )


def read_events(path: Path) -> list[dict[str, Any]]:
    """The events of the trace that was just written."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        events: list[dict[str, Any]] = json.load(file)["traceEvents"]
    return events


def _start_session(workload: Workload, step: Step) -> profile:
    activities = [ProfilerActivity.CPU]
    if workload.device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    session = profile(activities=activities, record_shapes=True)
    session.prepare_trace()
    for _ in range(_DISCARDED_STEP_COUNT):
        _annotated(workload, step, "discarded")
    synchronize(workload.device)
    session.start_trace()
    return session


def _annotated(workload: Workload, step: Step, name: str) -> int:
    """Time of one annotated step until the device has finished it, ns."""

    def annotated_step() -> None:
        with record_function(name):
            step(workload.tokens_BL, workload.positions_B)

    with _layers_annotated(workload):
        return unblocked_ns(annotated_step, workload.device)


@contextmanager
def _layers_annotated(workload: Workload) -> Iterator[None]:
    """Annotates layers where Python runs between them; a compiled model would recompile for it."""
    settings, model = workload.settings, workload.model
    if settings.mode not in ("eager", "cuda_graph") and settings.compile_scope == "model":
        yield
        return
    plain_scope = model.layer_scope
    model.layer_scope = lambda index: record_function(f"layer#{index}")
    yield
    model.layer_scope = plain_scope


def _completeness_note(workload: Workload, counts: TraceCounts, expected: int | None) -> str:
    what = "kernels" if workload.device.type == "cuda" else "operators"
    if not counts.step_counts or min(counts.step_counts) == 0:
        return f"The profiler recorded no {what} in at least one step; the trace is incomplete."
    if len(set(counts.step_counts)) > 1:
        return f"The profiled steps differ in their {what} ({counts.step_counts}); the profiler may have lost some."
    if expected is not None and counts.step_counts[0] != expected:
        return f"A replay shows {counts.step_counts[0]:,} {what} where the captured step has {expected:,}."
    return ""
