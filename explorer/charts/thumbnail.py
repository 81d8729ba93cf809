"""What does a run look like in a strip of a few hundred pixels? The colour of what the GPU did most in each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow.compute as pc

from explorer.charts.theme import Theme
from explorer.trace import Trace, codes_and_words, values

_COLUMNS = 240
_HEIGHT = 34
Times = npt.NDArray[np.float64]


def thumbnail(trace: Trace, start_ns: int, end_ns: int, theme: Theme) -> str:
    """An SVG picture of the trace between two times: bars as high as the GPU was busy.

    Without GPU work the outermost host operators stand in.
    """
    extent_ns = max(1, end_ns - start_ns)
    edges = start_ns + np.arange(_COLUMNS + 1) * extent_ns / _COLUMNS
    drawn = trace.work if trace.work.num_rows else trace.operators.filter(pc.equal(trace.operators["depth"], 0))
    codes, words = codes_and_words(drawn, "family")
    spans = pd.DataFrame(
        {
            "start_ns": values(drawn, "start_ns"),
            "end_ns": values(drawn, "end_ns"),
            "key": [words[code] for code in codes],
        }
    )
    shares = {str(key): _shares(rows, edges) for key, rows in spans.groupby("key", sort=False)}
    if not shares:
        return ""
    keys = list(shares)
    matrix = np.stack([shares[key] for key in keys])
    dominant, busy = matrix.argmax(axis=0), np.minimum(matrix.sum(axis=0), 1.0)
    rectangles = [
        f'<rect x="{column}" y="{_HEIGHT * (1 - height):.1f}" width="1.02" height="{_HEIGHT * height:.1f}" '
        f'fill="{theme.colour(keys[dominant[column]])}"/>'
        for column, height in enumerate(np.maximum(busy, 0.06 * (busy > 0)))
        if height > 0
    ]
    background = theme.idle["device_latency"]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_COLUMNS} {_HEIGHT}" preserveAspectRatio="none">'
        f'<rect width="{_COLUMNS}" height="{_HEIGHT}" fill="{background}"/>{"".join(rectangles)}</svg>'
    )


def _shares(spans: pd.DataFrame, edges: Times) -> Times:
    """How much of each column the spans fill, 0 to 1 (overlapping streams may pass 1)."""
    start, end = np.sort(spans["start_ns"].to_numpy()), np.sort(spans["end_ns"].to_numpy())
    return np.diff(_sum_before(end, edges) - _sum_before(start, edges)) / np.diff(edges)


def _sum_before(ordered: npt.NDArray[np.int64], at: Times) -> Times:
    """Σ min(value, t) at each time t: between ends and starts its difference is the length covered before t."""
    sums = np.concatenate([[0], np.cumsum(ordered)])
    below = np.searchsorted(ordered, at)
    clipped: Times = sums[below] + (len(ordered) - below) * at
    return clipped
