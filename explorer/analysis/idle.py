"""When was a device idle, and what was each stretch of it waiting for? The exact split of definitions.md.

    host     .PPDDLLLL......      P Python, D dispatch, L the launch call
    stream 7 K.........KKK        the gap of 90 us: 20 Python, 20 dispatch, 40 launch call, 10 device latency
              a       b

A gap is split, not labelled: its parts are integers that add up to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from explorer.analysis.lost_work import may_hold_lost_work
from explorer.analysis.pieces import Pieces, has_word, rows_of_thread, threads_of
from explorer.analysis.windows import DeviceWindows, Window
from explorer.spans import NO_ROW, Cover, Rows, Times, distinct_rows, innermost, union
from explorer.trace import Trace, codes_and_words, values

HOST_PARTS = ("host_sync", "allocator", "launch_call", "compile_and_guards", "dispatch", "python_and_host")
"""What the launching thread was doing while the GPU had nothing submitted, first match wins."""
PARTS = ("inside_graph", "unattributed", "device_latency", *HOST_PARTS)
"""All parts of idle; they add up to it."""

_SYNC_KINDS = ("sync", "sync_copy")
_REGION = "Torch-Compiled Region"
_GENERATED_CODE = "## Call CompiledFxGraph"


@dataclass(frozen=True)
class Gaps:
    """Idle stretches of one device, in order.

    `ending` is the position in `Pieces` of the work that ends each (NO_ROW for a rest that none ends); `parts` has
    one array a name of PARTS; `drained_by` is the row of the blocking call after which the host started from nothing,
    NO_ROW for none. In an uncertain one work may have run of which the trace has no usable record.
    """

    start_ns: Times
    end_ns: Times
    window: Rows
    ending: Rows
    launch_row: Rows
    parts: Mapping[str, Times]
    drained_by: Rows
    is_host_wait: npt.NDArray[np.bool_]
    is_uncertain: npt.NDArray[np.bool_]

    @cached_property
    def length_ns(self) -> Times:
        return self.end_ns - self.start_ns

    @cached_property
    def late_host_ns(self) -> Times:
        """The share in which the host had not finished submitting: the sum of HOST_PARTS."""
        total = np.zeros(len(self.start_ns), np.int64)
        for part in HOST_PARTS:
            total += self.parts[part]
        return total


def gaps_of(trace: Trace, windows: DeviceWindows) -> Gaps:
    """Every gap of every window of a device, split."""
    pieces = windows.pieces
    start, end, window, ending = _idle_stretches(windows)
    launch = rows_at(pieces.call_row, ending)
    call_start, call_end = values(trace.calls, "start_ns"), values(trace.calls, "end_ns")
    parts = {part: np.zeros(len(start), np.int64) for part in PARTS}
    length = end - start
    if pieces.is_cpu:
        host_start, host_end, host_gaps = start, end, np.arange(len(start))
    else:
        has_launch = launch != NO_ROW
        in_graph = has_launch & (rows_at(pieces.position_in_launch, ending) > 0)
        parts["unattributed"][~has_launch] = length[~has_launch]
        parts["inside_graph"][in_graph] = length[in_graph]
        host_gaps = np.flatnonzero(has_launch & ~in_graph)
        host_start = start[host_gaps]
        submitted = np.maximum(call_end[launch[host_gaps]], host_start)
        host_end = np.minimum(submitted, end[host_gaps])
        parts["device_latency"][host_gaps] = end[host_gaps] - host_end
    for part, amount in _host_parts(trace, pieces, launch[host_gaps], host_start, host_end).items():
        parts[part][host_gaps] = amount
    launch_start = np.where(launch != NO_ROW, call_start[launch] if len(call_start) else 0, 0)
    return Gaps(
        start_ns=start,
        end_ns=end,
        window=window,
        ending=ending,
        launch_row=launch,
        parts=parts,
        drained_by=_drained_by(trace, pieces, launch, host_gaps),
        is_host_wait=(launch != NO_ROW) & (launch_start >= start),
        is_uncertain=_is_uncertain(trace, pieces, start, end, ending),
    )


def rows_at(column: Rows, positions: Rows) -> Rows:
    """The column's values at those positions, NO_ROW where the position is NO_ROW."""
    found = np.full(len(positions), NO_ROW, np.int64)
    present = positions != NO_ROW
    found[present] = column[positions[present]]
    return found


def _idle_stretches(windows: DeviceWindows) -> tuple[Times, Times, Rows, Rows]:
    pieces = windows.pieces
    reach = np.maximum.accumulate(pieces.end_ns)  # an empty piece ends a gap too, and the next gap begins at it
    opens = np.concatenate([[True], pieces.start_ns[1:] > reach[:-1]])[: len(reach)]
    opener = np.flatnonzero(opens)  # the piece that begins each busy stretch
    busy_start = pieces.start_ns[opener]
    idle_start = np.concatenate([[np.iinfo(np.int64).min], reach[opener[1:] - 1]])[: len(opener)]
    found: list[tuple[Times, Times, Rows, Rows]] = []
    for number, window in enumerate(windows.windows):
        low = int(np.searchsorted(busy_start, window.start_ns, side="right"))
        high = max(int(np.searchsorted(busy_start, window.end_ns, side="right")), low)
        begin = np.maximum(idle_start[low:high], window.start_ns)
        found.append((begin, busy_start[low:high], np.full(high - low, number), opener[low:high]))
        found.append(_rest_of_window(window, number, pieces, reach))
    if not found:
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, nothing, nothing
    begin, until, number_of, ending = (np.concatenate(column) for column in zip(*found, strict=True))
    is_gap = until > begin
    return begin[is_gap], until[is_gap], number_of[is_gap], ending[is_gap]


def _rest_of_window(window: Window, number: int, pieces: Pieces, reach: Times) -> tuple[Times, Times, Rows, Rows]:
    """The idle stretch that a window ends with, which no work ends: only a step on the CPU can have one."""
    last = int(np.searchsorted(pieces.start_ns, window.end_ns, side="right")) - 1
    begin = max(int(reach[last]), window.start_ns) if last >= 0 else window.start_ns
    count = 1 if begin < window.end_ns else 0
    return (
        np.full(count, begin, np.int64),
        np.full(count, window.end_ns, np.int64),
        np.full(count, number, np.int64),
        np.full(count, NO_ROW, np.int64),
    )


def _host_parts(
    trace: Trace, pieces: Pieces, launch: Rows, start: Times, end: Times
) -> dict[str, npt.NDArray[np.int64]]:
    """What the launching thread did in each `[start, end)`: differences of ever larger covers, so they add up."""
    amounts = {part: np.zeros(len(start), np.int64) for part in HOST_PARTS}
    for thread, members in launching_threads(trace, pieces, launch).items():
        begin, until = start[members], end[members]
        covered = np.zeros(len(members), np.int64)
        for part, cover in zip(HOST_PARTS, host_covers(trace, thread), strict=False):
            reached = cover.within(begin, until)
            amounts[part][members] = reached - covered
            covered = reached
        amounts["python_and_host"][members] = np.maximum(until - begin, 0) - covered
    return amounts


def launching_threads(trace: Trace, pieces: Pieces, launch: Rows) -> dict[tuple[str, str], Rows]:
    """Positions in `launch` by the (process, thread) that made the call; on a GPU every row in it must be one."""
    if pieces.is_cpu:
        return {_busiest_thread(trace): np.arange(len(launch))}
    process, process_words = codes_and_words(trace.calls, "process")
    thread, thread_words = codes_and_words(trace.calls, "thread")
    key = process[launch].astype(np.int64) * (len(thread_words) + 1) + thread[launch]
    return {
        (process_words[int(one) // (len(thread_words) + 1)], thread_words[int(one) % (len(thread_words) + 1)]): (
            np.flatnonzero(key == one)
        )
        for one in distinct_rows(key)
    }


def _busiest_thread(trace: Trace) -> tuple[str, str]:
    threads = threads_of(trace, "operators")
    return max(threads, key=lambda thread: len(threads[thread]))


def host_covers(trace: Trace, thread: tuple[str, str]) -> list[Cover]:
    """Covers of the thread's time, each one holding those before it, in the order of HOST_PARTS."""
    none = np.zeros(0, np.int64)
    calls, operators = rows_of_thread(trace, "calls", thread), rows_of_thread(trace, "operators", thread)
    call_start, call_end = values(trace.calls, "start_ns")[calls], values(trace.calls, "end_ns")[calls]
    is_sync = has_word(trace.calls, "kind", _SYNC_KINDS)[calls]
    is_allocator = has_word(trace.calls, "kind", ("allocator",))[calls]
    stretches = [
        (call_start[is_sync], call_end[is_sync]),
        (call_start[is_allocator], call_end[is_allocator]),
        (call_start, call_end),
        _compile_stretches(trace, thread, operators, call_start),
        _operator_stretches(trace, operators),
    ]
    covers, start, end = [], none, none
    for more_start, more_end in stretches:
        start, end = np.concatenate([start, more_start]), np.concatenate([end, more_end])
        covers.append(union(start, end))
    return covers


def _operator_stretches(trace: Trace, operators: Rows) -> tuple[Times, Times]:
    rows = operators[~_is_compile(trace, operators)]
    return values(trace.operators, "start_ns")[rows], values(trace.operators, "end_ns")[rows]


def _is_compile(trace: Trace, operators: Rows) -> npt.NDArray[np.bool_]:
    kinds, words = codes_and_words(trace.operators, "kind")
    code = words.index("compile") if "compile" in words else NO_ROW
    return np.asarray(kinds[operators] == code)


def _compile_stretches(
    trace: Trace, thread: tuple[str, str], operators: Rows, call_start: Times
) -> tuple[Times, Times]:
    """Where the innermost operator is one of Dynamo's or Inductor's own; of a compiled region only its prologue.

    Behind the prologue a region runs the generated Python code, which is Python like any other.
    """
    none = np.zeros(0, np.int64)
    is_compile = _is_compile(trace, operators)
    if not is_compile.any():
        return none, none
    start, end = values(trace.operators, "start_ns")[operators], values(trace.operators, "end_ns")[operators]
    other_start = start[~is_compile]
    # Only what starts inside one of them can be the innermost one while it is open.
    near = np.flatnonzero(union(start[is_compile], end[is_compile]).holds(start))
    operators, is_compile, start, end = operators[near], is_compile[near], start[near], end[near]
    steps = innermost(start, end)
    inside = np.flatnonzero(steps.row[:-1] != NO_ROW)
    inside = inside[is_compile[steps.row[inside]]]
    until = steps.time[inside + 1]
    names, words = codes_and_words(trace.operators, "name")
    region_codes = [code for code, word in enumerate(words) if word.startswith(_REGION)]
    row = steps.row[inside]
    is_region = np.isin(names[operators[row]], region_codes)
    if not is_region.any():
        return steps.time[inside], until
    others = np.sort(np.concatenate([other_start, call_start, _generated_code_starts(trace, thread)]))
    prologue_end = _next_time(others, start[row])
    until = np.where(is_region, np.minimum(until, prologue_end), until)
    return steps.time[inside], until


def _generated_code_starts(trace: Trace, thread: tuple[str, str]) -> Times:
    rows = rows_of_thread(trace, "annotations", thread)
    names, words = codes_and_words(trace.annotations, "name")
    codes = [code for code, word in enumerate(words) if word.startswith(_GENERATED_CODE)]
    return np.asarray(values(trace.annotations, "start_ns")[rows[np.isin(names[rows], codes)]])


def _next_time(times: Times, after: Times) -> Times:
    """The first of the sorted times at or after each, or the end of time."""
    padded = np.concatenate([times, [np.iinfo(np.int64).max]])
    return np.asarray(padded[np.searchsorted(times, after, side="left")])


def _drained_by(trace: Trace, pieces: Pieces, launch: Rows, host_gaps: Rows) -> Rows:
    """The blocking call that ended on the launching thread between the launch before and the gap's own launch."""
    drained = np.full(len(launch), NO_ROW, np.int64)
    if pieces.is_cpu or len(host_gaps) == 0:
        return drained
    for thread, members in launching_threads(trace, pieces, launch[host_gaps]).items():
        mine = host_gaps[members]
        drained[mine] = _blocking_before(trace, rows_of_thread(trace, "calls", thread), launch[mine])
    return drained


def _blocking_before(trace: Trace, calls: Rows, launch: Rows) -> Rows:
    """Of one thread's calls, the blocking one that ended last before each launch and after the launch before it."""
    start, end = values(trace.calls, "start_ns"), values(trace.calls, "end_ns")
    blocking = calls[values(trace.calls, "is_blocking")[calls]]
    if len(blocking) == 0:
        return np.full(len(launch), NO_ROW, np.int64)
    blocking = blocking[np.argsort(end[blocking], kind="stable")]
    launches = start[calls[values(trace.calls, "work_count")[calls] > 0]]
    launched = start[launch]
    place = np.searchsorted(end[blocking], launched, side="right") - 1
    candidate = blocking[np.maximum(place, 0)]
    before = np.searchsorted(launches, launched, side="left") - 1
    previous = np.where(before >= 0, launches[np.maximum(before, 0)], np.iinfo(np.int64).min)
    return np.where((place >= 0) & (end[candidate] > previous), candidate, NO_ROW)


def _is_uncertain(trace: Trace, pieces: Pieces, start: Times, end: Times, ending: Rows) -> npt.NDArray[np.bool_]:
    dropped = _holds_dropped_work(trace, pieces.device, start, end)
    if pieces.is_cpu:
        return dropped
    launch = np.where(rows_at(pieces.position_in_launch, ending) > 0, NO_ROW, rows_at(pieces.call_row, ending))
    return dropped | may_hold_lost_work(trace, pieces, start, end, launch)


def _holds_dropped_work(trace: Trace, device: str, start: Times, end: Times) -> npt.NDArray[np.bool_]:
    dropped = trace.dropped_work
    here = has_word(dropped, "device", (device,))
    times = np.sort(values(dropped, "start_ns")[here]) if here.any() else np.zeros(0, np.int64)
    return np.asarray(np.searchsorted(times, end, side="left") > np.searchsorted(times, start, side="left"))
