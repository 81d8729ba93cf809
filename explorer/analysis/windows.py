"""Which stretch of time is looked at? The steps of a device, or its whole trace.

    host     [ step#0      ][ step#1      ]
    launches   L L L          L L L
    work         K K  K         K K  K
    windows  [        )     [          )        a window ends with its own last work, and
                                                begins with its host start or the end of the
                                                previous step's work, whichever is later

What lies between a window's end and the next one's start belongs to no step. On the CPU, host and device are one:
a window is the step's annotation itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from explorer.analysis.lost_work import lost_launches_of
from explorer.analysis.pieces import Pieces, devices_of, pieces_of, process_of, threads_of
from explorer.spans import NO_ROW, Rows, Times
from explorer.trace import Trace, codes_and_words, values, values_or
from explorer.units import text

WindowKind = Literal["steps", "trace"]
_NO_WORK = "they launched no work on this device"
_LOST_WORK = "their launches' work is missing from the trace"
_OVERTAKEN = "their work ended before the previous step's work, or their own host start, where a window would begin"
"""Why a step has no window, as notes say it."""
_OTHER_PROCESS = "The steps of this trace are marked by another process than the one that launched this device's work"


@dataclass(frozen=True)
class Window:
    """One step of one device, or its whole trace; times in nanoseconds of the trace.

    `pitch_ns` is from this host start to the next one's, None for the last step and for the whole trace.
    """

    name: str
    index: int | None
    start_ns: int
    end_ns: int
    host_start_ns: int
    host_end_ns: int
    pitch_ns: int | None = None

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class DeviceWindows:
    """The windows of one device, in order, and its pieces. `window_of_piece` is NO_ROW for work of no window.

    A piece belongs to the step that launched it; one without a launch to the window that it starts in.
    """

    kind: WindowKind
    pieces: Pieces
    windows: tuple[Window, ...]
    window_of_piece: Rows
    between_ns: int
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What was looked at, in words."""
        if self.kind == "trace":
            return "the whole trace, from its first work to its last"
        count = len(self.windows)
        until = "its host end" if self.pieces.is_cpu else "the end of its last work"
        return f"{count:,} step{'s' if count != 1 else ''}, each from its host start to {until}"


def has_steps(trace: Trace) -> bool:
    """Whether anything in the trace marks steps."""
    return "step" in trace.annotations["kind"].unique().to_pylist()


def default_window(trace: Trace) -> WindowKind:
    """Steps where there are any, else the whole trace."""
    return "steps" if has_steps(trace) else "trace"


def has_step_windows(trace: Trace) -> bool:
    """Whether the work of the first device falls into steps; marks around no work are none of it."""
    devices = devices_of(trace)
    return bool(devices) and device_windows(trace, devices[0], "steps").kind == "steps"


def device_windows(trace: Trace, device: str, kind: WindowKind) -> DeviceWindows:
    """The windows of that kind; without step marks of its process the whole trace is one step, and a note says so."""
    pieces = pieces_of(trace, device)
    if kind == "trace":
        return _whole(pieces)
    steps = _step_marks(trace, pieces)
    if len(steps) == 0:
        who = _OTHER_PROCESS if has_steps(trace) else "Nothing marks steps in this trace"
        return _whole(pieces, (f"{who}; the whole of it is taken as one step.",))
    return _stepwise(trace, pieces, steps)


def step_windows(trace: Trace, device: str) -> tuple[Window, ...]:
    """The step windows of a device (definitions.md, "Step window"); the whole trace where nothing marks steps."""
    return device_windows(trace, device, "steps").windows


def _whole(pieces: Pieces, notes: tuple[str, ...] = ()) -> DeviceWindows:
    if len(pieces.row) == 0:
        return DeviceWindows("trace", pieces, (), pieces.row, 0, notes)
    start, end = int(pieces.start_ns.min()), int(pieces.end_ns.max())
    window = Window("trace", None, start, end, start, end)
    return DeviceWindows("trace", pieces, (window,), np.zeros(len(pieces.row), np.int64), 0, notes)


def _step_marks(trace: Trace, pieces: Pieces) -> Rows:
    """Rows of the step annotations on the thread of this device's process that marks most steps."""
    kinds, words = codes_and_words(trace.annotations, "kind")
    if "step" not in words:
        return np.zeros(0, np.int64)
    is_step = kinds == words.index("step")
    home = process_of(trace, pieces)
    best = np.zeros(0, np.int64)
    for (process, _), rows in threads_of(trace, "annotations").items():
        steps = rows[is_step[rows]]
        if (home is None or process == home) and len(steps) > len(best):
            best = steps
    return best


def _stepwise(trace: Trace, pieces: Pieces, steps: Rows) -> DeviceWindows:
    start = values(trace.annotations, "start_ns")[steps]
    end = values(trace.annotations, "end_ns")[steps]
    index = values_or(trace.annotations, "index", NO_ROW)[steps]
    names = trace.annotations["name"].take(steps).to_pylist()
    own = _step_of_piece(trace, pieces, start, end)
    windows: list[Window] = []
    window_of_step = np.full(len(steps), NO_ROW, np.int64)
    left_out: dict[str, list[str]] = {_NO_WORK: [], _LOST_WORK: [], _OVERTAKEN: []}
    previous_end = np.iinfo(np.int64).min
    last_end = np.full(len(steps) + 1, NO_ROW, np.int64)  # the last one serves pieces of no step
    np.maximum.at(last_end, own, pieces.end_ns)
    lost_start = values(trace.calls, "start_ns")[lost_launches_of(trace, pieces)]
    has_lost = np.searchsorted(lost_start, end, side="left") > np.searchsorted(lost_start, start, side="left")
    for step, (name, host_start, host_end) in enumerate(zip(names, start.tolist(), end.tolist(), strict=True)):
        last = host_end if pieces.is_cpu else int(last_end[step])
        begin = host_start if pieces.is_cpu else max(host_start, previous_end)
        if last_end[step] == NO_ROW or last <= begin:
            without = _LOST_WORK if has_lost[step] else _NO_WORK
            left_out[without if last_end[step] == NO_ROW else _OVERTAKEN].append(name)
            continue
        window_of_step[step] = len(windows)
        pitch = int(start[step + 1]) - host_start if step + 1 < len(steps) else None
        windows.append(Window(name, int(index[step]), begin, last, host_start, host_end, pitch))
        previous_end = max(previous_end, last)
    membership = np.where(own != NO_ROW, window_of_step[own], NO_ROW)
    membership = _with_unlinked(pieces, windows, membership)
    between = sum(max(later.start_ns - sooner.end_ns, 0) for sooner, later in itertools.pairwise(windows))
    if not windows:
        return _whole(
            pieces, (*_notes(left_out), "No step has a window of its own; the whole trace is taken as one step.")
        )
    is_stray = (own == NO_ROW) & (membership == NO_ROW)
    notes = (*_notes(left_out), *_stray_notes(pieces.where(is_stray), pieces.where(~is_stray)))
    return DeviceWindows("steps", pieces, tuple(windows), membership, between, notes)


def _step_of_piece(trace: Trace, pieces: Pieces, start: Times, end: Times) -> Rows:
    """The step that launched each piece (that an operator starts in, on the CPU); steps that overlap are cut."""
    if pieces.is_cpu:
        begun, has_launch = pieces.start_ns, np.ones(len(pieces.row), bool)
    else:
        has_launch = pieces.call_row != NO_ROW
        calls = values(trace.calls, "start_ns")
        begun = np.zeros(len(pieces.row), np.int64)
        begun[has_launch] = calls[pieces.call_row[has_launch]]
    step = np.searchsorted(start, begun, side="right") - 1
    inside = has_launch & (step >= 0) & (begun < end[np.maximum(step, 0)])
    return np.where(inside, step, NO_ROW)


def _with_unlinked(pieces: Pieces, windows: list[Window], membership: Rows) -> Rows:
    unlinked = np.flatnonzero(pieces.call_row == NO_ROW) if not pieces.is_cpu else np.zeros(0, np.int64)
    if len(unlinked) == 0 or not windows:
        return membership
    starts = np.array([window.start_ns for window in windows])
    ends = np.array([window.end_ns for window in windows])
    place = np.searchsorted(starts, pieces.start_ns[unlinked], side="right") - 1
    inside = (place >= 0) & (pieces.start_ns[unlinked] < ends[np.maximum(place, 0)])
    membership = membership.copy()
    membership[unlinked] = np.where(inside, place, NO_ROW)
    return membership


def _notes(left_out: Mapping[str, list[str]]) -> tuple[str, ...]:
    """A sentence a reason, from the steps' names by reason."""
    return tuple(
        f"Left out, because {why}: {', '.join(names[:5])}{' and others' if len(names) > 5 else ''}."
        for why, names in left_out.items()
        if names
    )


def _stray_notes(stray: Pieces, inside: Pieces) -> tuple[str, ...]:
    """A sentence a reason on GPU work of no step: how many pieces, and how long they kept the device busy.

    What ran before and between the steps is worth one only where it outweighs them.
    """
    if stray.is_cpu:
        return ()
    is_linked = stray.call_row != NO_ROW
    outside, unknown = stray.where(is_linked), stray.where(~is_linked)
    told = [("the launch is unknown", unknown)] if len(unknown.row) else []
    if outside.cover().total > inside.cover().total:
        told.insert(0, ("launched outside every one", outside))
    return tuple(
        f"{len(some.row):,} {'piece' if len(some.row) == 1 else 'pieces'} of GPU work "
        f"({text(some.cover().total, 'ns')}) belong{'s' if len(some.row) == 1 else ''} to no step: {why}."
        for why, some in told
    )


def clipped(windows: DeviceWindows, window: Window) -> tuple[Times, Times, npt.NDArray[np.bool_]]:
    """Starts and ends of all pieces cut to a window, and which of them touch it."""
    start = np.maximum(windows.pieces.start_ns, window.start_ns)
    end = np.minimum(windows.pieces.end_ns, window.end_ns)
    return start, end, end > start
