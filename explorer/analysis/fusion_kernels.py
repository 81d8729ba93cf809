"""Which kernels does one step run, in their order, and which operators stand behind each?

|gap|kernel|gap|kernel|       a step is its kernels and the gaps before them; where streams overlap, the time that
                              is counted twice is kept apart, so that gaps + kernels − overlap = step, exactly
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from explorer.analysis.fusion_names import generated_words, operator_word
from explorer.analysis.pieces import CPU, devices_of, has_word, pieces_of
from explorer.analysis.timeline_bytes import operator_bytes
from explorer.analysis.windows import WindowKind, default_window, device_windows
from explorer.generated_code import SourceLine
from explorer.spans import NO_ROW, Rows
from explorer.trace import Trace, codes_and_words, values, values_or

_COMPILING = re.compile(r"compil|autotun|benchmark", re.IGNORECASE)
_RUNNING = re.compile(r"Torch-Compiled Region|## Call CompiledFxGraph|CompiledFunction|CompiledFxGraph \w+ *$")
"""Names with "compile" in them that mean running what was compiled before."""


@dataclass(frozen=True)
class HeldOperator:
    """An operator that a compiled kernel holds by the compiler's own word, the line it comes from, and its caller."""

    word: str
    line: SourceLine | None = None
    caller: SourceLine | None = None


@dataclass(frozen=True)
class Kernel:
    """One piece of a step; times in ns. `operators` are words, the innermost first, empty where none is known.

    `words` is what a generated kernel's name says, None for every other. `layer` is None outside of layers. `file` is
    the name of Triton's file, `held` what the compiler says that the kernel computes; both empty where unknown.
    `is_counted` is False for copies and fills, and on the CPU for the further pieces of one operator's self time.
    """

    name: str
    family: str
    operators: tuple[str, ...]
    operator_row: int
    call_row: int
    dims: str
    words: str | None
    layer: int | None
    time_ns: int
    gap_ns: int
    overlap_ns: int
    file: str = ""
    held: tuple[HeldOperator, ...] = ()
    is_counted: bool = True

    @property
    def word(self) -> str:
        """The operator that launched it, or the kernel's own name."""
        return self.operators[0] if self.operators else self.name


@dataclass(frozen=True)
class StepKernels:
    """One step of one device of one trace, or the whole of it where `is_whole`.

    `left_out_count` kernels ran while something compiled and are not among them.
    """

    trace: Trace
    window: str
    kernels: tuple[Kernel, ...]
    span_ns: int
    left_out_count: int
    device: str
    is_whole: bool

    @property
    def is_cpu(self) -> bool:
        return self.device == CPU

    @property
    def busy_ns(self) -> int:
        return sum(kernel.time_ns - kernel.overlap_ns for kernel in self.kernels)

    @property
    def idle_ns(self) -> int:
        return sum(kernel.gap_ns for kernel in self.kernels)

    @property
    def generated_count(self) -> int:
        """Kernels that Inductor wrote."""
        return sum(kernel.words is not None for kernel in self.kernels)

    def bytes_of(self, kernels: tuple[Kernel, ...]) -> int | None:
        """What the kernels' operators must move, each operator once; None where one of them does not say."""
        rows = dict.fromkeys(kernel.operator_row for kernel in kernels)
        if not rows or NO_ROW in rows:
            return None
        found = [operator_bytes(self.trace, row) for row in rows]
        known = [one for one in found if one is not None]
        return sum(known) if len(known) == len(found) else None


def step_kernels(trace: Trace, window: WindowKind | None = None) -> StepKernels | None:
    """The first kept step of the first device (definitions.md, "Comparing two runs"), or None for an empty trace.

    `window` defaults to the steps where there are any; with "trace" all of the trace counts as one step.
    """
    devices = devices_of(trace)
    if not devices:
        return None
    windows = device_windows(trace, devices[0], window or default_window(trace))
    pieces = windows.pieces
    compiling = _while_compiling(trace, pieces.call_row)
    chosen = np.flatnonzero((windows.window_of_piece == 0) & ~compiling)
    left_out = int((compiling & pieces.is_kernel & (windows.window_of_piece != NO_ROW)).sum())
    if not len(chosen):
        return None
    start, end = pieces.start_ns[chosen], pieces.end_ns[chosen]
    is_whole = windows.kind == "trace"
    begin = int(start.min()) if is_whole else windows.windows[0].start_ns
    reach = np.maximum.accumulate(np.concatenate([[begin], end]))[:-1]
    gap = np.maximum(start - reach, 0)
    overlap = (end - start) - np.maximum(end - np.maximum(start, reach), 0)
    kernels = _kernels(trace, pieces.where(np.isin(np.arange(len(pieces.row)), chosen)).row, pieces.is_cpu)
    layers = _layers(trace, pieces.call_row[chosen] if not pieces.is_cpu else None, start)
    built = tuple(
        Kernel(**kernel, layer=layer, time_ns=int(length), gap_ns=int(before), overlap_ns=int(twice))
        for kernel, layer, length, before, twice in zip(kernels, layers, end - start, gap, overlap, strict=True)
    )
    span = int(max(end.max(), begin) - begin)
    return StepKernels(trace, windows.windows[0].name, built, span, left_out, devices[0], is_whole)


def kernels_within(trace: Trace, start_ns: int, end_ns: int) -> list[Kernel]:
    """GPU work that was launched from `start_ns` to `end_ns` on the host, in order, without its gaps."""
    calls = values_or(trace.work, "call_row", NO_ROW)
    if not len(trace.calls):
        return []
    launched = values(trace.calls, "start_ns")[np.maximum(calls, 0)]
    rows = np.flatnonzero((calls != NO_ROW) & (launched >= start_ns) & (launched < end_ns))
    lengths = (values(trace.work, "end_ns") - values(trace.work, "start_ns"))[rows]
    return [
        Kernel(**kernel, layer=None, time_ns=int(length), gap_ns=0, overlap_ns=0)
        for kernel, length in zip(_kernels(trace, rows, False), lengths, strict=True)
    ]


def _while_compiling(trace: Trace, call_rows: Rows) -> npt.NDArray[np.bool_]:
    """Which pieces were launched inside an annotation that says it compiles or tunes."""
    inside = np.zeros(len(call_rows), bool)
    marks = trace.annotations
    names = marks["name"].to_pylist()
    if not len(trace.calls):
        return inside
    launched = values(trace.calls, "start_ns")[np.maximum(call_rows, 0)]
    starts, ends = values(marks, "start_ns"), values(marks, "end_ns")
    for row, name in enumerate(names):
        if _COMPILING.search(name) and not _RUNNING.search(name):
            inside |= (call_rows != NO_ROW) & (launched >= starts[row]) & (launched < ends[row])
    return inside


def _kernels(trace: Trace, rows: Rows, is_cpu: bool) -> list[dict[str, Any]]:
    table = trace.operators if is_cpu else trace.work
    name_codes, names = codes_and_words(table, "name")
    family_codes, families = codes_and_words(table, "family")
    operators = rows if is_cpu else values_or(trace.work, "operator_row", NO_ROW)[rows]
    calls = np.full(len(rows), NO_ROW) if is_cpu else values_or(trace.work, "call_row", NO_ROW)[rows]
    counted = _first_pieces(rows) if is_cpu else has_word(trace.work, "kind", ("kernel",))[rows]
    chains = _Chains(trace)
    return [
        {
            "name": names[name_codes[row]],
            "family": families[family_codes[row]],
            "operators": chains.words(int(operator)),
            "operator_row": int(operator),
            "call_row": int(call),
            "dims": chains.dims(int(operator)),
            "words": generated_words(names[name_codes[row]]),
            "file": chains.file(int(operator)),
            "is_counted": bool(is_counted),
        }
        for row, operator, call, is_counted in zip(rows.tolist(), operators, calls, counted, strict=True)
    ]


def _first_pieces(rows: Rows) -> npt.NDArray[np.bool_]:
    """Where each operator comes for the first time: its self time may lie in several pieces."""
    is_first = np.zeros(len(rows), bool)
    is_first[np.unique(rows, return_index=True)[1]] = True
    return is_first


class _Chains:
    """The operators around an operator, as words; Dynamo's wrappers are none."""

    def __init__(self, trace: Trace) -> None:
        self._codes, self._names = codes_and_words(trace.operators, "name")
        self._parents = values_or(trace.operators, "parent_row", NO_ROW)
        self._dim_codes, self._dims = codes_and_words(trace.operators, "input_dims")
        self._file_codes, self._files = codes_and_words(trace.operators, "kernel_file")

    def words(self, row: int) -> tuple[str, ...]:
        found = []
        while row != NO_ROW:
            name = self._names[self._codes[row]]
            if "::" in name or generated_words(name) is not None:
                found.append(operator_word(name))
            row = int(self._parents[row])
        return tuple(dict.fromkeys(found))

    def file(self, row: int) -> str:
        """The name of the file that a Triton kernel was loaded from; empty for every other."""
        code = NO_ROW if row == NO_ROW else int(self._file_codes[row])
        return "" if code < 0 else PurePosixPath(self._files[code]).name

    def dims(self, row: int) -> str:
        """The shapes that tell one product or attention call from another; empty where not recorded."""
        if row == NO_ROW or self._dim_codes[row] < 0:
            return ""
        shapes = json.loads(self._dims[self._dim_codes[row]])
        skipped = 1 if self._names[self._codes[row]] in ("aten::addmm", "aten::baddbmm") else 0
        return " · ".join("×".join(map(str, shape)) for shape in shapes[skipped : skipped + 2])


def _layers(trace: Trace, call_rows: Rows | None, start: Rows) -> list[int | None]:
    """The layer annotation around each launch (on the CPU around each operator)."""
    kinds, words = codes_and_words(trace.annotations, "kind")
    if "layer" not in words:
        return [None] * len(start)
    marks = np.flatnonzero(kinds == words.index("layer"))
    starts, ends = (values(trace.annotations, edge)[marks] for edge in ("start_ns", "end_ns"))
    index = values_or(trace.annotations, "index", NO_ROW)[marks]
    at = start if call_rows is None else values(trace.calls, "start_ns")[np.maximum(call_rows, 0)]
    place = np.searchsorted(starts, at, side="right") - 1
    inside = (place >= 0) & (at < ends[np.maximum(place, 0)])
    if call_rows is not None:
        inside &= call_rows != NO_ROW
    return [int(index[one]) if within else None for one, within in zip(place, inside, strict=True)]


def is_compiled_side(trace: Trace, device: str | None = None) -> bool:
    """Whether kernels that Inductor generated ran in the trace."""
    chosen = device or next(iter(devices_of(trace)), None)
    if chosen is None:
        return False
    pieces = pieces_of(trace, chosen)
    codes, names = codes_and_words(trace.operators if pieces.is_cpu else trace.work, "name")
    return any(generated_words(names[code]) is not None for code in np.unique(codes[pieces.row]))


def count_of(kernels: Sequence[Kernel]) -> int:
    """Kernels, without copies and fills; on the CPU operators."""
    return sum(kernel.is_counted for kernel in kernels)


def time_of(kernels: Sequence[Kernel]) -> int:
    """Kernel time together, ns."""
    return sum(kernel.time_ns for kernel in kernels)
