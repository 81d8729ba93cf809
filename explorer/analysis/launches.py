"""How long does work wait after its launch, and how much of it stands in line on a stream?

host     AABB.CC.......
stream 7 .....aa.bb.cc.
queue    11223322211100      +1 when a launch begins, −1 when its work starts
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from explorer.analysis.blame import categorical, names_of
from explorer.analysis.pieces import CPU, Pieces, devices_of, no_pieces_text
from explorer.analysis.windows import DeviceWindows, WindowKind, default_window, device_windows
from explorer.report import Column, Metric, Report, ReportTable
from explorer.spans import NO_ROW, Rows, Times
from explorer.trace import Trace, codes_and_words, values, values_or

QUESTION = "How long does work wait, and how much of it?"
_NO_LAUNCHES = "No launch of this trace is known; on the CPU nothing is launched."

_LATENCY_COLUMNS = (
    Column("window", "step", "text"),
    Column("since_step_ns", "since the step's host start", "ns"),
    Column("latency_ns", "launch to start", "ns"),
    Column("queue_time_ns", "end of launch to start", "ns"),
    Column("stream", "stream", "text"),
    Column("work_row", "row of the work", "count"),
)
_STREAM_COLUMNS = (
    Column("stream", "stream", "text"),
    Column("launch_count", "launches", "count"),
    Column("latency_p50_ns", "launch to start, median", "ns"),
    Column("latency_p90_ns", "slowest tenth above", "ns"),
    Column("queue_time_p50_ns", "end of launch to start, median", "ns"),
    Column("negative_count", "before their launch", "count"),
    Column("longest_queue_count", "most in line", "count"),
)
_SLOWEST_COLUMNS = (
    Column("work", "work", "text"),
    Column("operator", "operator", "text"),
    Column("call", "launched by", "text"),
    *(column for column in _LATENCY_COLUMNS if column.key != "work_row"),
)
_SLOWEST_COUNT = 50
_QUEUE_COLUMNS = (
    Column("stream", "stream", "text"),
    Column("time_ns", "time", "ns"),
    Column("length", "work in line", "count"),
)


def launch_report(trace: Trace, window: WindowKind | None = None) -> Report:
    """Tables `streams` (a row a stream), `slowest` (the launches whose work waits longest, with their names),
    `latency` (a row a launch, by its first piece) and `queue` (a row a change of a stream's queue length).

    Negative latencies are kept: they are clock skew. One child a device; the report itself is the first device's.
    """
    kind = window or default_window(trace)
    children = {
        device: _device_report(trace, device_windows(trace, device, kind))
        for device in devices_of(trace)
        if device != CPU
    }
    if not children:
        looked_at = "no GPU work" if devices_of(trace) else no_pieces_text(trace)
        return Report(QUESTION, looked_at, notes=(_NO_LAUNCHES,))
    first = next(iter(children.values()))
    return Report(QUESTION, first.window, first.metrics, first.tables, first.notes, children)


def _device_report(trace: Trace, windows: DeviceWindows) -> Report:
    pieces = windows.pieces
    linked = np.flatnonzero((windows.window_of_piece != NO_ROW) & (pieces.call_row != NO_ROW))
    first = linked[pieces.position_in_launch[linked] == 0]
    queue = _queue_frame(trace, pieces, linked)
    metrics = (
        Metric("launch_count", "launches", len(first), "count"),
        Metric(
            "longest_queue_count",
            "most work in line on a stream",
            int(queue["length"].max()) if len(queue) else None,
            "count",
            None,
            "" if len(queue) else _NO_LAUNCHES,
        ),
    )
    latency = _latency_frame(trace, windows, first)
    tables = (
        ReportTable("streams", "Launches by stream", _STREAM_COLUMNS, _stream_frame(latency, queue)),
        ReportTable("slowest", "Launches whose work waits longest", _SLOWEST_COLUMNS, _slowest_frame(trace, latency)),
        ReportTable("latency", "Launch latency", _LATENCY_COLUMNS, latency),
        ReportTable("queue", "Queue length", _QUEUE_COLUMNS, queue),
    )
    return Report(QUESTION, windows.text, metrics, tables, windows.notes)


def _latency_frame(trace: Trace, windows: DeviceWindows, places: Rows) -> pd.DataFrame:
    pieces, member = windows.pieces, windows.window_of_piece[places]
    launched = values(trace.calls, "start_ns")[pieces.call_row[places]]
    submitted = values(trace.calls, "end_ns")[pieces.call_row[places]]
    host_starts = np.array([one.host_start_ns for one in windows.windows], np.int64)
    streams, words = codes_and_words(trace.work, "stream")
    frame = pd.DataFrame(
        {
            "window": [windows.windows[number].name for number in member.tolist()],
            "since_step_ns": launched - host_starts[member],
            "latency_ns": pieces.start_ns[places] - launched,
            "queue_time_ns": pieces.start_ns[places] - submitted,
            "stream": categorical(streams[pieces.row[places]], words),
            "work_row": pieces.row[places],
        },
        columns=[column.key for column in _LATENCY_COLUMNS],
    )
    return frame.sort_values("since_step_ns", kind="stable", ignore_index=True)


def _stream_frame(latency: pd.DataFrame, queue: pd.DataFrame) -> pd.DataFrame:
    rows = [
        (
            stream,
            len(launches),
            launches["latency_ns"].quantile(0.5),
            launches["latency_ns"].quantile(0.9),
            launches["queue_time_ns"].quantile(0.5),
            int((launches["latency_ns"] < 0).sum()),
            int(queue["length"][queue["stream"] == stream].max()),
        )
        for stream, launches in latency.groupby("stream", observed=True)
    ]
    frame = pd.DataFrame(rows, columns=[column.key for column in _STREAM_COLUMNS])
    return frame.sort_values("launch_count", ascending=False, kind="stable", ignore_index=True)


def _slowest_frame(trace: Trace, latency: pd.DataFrame) -> pd.DataFrame:
    slowest = latency.nlargest(_SLOWEST_COUNT, "latency_ns")
    rows = slowest["work_row"].to_numpy()
    calls, operators = (values_or(trace.work, column, NO_ROW)[rows] for column in ("call_row", "operator_row"))
    named = slowest.assign(
        work=names_of(trace, "work", rows),
        operator=names_of(trace, "operators", operators),
        call=names_of(trace, "calls", calls),
    )
    return named[[column.key for column in _SLOWEST_COLUMNS]].reset_index(drop=True)


def _queue_frame(trace: Trace, pieces: Pieces, places: Rows) -> pd.DataFrame:
    streams, words = codes_and_words(trace.work, "stream")
    lane = streams[pieces.row[places]]
    launched = values(trace.calls, "start_ns")[pieces.call_row[places]]
    time = np.concatenate([launched, pieces.start_ns[places]])
    change = np.repeat(np.array([1, -1]), len(places))
    lanes = np.concatenate([lane, lane])
    order = np.lexsort((time, lanes))
    time, change, lanes = time[order], change[order], lanes[order]
    length = _running(change, lanes)
    is_last = np.ones(len(time), bool)  # of those at one time on one stream
    is_last[:-1] = (time[1:] != time[:-1]) | (lanes[1:] != lanes[:-1])
    columns = {"stream": categorical(lanes[is_last], words), "time_ns": time[is_last], "length": length[is_last]}
    return pd.DataFrame(columns, columns=[column.key for column in _QUEUE_COLUMNS])


def _running(change: Times, lanes: Rows) -> Times:
    """The sum of the changes so far, from 0 again on each lane."""
    total = np.cumsum(change)
    begins = np.flatnonzero(np.concatenate([[True], lanes[1:] != lanes[:-1]])) if len(lanes) else lanes
    before = total[begins] - change[begins]
    counts = np.diff(np.append(begins, len(lanes)))
    return np.asarray(total - np.repeat(before, counts))
