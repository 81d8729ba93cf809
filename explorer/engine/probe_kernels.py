"""Which kernels did each call run? One profiler session for all of them, a mark around each.

One session a process, since later ones can lose leading kernels. A mark is a user annotation with the call's own name;
work belongs to it by the launch inside it (`trace_counts`). On the CPU operators stand in for kernels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from explorer.engine.clock import synchronize
from explorer.engine.probe_failures import CALL_ERRORS
from explorer.engine.probe_measure import Run
from explorer.engine.profiling import read_events
from explorer.engine.steady import CountListener
from explorer.engine.trace_counts import names_by_mark
from explorer.recording import TRACE_FILE

MARK = "probe#"
"""With the position in the list behind it: `probe#17`."""
_DISCARDED_CALL_COUNT = 2
_NO_WORK = re.compile(
    r"aten::(?:as_strided|_?(?:unsafe_)?view|empty\w*|to|_to_copy|detach|lift_fresh|resolve_\w+|_?reshape\w*|t)$"
    r"|TorchDynamo|Pregraph|AOTDispatcher|## Call"
)
"""Operators that compute nothing, views, allocations and compiled code's prologues: they stand in the CPU's traces."""


@dataclass(frozen=True)
class Marked:
    """A call to be seen by the profiler; `prepare` makes its inputs outside the mark and returns what to run."""

    prepare: Callable[[], Run]


def kernels_of(
    marked: Sequence[Marked], device: torch.device, folder: Path, on_count: CountListener
) -> list[list[str]]:
    """Names of what each call ran, each name once, in order; writes the trace into `folder`. An empty list: nothing."""
    session = profile(activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device.type == "cuda" else [])])
    session.prepare_trace()
    for _ in range(_DISCARDED_CALL_COUNT):
        torch.ones(8, device=device).softmax(0)
    synchronize(device)
    session.start_trace()
    for index, call in enumerate(marked):
        _run_marked(call, f"{MARK}{index}", device)
        on_count(index + 1, len(marked))
    session.stop_trace()
    draft = folder / f".{TRACE_FILE}"  # the ending decides that the profiler compresses it
    session.export_chrome_trace(str(draft))
    draft.replace(folder / TRACE_FILE)
    found = names_by_mark(read_events(folder / TRACE_FILE), MARK)
    return [
        [name for name in found.get(f"{MARK}{index}", []) if not _NO_WORK.match(name)] for index in range(len(marked))
    ]


def _run_marked(call: Marked, name: str, device: torch.device) -> None:
    """Runs one call under its mark; a call that ran before and fails now leaves its mark empty."""
    try:
        run = call.prepare()
        synchronize(device)
        with record_function(name):
            run()
        synchronize(device)
    except CALL_ERRORS as problem:
        print(f"{name} failed under the profiler: {problem}")
