"""What is a trace, once it has been read? Tables with typed columns, and what reading had to say.

Tables are pyarrow tables: immutable, dictionary-encoded names, missing is null and never −1, and a cached one is
memory-mapped instead of loaded. Times are int64 nanoseconds from the trace's start. A `..._row` column holds row
numbers of another table of the same trace. Every table is sorted by start_ns, then end_ns descending.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

NAME = pa.dictionary(pa.int32(), pa.string())

OPERATORS = pa.schema(
    [
        pa.field("start_ns", pa.int64(), nullable=False),
        pa.field("end_ns", pa.int64(), nullable=False),
        pa.field("name", NAME, nullable=False),
        pa.field("kind", NAME, nullable=False),  # operator, compile (a Dynamo or Inductor event)
        pa.field("family", NAME, nullable=False),  # one of FAMILIES, for where operators stand in for kernels
        pa.field("process", NAME, nullable=False),
        pa.field("thread", NAME, nullable=False),
        pa.field("depth", pa.int32(), nullable=False),  # 0 = outermost on its thread
        pa.field("parent_row", pa.int64()),  # operators
        pa.field("external_id", pa.int64()),
        pa.field("input_dims", NAME),  # JSON text as the profiler wrote it
        pa.field("input_strides", NAME),
        pa.field("input_types", NAME),
        pa.field("kernel_file", NAME),  # Inductor's, on the operator that launches a Triton kernel
    ]
)
"""Host operators (`cpu_op`), including the compile events that PyTorch writes with that category."""

CALLS = pa.schema(
    [
        pa.field("start_ns", pa.int64(), nullable=False),
        pa.field("end_ns", pa.int64(), nullable=False),
        pa.field("name", NAME, nullable=False),
        pa.field("kind", NAME, nullable=False),  # launch, graph_launch, copy, sync, sync_copy, allocator, other
        pa.field("is_blocking", pa.bool_(), nullable=False),  # sync, sync_copy, or a copy of pageable memory
        pa.field("process", NAME, nullable=False),
        pa.field("thread", NAME, nullable=False),
        pa.field("correlation", pa.int64()),
        pa.field("operator_row", pa.int64()),  # the innermost operator around it
        pa.field("work_count", pa.int32(), nullable=False),  # pieces of GPU work that it submitted
    ]
)
"""Runtime and driver calls. One with work under its correlation is a launch; the rest matter for the gap parts."""

WORK = pa.schema(
    [
        pa.field("start_ns", pa.int64(), nullable=False),
        pa.field("end_ns", pa.int64(), nullable=False),  # what every figure uses: corrupt overruns are clipped
        pa.field("recorded_end_ns", pa.int64(), nullable=False),  # as in the file
        pa.field("name", NAME, nullable=False),
        pa.field("kind", NAME, nullable=False),  # kernel, memcpy, memset
        pa.field("family", NAME, nullable=False),  # one of FAMILIES
        pa.field("device", NAME, nullable=False),  # "0", or "rank1/0" where ranks are merged in one file
        pa.field("stream", NAME),
        pa.field("correlation", pa.int64()),
        pa.field("call_row", pa.int64()),  # its launch
        pa.field("operator_row", pa.int64()),  # the launch's innermost operator
        pa.field("position_in_launch", pa.int32()),  # 0 = the first piece of its launch on its device
        pa.field("grid", NAME),  # "8,1,1"
        pa.field("block", NAME),
        pa.field("registers_per_thread", pa.int32()),
        pa.field("shared_memory_bytes", pa.int64()),
        pa.field("occupancy_ratio", pa.float64()),  # estimated achieved occupancy
        pa.field("copied_bytes", pa.int64()),  # of a memcpy or memset
        pa.field("communicator", NAME),  # a collective's, every digit of it: such ids exceed 64 bits
    ]
)
"""GPU work: kernels, copies and fills (definitions: `kernel`, `gpu_memcpy`, `gpu_memset`), nothing else."""

ANNOTATIONS = pa.schema(
    [
        pa.field("start_ns", pa.int64(), nullable=False),
        pa.field("end_ns", pa.int64(), nullable=False),
        pa.field("name", NAME, nullable=False),
        pa.field("kind", NAME, nullable=False),  # step, layer, phase, other
        pa.field("index", pa.int64()),  # N of step#N, layer#N
        pa.field("process", NAME, nullable=False),
        pa.field("thread", NAME, nullable=False),
        pa.field("phase", NAME),  # decode, prefill, mixed: where an engine's mark says so
        pa.field("batch_size", pa.int64()),  # requests, where the mark says so
        pa.field("padded_batch_size", pa.int64()),
    ]
)
"""Host `user_annotation`s. Their shadows on the GPU (`gpu_user_annotation`) are not work and are left out."""

FRAMES = pa.schema(
    [
        pa.field("start_ns", pa.int64(), nullable=False),
        pa.field("end_ns", pa.int64(), nullable=False),
        pa.field("name", NAME, nullable=False),
        pa.field("process", NAME, nullable=False),
        pa.field("thread", NAME, nullable=False),
        pa.field("depth", pa.int32(), nullable=False),
        pa.field("parent_row", pa.int64()),  # frames
    ]
)
"""Python functions, recorded with `with_stack`."""

DROPPED_WORK = pa.schema(
    [
        pa.field("start_ns", pa.int64(), nullable=False),
        pa.field("name", NAME, nullable=False),
        pa.field("device", NAME, nullable=False),
        pa.field("reason", NAME, nullable=False),
    ]
)
"""GPU work whose duration is missing, not a number or negative: in no figure, and the gap around it is uncertain."""

FAMILIES = (
    "matmul",
    "attention",
    "norm_reduction",
    "elementwise",
    "copy_cast",
    "embedding_gather",
    "communication",
    "memory",
    "other",
)
"""Kernel families, in the order in which they are drawn. `memory` is memcpy and memset."""


@dataclass(frozen=True)
class ReadingNote:
    """Something that reading repaired, dropped or could not know: how often, and at which byte first."""

    kind: str
    count: int
    text: str
    first_byte: int | None = None


@dataclass(frozen=True)
class TraceSource:
    """Where a trace comes from and what its file says of itself; unknown is None or empty."""

    name: str
    size_bytes: int
    event_count: int
    base_time_ns: int | None = None
    resolution_ns: int | None = None
    device_names: tuple[str, ...] = ()
    world_size: int | None = None
    rank: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)  # record_shapes, with_stack, versions, ...
    category_counts: Mapping[str, int] = field(default_factory=dict)
    document_count: int = 1
    process_names: Mapping[str, str] = field(default_factory=dict)  # by the process' text in the tables
    thread_names: Mapping[str, str] = field(default_factory=dict)  # by "process/thread"


@dataclass(frozen=True)
class Trace:
    """One trace, read. Settings and facts of a recording stay beside it: see `explorer.recording`."""

    source: TraceSource
    operators: pa.Table
    calls: pa.Table
    work: pa.Table
    annotations: pa.Table
    notes: tuple[ReadingNote, ...] = ()
    frames: pa.Table = field(default_factory=FRAMES.empty_table)
    dropped_work: pa.Table = field(default_factory=DROPPED_WORK.empty_table)

    def devices(self) -> list[str]:
        """The device scopes that have work, in order."""
        return sorted(self.work["device"].unique().to_pylist(), key=_natural)


def values(table: pa.Table, column: str) -> npt.NDArray[Any]:
    """A column without nulls as a numpy array (a view where the column is one chunk)."""
    array: npt.NDArray[Any] = table[column].to_numpy()
    return array


def values_or(table: pa.Table, column: str, missing: int | float) -> npt.NDArray[Any]:
    """A nullable number column as a numpy array, nulls replaced; for arithmetic inside one function only."""
    array: npt.NDArray[Any] = table[column].fill_null(missing).to_numpy()
    return array


def codes_and_words(table: pa.Table, column: str) -> tuple[npt.NDArray[np.int32], list[str]]:
    """A name column as (code of each row, word of each code); a null has code −1."""
    combined = table[column].combine_chunks()
    encoded = combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined
    indices = encoded.indices.fill_null(-1) if encoded.null_count else encoded.indices
    return indices.to_numpy(), encoded.dictionary.to_pylist()


def _natural(scope: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(part), "") if part.isdigit() else (1 << 62, part) for part in scope.split("/"))
