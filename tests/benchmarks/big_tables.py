"""A trace of any size without a file: kernels on one stream, a launch each, steps. For benchmarks of what follows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.trace import ANNOTATIONS, CALLS, FAMILIES, OPERATORS, WORK, Trace, TraceSource

KERNELS_A_STEP = 1700
Codes = npt.NDArray[np.integer]


def big_trace(kernel_count: int, seed: int = 0) -> Trace:
    """Kernels of 1 to 9 us about 25 us apart, each launched by its own call on one thread."""
    random = np.random.default_rng(seed)
    family = random.choice(6, kernel_count, p=[0.14, 0.03, 0.13, 0.5, 0.19, 0.01])
    duration = np.where(
        family == 0, random.integers(3000, 9000, kernel_count), random.integers(900, 2600, kernel_count)
    )
    start = np.cumsum(duration + random.integers(15_000, 35_000, kernel_count)) - duration + 50_000
    call = start - random.integers(6000, 9000, kernel_count)
    call_end = np.minimum(call + random.integers(2500, 4500, kernel_count), start - 300)
    number = np.arange(kernel_count)
    one = np.zeros(kernel_count, np.int32)
    work = {
        "start_ns": start,
        "end_ns": start + duration,
        "recorded_end_ns": start + duration,
        "name": _words(family, [f"kernel_{word}" for word in FAMILIES]),
        "kind": _words(one, ["kernel"]),
        "family": _words(family, list(FAMILIES)),
        "device": _words(one, ["0"]),
        "stream": _words(one, ["7"]),
        "correlation": number,
        "call_row": number,
        "position_in_launch": one,
    }
    place = {"process": _words(one, ["1"]), "thread": _words(one, ["1"])}
    calls = {
        "start_ns": call,
        "end_ns": call_end,
        "name": _words(one, ["cudaLaunchKernel"]),
        "kind": _words(one, ["launch"]),
        "is_blocking": np.zeros(kernel_count, bool),
        "correlation": number,
        "work_count": one + 1,
        **place,
    }
    first = np.arange(0, kernel_count, KERNELS_A_STEP)
    last = np.append(first[1:], kernel_count) - 1
    single = np.zeros(len(first), np.int32)
    steps = {
        "start_ns": call[first] - 2000,
        "end_ns": call_end[last] + 500,
        "name": _words(np.arange(len(first)), [f"step#{index}" for index in range(len(first))]),
        "kind": _words(single, ["step"]),
        "index": np.arange(len(first)),
        "process": _words(single, ["1"]),
        "thread": _words(single, ["1"]),
    }
    return Trace(
        source=TraceSource("benchmark", 0, 2 * kernel_count),
        operators=_table({"start_ns": np.zeros(0, np.int64)}, OPERATORS),
        calls=_table(calls, CALLS),
        work=_table(work, WORK),
        annotations=_table(steps, ANNOTATIONS),
    )


def _words(codes: Codes, words: list[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(words, pa.string()))


def _table(columns: dict[str, Any], schema: pa.Schema) -> pa.Table:
    """A table of that schema; what is not given is missing."""
    count = len(columns["start_ns"])
    given = {field.name: columns.get(field.name, pa.nulls(count, field.type)) for field in schema}
    return pa.table(given, schema=schema)
