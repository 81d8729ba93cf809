"""How long does a question about what is drawn take at two million kernels, and what does a timeline weigh?

    python -m tests.benchmarks.timeline_query [KERNELS]

Builds the timeline of a trace in memory (one stream, gaps in several parts, a launch each), then asks for windows of
all sizes at random places, as a pane 1,200 pixels wide does: twice its view. Prints the median and the longest.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

from explorer.analysis.timeline_build import Timeline, build_timeline
from explorer.analysis.timeline_detail import Window, details
from explorer.ui.timeline.wire import pack_details
from tests.benchmarks.big_tables import big_trace

WIDTH_PX = 2400
REPEATS = 15


def main(kernel_count: int) -> None:
    """Measures and prints."""
    trace = big_trace(kernel_count)
    started = time.perf_counter()
    timeline = build_timeline(trace)
    built_s = time.perf_counter() - started
    work = timeline.rows_of("stream")
    of_work = sum(row.size_bytes for row in work) / kernel_count
    event_count = sum(row.count for row in timeline.rows)
    of_all = timeline.size_bytes / event_count
    print(f"{kernel_count:,} kernels, {event_count:,} events in {len(timeline.rows)} rows")
    print(f"built in {built_s:.2f} s")
    print(f"{of_work:5.1f} MB a million kernels, {of_all:.1f} MB a million events of all rows (limit 30)")
    print("share of the trace in view     median   longest   (limit 20 ms)")
    for share in (1, 0.5, 0.1, 0.01, 0.001, 0.0001, 0.00001):
        times = [_ask(timeline, share, seed) for seed in range(REPEATS)]
        print(f"{share:>24.3%}     {statistics.median(times):7.2f}   {max(times):7.2f}")


def _ask(timeline: Timeline, share: float, seed: int) -> float:
    extent = timeline.end_ns - timeline.start_ns
    length = max(int(extent * share), 1000)
    begin = timeline.start_ns + int(np.random.default_rng(seed).random() * (extent - length))
    window = Window(begin, begin + length, WIDTH_PX)
    started = time.perf_counter()
    pack_details(details(list(timeline.rows), window), window, None)
    return (time.perf_counter() - started) * 1e3


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 2_000_000)
