"""What ran on a device, as arrays? GPU work; on a trace without any, the self time of host operators.

A CPU has no kernels. There an operator's *self time*, the stretches in which it is the innermost one on its thread,
stands in for a kernel: outermost operators would hide what they are made of, and leaves alone would lose the time an
operator spends outside its children. Self times never overlap on one thread, so busy time is right. Dynamo's own
events are left out, but for a compiled region: what Inductor generates for a CPU has no events of its own.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.spans import NO_ROW, Cover, Rows, Times, by_start, innermost, union
from explorer.trace import Trace, codes_and_words, values, values_or

CPU = "cpu"
"""The device name under which a trace without GPU work is analysed."""
_COMPILED_CODE = ("Torch-Compiled Region", "CompiledFunction")


@dataclass(frozen=True)
class Pieces:
    """Work of one device sorted by start; of those that start together the one that ends first comes first, and
    so counts as the one that ends a gap. `row` is a row of `Trace.work` (of `Trace.operators` on the CPU).
    """

    device: str
    start_ns: Times
    end_ns: Times
    row: Rows
    call_row: Rows
    position_in_launch: Rows
    is_kernel: npt.NDArray[np.bool_]

    @property
    def is_cpu(self) -> bool:
        return self.device == CPU

    def cover(self) -> Cover:
        """When anything ran."""
        return union(self.start_ns, self.end_ns)

    def where(self, mask: npt.NDArray[np.bool_]) -> Pieces:
        """Those pieces only."""
        return Pieces(
            self.device,
            self.start_ns[mask],
            self.end_ns[mask],
            self.row[mask],
            self.call_row[mask],
            self.position_in_launch[mask],
            self.is_kernel[mask],
        )


def devices_of(trace: Trace) -> list[str]:
    """The devices to analyse: those with GPU work, `cpu` when there is none but operators, else none."""
    return trace.devices() or ([CPU] if len(trace.operators) else [])


def no_pieces_text(trace: Trace) -> str:
    """What a trace without any device to analyse is, in place of the window that was looked at."""
    return "no GPU work and no operators" if trace.source.event_count else "an empty trace"


def pieces_of(trace: Trace, device: str) -> Pieces:
    """Everything that ran on a device."""
    return _operator_pieces(trace) if device == CPU else _work_pieces(trace, device)


def process_of(trace: Trace, pieces: Pieces) -> str | None:
    """The process that launched most of the pieces; None where no launch is known."""
    calls = pieces.call_row[pieces.call_row != NO_ROW]
    if len(calls) == 0:
        return None
    codes, words = codes_and_words(trace.calls, "process")
    return words[int(np.bincount(codes[calls]).argmax())]


def _work_pieces(trace: Trace, device: str) -> Pieces:
    codes, words = codes_and_words(trace.work, "device")
    rows = np.flatnonzero(codes == words.index(device))
    start, end = values(trace.work, "start_ns")[rows], values(trace.work, "end_ns")[rows]
    rows = rows[by_start(start, end)]
    kinds, kind_words = codes_and_words(trace.work, "kind")
    kernel_code = kind_words.index("kernel") if "kernel" in kind_words else NO_ROW
    return Pieces(
        device=device,
        start_ns=values(trace.work, "start_ns")[rows],
        end_ns=values(trace.work, "end_ns")[rows],
        row=rows,
        call_row=values_or(trace.work, "call_row", NO_ROW)[rows],
        position_in_launch=values_or(trace.work, "position_in_launch", NO_ROW)[rows].astype(np.int64),
        is_kernel=kinds[rows] == kernel_code,
    )


def _operator_pieces(trace: Trace) -> Pieces:
    start, end = values(trace.operators, "start_ns"), values(trace.operators, "end_ns")
    runs = _runs_code(trace)
    starts, ends, rows = [], [], []
    for members in threads_of(trace, "operators").values():
        steps = innermost(start[members], end[members])
        inside = np.flatnonzero(steps.row[:-1] != NO_ROW)
        inside = inside[runs[members[steps.row[inside]]]]
        starts.append(steps.time[inside])
        ends.append(steps.time[inside + 1])
        rows.append(members[steps.row[inside]])
    if not starts:
        starts, ends, rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    whole_start = np.concatenate(starts)
    order = np.argsort(whole_start, kind="stable")
    nothing = np.full(len(order), NO_ROW, np.int64)
    return Pieces(
        device=CPU,
        start_ns=whole_start[order],
        end_ns=np.concatenate(ends)[order],
        row=np.concatenate(rows)[order],
        call_row=nothing,
        position_in_launch=nothing,
        is_kernel=np.ones(len(order), bool),
    )


def _runs_code(trace: Trace) -> npt.NDArray[np.bool_]:
    """Which operators run the model's code, and are not Dynamo's or Inductor's own work."""
    kinds, kind_words = codes_and_words(trace.operators, "kind")
    names, name_words = codes_and_words(trace.operators, "name")
    is_compiled_code = np.array([word.startswith(_COMPILED_CODE) for word in name_words], bool)
    is_operator = np.array([word == "operator" for word in kind_words], bool)
    return np.asarray(is_operator[kinds] | is_compiled_code[names])


def threads_of(trace: Trace, table: str) -> dict[tuple[str, str], Rows]:
    """Rows of a host table (operators, calls, annotations, frames) by process and thread, in the table's order."""
    rows = getattr(trace, table)
    process, process_words = codes_and_words(rows, "process")
    thread, thread_words = codes_and_words(rows, "thread")
    key = process.astype(np.int64) * (len(thread_words) + 1) + thread
    order = np.argsort(key, kind="stable")
    edges = np.flatnonzero(np.diff(key[order])) + 1
    return {
        (_word(process_words, process[group[0]]), _word(thread_words, thread[group[0]])): group
        for group in np.split(order, edges)
        if len(group)
    }


def rows_of_thread(trace: Trace, table: str, thread: tuple[str, str]) -> Rows:
    """Rows of a host table of one (process, thread), in the table's order."""
    rows = getattr(trace, table)
    chosen = np.ones(len(rows), bool)
    for column, word in zip(("process", "thread"), thread, strict=True):
        codes, words = codes_and_words(rows, column)
        chosen &= codes == (words.index(word) if word in words else len(words))
    return np.flatnonzero(chosen)


def has_word(table: pa.Table, column: str, chosen: Collection[str]) -> npt.NDArray[np.bool_]:
    """Which rows have one of those words in a name column; a null has none."""
    codes, words = codes_and_words(table, column)
    is_chosen = np.array([*(word in chosen for word in words), False], bool)  # the last one serves the code −1
    return np.asarray(is_chosen[codes])


def _word(words: list[str], code: int) -> str:
    return words[code] if code >= 0 else ""
