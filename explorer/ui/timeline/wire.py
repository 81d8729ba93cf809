"""How does what is drawn travel to the browser? One small JSON head, then plain little-endian columns.

    4 bytes   length of the head
    head      UTF-8 JSON, padded with spaces so that columns begin on a multiple of 8
    columns   of all rows together, one after the other, each padded to a multiple of 8 bytes

Rectangles: start (float64), duration (float32), event (uint32), name (uint32), colour (uint8), matched (uint8).
Blocks: start (float64), duration (float32), first event (uint32), count (uint32), busy (float32),
matched count (uint32), colour (uint8).
Starts are nanoseconds from the window's start, so that float64 and float32 hold them to the nanosecond and to
seven digits; what a person reads as an exact number is asked for by event.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from explorer.analysis.timeline_detail import Detail, Window
from explorer.analysis.timeline_search import Matches

_ALIGNMENT = 8
Column = npt.NDArray[np.generic]


def pack_details(details: Sequence[Detail], window: Window, matches: Matches | None) -> bytes:
    """The answer to one request for a view; without a search nothing counts as matched."""
    head = {
        "start_ns": window.start_ns,
        "end_ns": window.end_ns,
        "rows": [
            {
                "key": detail.row.name.key,
                "rectangle_count": len(detail.event),
                "block_count": len(detail.block_first),
            }
            for detail in details
        ],
    }
    columns = [
        np.concatenate(parts) for parts in zip(*(_columns(each, window, matches) for each in details), strict=True)
    ]
    return _framed(head, columns)


def _columns(detail: Detail, window: Window, matches: Matches | None) -> list[Column]:
    row, event = detail.row, detail.event
    first, last = detail.block_first, detail.block_last
    return [
        (row.start_ns[event] - window.start_ns).astype("<f8"),
        (row.end_ns[event] - row.start_ns[event]).astype("<f4"),
        event.astype("<u4"),
        row.name_codes(event).astype("<u4"),
        row.colour[event],
        np.zeros(len(event), np.uint8) if matches is None else matches.is_match(row, event).astype(np.uint8),
        (detail.block_start_ns - window.start_ns).astype("<f8"),
        (detail.block_end_ns - detail.block_start_ns).astype("<f4"),
        first.astype("<u4"),
        (last - first).astype("<u4"),
        detail.block_busy_ns.astype("<f4"),
        np.zeros(len(first), "<u4") if matches is None else matches.count_between(row, first, last).astype("<u4"),
        detail.block_colour,
    ]


def _framed(head: object, columns: Sequence[Column]) -> bytes:
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 4) % _ALIGNMENT)
    parts = [len(text).to_bytes(4, "little"), text]
    for column in columns:
        raw = column.tobytes()
        parts += [raw, b"\0" * (-len(raw) % _ALIGNMENT)]
    return b"".join(parts)
