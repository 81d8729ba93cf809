"""How many kernels does each step of a fresh trace hold, and which attention kernels ran?

A self-check of the recording, on plain JSON events; the analysis of traces is `ingest` and `analysis`. Work belongs
to the step whose annotation encloses its launch (linked by correlation), so a replayed graph's kernels count where
the graph was launched. Without a GPU, operators stand in for kernels: those that enclose no other operator.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Event = Mapping[str, Any]

_WORK = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_CALLS = frozenset({"cuda_runtime", "cuda_driver"})
_STEP = re.compile(r"step#\d+$")
_PLAIN = re.compile(r"plain#\d+$")
_GENERATED = "triton_"
"""Inductor names a fused kernel after all its operators: one that prepares attention's inputs is none itself."""
_ATTENTION = re.compile(r"flash|fmha|sdpa|attention|softmax|cudnn::fusion", re.IGNORECASE)


@dataclass(frozen=True)
class TraceCounts:
    """Pieces of GPU work (or operators) of every step in order, and of the captured step called plainly before them."""

    step_counts: list[int]
    plain_count: int | None
    attention_kernels: list[str]


def count_trace(events: Sequence[Event]) -> TraceCounts:
    """Counts the trace's steps; times as the profiler wrote them, microseconds."""
    complete = [event for event in events if event.get("ph") == "X"]
    placed = _gpu_work(complete) if any(event.get("cat") in _WORK for event in complete) else _inner_operators(complete)
    steps = _windows(complete, _STEP)
    plain = _windows(complete, _PLAIN)
    plain_counts = _counts(plain, placed)
    return TraceCounts(
        step_counts=_counts(steps, placed),
        plain_count=plain_counts[0] if plain_counts else None,
        attention_kernels=_attention_names(complete, steps, placed),
    )


def names_by_mark(events: Sequence[Event], prefix: str) -> dict[str, list[str]]:
    """What ran inside every annotation whose name begins with `prefix`: `{annotation: names in order, each once}`.

    GPU work by the launch inside the annotation; on the CPU the attention operator, then what encloses no operator.
    """
    complete = [event for event in events if event.get("ph") == "X"]
    on_gpu = any(event.get("cat") in _WORK for event in complete)
    placed = sorted(_gpu_work(complete) if on_gpu else [*_attention_operators(complete), *_inner_operators(complete)])
    starts = [at for at, _ in placed]
    found = {}
    for event in complete:
        if event.get("cat") == "user_annotation" and event["name"].startswith(prefix):
            start = float(event["ts"])
            first, last = bisect.bisect_left(starts, start), bisect.bisect_right(starts, start + float(event["dur"]))
            found[event["name"]] = list(dict.fromkeys(name for _, name in placed[first:last]))
    return found


def _windows(events: Iterable[Event], name: re.Pattern[str]) -> list[tuple[float, float]]:
    found = [
        (float(event["ts"]), float(event["ts"]) + float(event["dur"]))
        for event in events
        if event.get("cat") == "user_annotation" and name.match(event["name"])
    ]
    return sorted(found)


def _gpu_work(events: Iterable[Event]) -> list[tuple[float, str]]:
    """(host time of its launch, name) of every piece of GPU work whose launch is known."""
    launched_at: dict[int, float] = {}
    work = []
    for event in events:
        correlation = event.get("args", {}).get("correlation")
        if event.get("cat") in _CALLS and correlation:
            launched_at[correlation] = float(event["ts"])
        elif event.get("cat") in _WORK:
            work.append((correlation, event["name"]))
    return [(launched_at[correlation], name) for correlation, name in work if correlation in launched_at]


def _inner_operators(events: Iterable[Event]) -> list[tuple[float, str]]:
    """(start, name) of the operators that enclose no other one on their thread."""
    operators = sorted(
        (event for event in events if event.get("cat") == "cpu_op"),
        key=lambda event: (event["tid"], float(event["ts"]), -float(event["dur"])),
    )
    inner = []
    for operator, following in zip(operators, [*operators[1:], None], strict=True):
        end = float(operator["ts"]) + float(operator["dur"])
        if following is None or following["tid"] != operator["tid"] or float(following["ts"]) >= end:
            inner.append((float(operator["ts"]), operator["name"]))
    return inner


def _counts(windows: Iterable[tuple[float, float]], placed: Sequence[tuple[float, str]]) -> list[int]:
    return [sum(start <= at <= end for at, _ in placed) for start, end in windows]


def _attention_names(
    events: Iterable[Event], steps: Sequence[tuple[float, float]], placed: Sequence[tuple[float, str]]
) -> list[str]:
    """Names of attention kernels inside the steps; on the CPU, of the operators that computed attention."""
    candidates = placed
    if not any(event.get("cat") in _WORK for event in events):
        candidates = _attention_operators(events)
    inside = {name for at, name in candidates if any(start <= at <= end for start, end in steps)}
    return sorted(name for name in inside if _ATTENTION.search(name) and not name.startswith(_GENERATED))


def _attention_operators(events: Iterable[Event]) -> list[tuple[float, str]]:
    """(start, name) of the operators that say themselves which attention they are."""
    return [
        (float(event["ts"]), event["name"])
        for event in events
        if event.get("cat") == "cpu_op" and event["name"].startswith("aten::_scaled_dot_product")
    ]
