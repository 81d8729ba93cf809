"""What is drawn of a trace between two times? Rows of rectangles, as many as a screen can show and no more.

    GPU stream 7     ▓▓░░░▓▓▓░░▓     work by family, gaps by part
    operators        ▬▬▬▬▬▬▬▬▬▬▬     the outermost levels of the host's operators
    runtime calls    ▪   ▪ ▪  ▪      launches, copies, synchronisations

Rectangles too narrow to see are joined into blocks that say how many pieces they stand for.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from explorer.charts.theme import IDLE_PARTS, key_label
from explorer.trace import Trace, codes_and_words, values
from explorer.units import shortened, text

OPERATOR_LEVELS = 3
RECTANGLE_LIMIT = 400
"""Most rectangles that one row may hold; a page stays fluid up to a few thousand altogether."""
_SMALLEST_SHARE = 1 / 500
_FUSED = re.compile(r"triton_[a-z]+_fused_")
Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Stretch:
    """The part of a trace that is drawn, in ns from the trace's start; `origin_ns` is where its axis reads 0."""

    start_ns: int
    end_ns: int
    origin_ns: int

    @property
    def extent_ns(self) -> int:
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class Rectangles:
    """One row's rectangles: a frame with start_ns, end_ns, key (colour), label (text inside), hover and share.

    `share` is 1 for a single piece; for a block, how much of it is filled by the pieces that it stands for. `is_fused`
    marks a kernel that a compiler made of several operators.
    """

    kind: str
    title: str
    frame: pd.DataFrame


def work_rows(trace: Trace, work: pa.Table, stretch: Stretch) -> list[Rectangles]:
    """One row a device and stream with work in the stretch, busiest first.

    `work` has the columns of `trace.WORK` that are drawn: start_ns, end_ns, name, family, device, stream, call_row and
    operator_row; usually it is the trace's own, on the CPU what stands in for it.
    """
    work = _within(work, stretch)
    if work.num_rows == 0:
        return []
    places = Counter(zip(work["device"].to_pylist(), work["stream"].to_pylist(), strict=True))
    device_count = len({device for device, _ in places})
    rows = []
    for (device, stream), _ in places.most_common():
        is_here = pc.and_(pc.equal(work["device"], device), pc.equal(work["stream"], pa.scalar(stream, pa.string())))
        if stream is None:
            is_here = pc.and_(pc.equal(work["device"], device), pc.is_null(work["stream"]))
        title = _row_title(device, stream, device_count)
        rows.append(Rectangles("work", title, _work_frame(trace, work.filter(is_here), stretch)))
    return rows


def _row_title(device: str, stream: str | None, device_count: int) -> str:
    if stream is None:
        return device.upper() if device == "cpu" else f"GPU {device}"
    return f"GPU {device} stream {stream}" if device_count > 1 else f"GPU stream {stream}"


def gap_row(gaps: pd.DataFrame, stretch: Stretch) -> Rectangles:
    """The idle gaps in the stretch, coloured by their largest part.

    `gaps` has start_ns, end_ns and one column `<part>_ns` for each part of idle time.
    """
    visible = gaps[(gaps["end_ns"] > stretch.start_ns) & (gaps["start_ns"] < stretch.end_ns)]
    columns = [f"{part}_ns" for part in IDLE_PARTS]
    parts = visible[columns].to_numpy()
    largest = parts.argmax(axis=1) if len(parts) else np.zeros(0, np.int64)
    frame = pd.DataFrame(
        {
            "start_ns": visible["start_ns"].to_numpy(),
            "end_ns": visible["end_ns"].to_numpy(),
            "key": [IDLE_PARTS[index] for index in largest],
            "label": [text(length, "ns") for length in visible["length_ns"]],
            "hover": [_gap_hover(row) for row in parts],
        }
    )
    return Rectangles("gap", "", joined(frame, stretch, "gaps"))


def operator_rows(trace: Trace, stretch: Stretch) -> list[Rectangles]:
    """One row a nesting level of the busiest host thread's operators, outermost first."""
    operators = _within(trace.operators, stretch)
    operators = _busiest_thread(operators)
    depth = values(operators, "depth")
    rows = []
    for level in range(OPERATOR_LEVELS):
        at_level = operators.filter(pa.array(depth == level))
        if at_level.num_rows:
            frame = joined(_named_frame(at_level, "host", stretch), stretch, "operators")
            rows.append(Rectangles("operator", "operators" if level == 0 else "", frame))
    return rows


def call_row(trace: Trace, stretch: Stretch) -> Rectangles | None:
    """The runtime and driver calls of the busiest host thread, or None where there are none."""
    calls = _busiest_thread(_within(trace.calls, stretch))
    if calls.num_rows == 0:
        return None
    return Rectangles("call", "runtime calls", joined(_named_frame(calls, "host_deep", stretch), stretch, "calls"))


def joined(frame: pd.DataFrame, stretch: Stretch, noun: str) -> pd.DataFrame:
    """The rectangles, with neighbours too narrow to see joined into blocks; at most RECTANGLE_LIMIT come back."""
    smallest_ns = max(1.0, stretch.extent_ns * _SMALLEST_SHARE)
    result = _joined_below(frame, smallest_ns, noun)
    while len(result) > RECTANGLE_LIMIT:
        smallest_ns *= 1.5
        result = _joined_below(frame, smallest_ns, noun)
    return result


def _joined_below(frame: pd.DataFrame, smallest_ns: float, noun: str) -> pd.DataFrame:
    frame = frame.assign(share=1.0)
    if "is_fused" not in frame:
        frame = frame.assign(is_fused=False)
    start, end = frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy()
    narrow = end - start < smallest_ns
    reach = np.maximum.accumulate(end) if len(end) else end
    near = np.zeros(len(frame), bool)
    near[1:] = narrow[1:] & narrow[:-1] & (start[1:] - reach[:-1] < smallest_ns)
    group = np.cumsum(~near)
    sizes = np.bincount(group)[group]
    alone, blocks = frame[sizes == 1], frame[sizes > 1]
    if blocks.empty:
        return frame
    merged = [_block(rows, noun) for _, rows in blocks.groupby(group[sizes > 1], sort=False)]
    result: pd.DataFrame = pd.concat([alone, pd.DataFrame(merged)], ignore_index=True)
    return result.sort_values("start_ns", ignore_index=True)


def _block(rows: pd.DataFrame, noun: str) -> dict[str, object]:
    lengths = rows["end_ns"] - rows["start_ns"]
    by_key = lengths.groupby(rows["key"]).sum()
    dominant = str(by_key.idxmax())
    named = f", mostly {key_label(dominant)}" if len(by_key) > 1 else ""
    start_ns, end_ns = int(rows["start_ns"].min()), int(rows["end_ns"].max())
    of_extent = f"{text(int(lengths.sum()), 'ns')} of {text(end_ns - start_ns, 'ns')}"
    return {
        "start_ns": start_ns,
        "end_ns": end_ns,
        "share": min(1.0, lengths.sum() / (end_ns - start_ns)),
        "key": dominant,
        "is_fused": False,
        "label": "",
        "hover": f"<b>{len(rows):,} {noun}</b>{named}<br>{of_extent}",
    }


def _work_frame(trace: Trace, work: pa.Table, stretch: Stretch) -> pd.DataFrame:
    frame = _named_frame(work, "", stretch)
    codes, words = codes_and_words(work, "family")
    frame["key"] = [words[code] for code in codes]
    frame["is_fused"] = [bool(_FUSED.match(label)) for label in frame["label"]]
    calls = _looked_up(trace.calls, work["call_row"], "name")
    operators = _looked_up(trace.operators, work["operator_row"], "name")
    launch_start = _looked_up_times(trace.calls, work["call_row"])
    frame["hover"] = [
        _work_hover(hover, key, call, start - launched if launched is not None else None, operator)
        for hover, key, call, start, launched, operator in zip(
            frame["hover"], frame["key"], calls, frame["start_ns"], launch_start, operators, strict=True
        )
    ]
    return joined(frame, stretch, "pieces of GPU work")


def _named_frame(table: pa.Table, key: str, stretch: Stretch) -> pd.DataFrame:
    start, end = values(table, "start_ns"), values(table, "end_ns")
    codes, words = codes_and_words(table, "name")
    short = [shortened(word, 64) for word in words]
    names = [short[code] for code in codes]
    return pd.DataFrame(
        {
            "start_ns": start,
            "end_ns": end,
            "key": key,
            "label": names,
            "hover": [
                f"<b>{_plain(name)}</b><br>{text(int(stop - begin), 'ns')} · starts at "
                f"{text(int(begin - stretch.origin_ns), 'ns')}"
                for name, begin, stop in zip(names, start, end, strict=True)
            ],
        }
    )


def _work_hover(hover: str, family: str, call: str | None, latency_ns: int | None, operator: str | None) -> str:
    lines = [hover, key_label(family)]
    if call is not None:
        lines.append(f"launched by {_plain(call)}, {text(latency_ns, 'ns')} before")
    else:
        lines.append("no launch is known")
    if operator is not None:
        lines.append(f"operator {_plain(operator)}")
    return "<br>".join(lines)


def _gap_hover(parts: npt.NDArray[np.int64]) -> str:
    total = int(parts.sum())
    shown = sorted(
        ((value, part) for value, part in zip(parts.tolist(), IDLE_PARTS, strict=True) if value), reverse=True
    )
    lines = [f"{key_label(part)} {text(value, 'ns')}" for value, part in shown]
    return f"<b>idle for {text(total, 'ns')}</b><br>" + "<br>".join(lines)


def _within(table: pa.Table, stretch: Stretch) -> pa.Table:
    inside = pc.and_(pc.greater(table["end_ns"], stretch.start_ns), pc.less(table["start_ns"], stretch.end_ns))
    return table.filter(inside)


def _busiest_thread(table: pa.Table) -> pa.Table:
    codes, words = codes_and_words(table, "thread")
    if len(codes) == 0:
        return table
    busiest = int(np.bincount(codes, minlength=len(words)).argmax())
    return table.filter(pa.array(codes == busiest))


def _looked_up(table: pa.Table, rows: pa.ChunkedArray, column: str) -> list[str | None]:
    found: list[str | None] = table[column].take(rows).to_pylist()
    return found


def _looked_up_times(table: pa.Table, rows: pa.ChunkedArray) -> list[int | None]:
    found: list[int | None] = table["start_ns"].take(rows).to_pylist()
    return found


def _plain(name: str) -> str:
    """A name as plain text inside Plotly's little HTML."""
    return name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
