"""Which launches have no GPU work in the trace, though they must have submitted some?

    host     AA..BB..CC......
    stream 7 ..aaa......ccc..     B's work is missing: the gap between a and c may not be one

Profilers lose records: buffers overflow, another profiler holds the device, a graph's replay is recorded in part.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from explorer.analysis.pieces import Pieces, has_word, process_of, threads_of
from explorer.spans import Rows, Times, distinct_rows
from explorer.trace import Trace, codes_and_words, values, values_or

Flags = npt.NDArray[np.bool_]

_LAUNCH_KINDS = ("launch", "graph_launch", "copy")


def lost_launches(trace: Trace) -> Rows:
    """Rows of the calls that launched something of which the trace holds no work.

    A call inside another one that has work is none of them, nor one that a graph captures.
    """
    launching = has_word(trace.calls, "kind", _LAUNCH_KINDS)
    without = (values(trace.calls, "work_count") == 0) & (values_or(trace.calls, "correlation", 0) != 0)
    lost = launching & without
    return np.flatnonzero(lost & ~_holds_launch(trace) & ~_is_captured(trace) if lost.any() else lost)


def lost_launches_of(trace: Trace, pieces: Pieces) -> Rows:
    """Those of the process that launched the pieces; of every process where no launch of theirs is known."""
    lost = lost_launches(trace)
    home = process_of(trace, pieces)
    return lost if home is None else lost[has_word(trace.calls, "process", (home,))[lost]]


def may_hold_lost_work(trace: Trace, pieces: Pieces, start: Times, end: Times, launch: Rows) -> Flags:
    """Which idle stretches `[start, end)` lost work may have filled.

    A launch whose work is lost began inside, or was the last one on its thread before `launch`, the row of the call
    whose work ends the stretch (NO_ROW for none): where the host runs ahead, the launches began long before.
    """
    lost = lost_launches_of(trace, pieces)
    times = np.sort(values(trace.calls, "start_ns")[lost])
    begun = np.searchsorted(times, end, side="left") > np.searchsorted(times, start, side="left")
    is_lost = np.zeros(len(trace.calls), bool)
    is_lost[lost] = True
    is_launch = is_lost | (values(trace.calls, "work_count") > 0)
    follows = np.zeros(len(trace.calls) + 1, bool)  # the last one serves NO_ROW
    for calls in threads_of(trace, "calls").values() if len(lost) else ():
        launches = calls[is_launch[calls]]
        follows[launches[1:]] = is_lost[launches[:-1]]
    return np.asarray(begun | follows[launch])


def _holds_launch(trace: Trace) -> Flags:
    """Calls that share their correlation with a call of their process that did submit work: a driver call inside a
    runtime call.
    """
    correlation = values_or(trace.calls, "correlation", 0)
    process, _ = codes_and_words(trace.calls, "process")
    works = values(trace.calls, "work_count") > 0
    holds = np.zeros(len(trace.calls), bool)
    for code in distinct_rows(process).tolist():
        here = process == code
        holds[here] = np.isin(correlation[here], correlation[here & works])
    return holds


def _is_captured(trace: Trace) -> Flags:
    """Calls while a thread of their process captures a graph: what such a call did not submit, it recorded.

    The thread that captures is not the only one that records: a backward pass has threads of its own.
    """
    codes, words = codes_and_words(trace.calls, "name")
    edges = np.array([_capture_edge(word) for word in words], np.int8)[codes]
    captured = np.zeros(len(trace.calls), bool)
    if not edges.any():
        return captured
    process, _ = codes_and_words(trace.calls, "process")
    start = values(trace.calls, "start_ns")
    for rows in threads_of(trace, "calls").values():
        turns = rows[edges[rows] != 0]
        if len(turns):
            mates = np.flatnonzero(process == process[turns[0]])
            last = np.searchsorted(start[turns], start[mates], side="right") - 1
            captured[mates] |= (last >= 0) & (edges[turns[last]] == 1)
    return captured


def _capture_edge(call: str) -> int:
    """1 for a call that begins a capture, -1 for one that ends it, else 0."""
    return int("StreamBeginCapture" in call) - int("StreamEndCapture" in call)
