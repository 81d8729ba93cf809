"""Do everybody else's clicks stay quick while one person's large trace is uploaded and read?

    python -m tests.benchmarks.reading_sessions [MEGABYTES] [ROUNDS]

One browser page hands a generated trace in on the Library page; another visitor clicks "Swap" on the Timeline page,
each click running the page's script, until the first one sees the report. Prints the clicks' times over the wire by
what the server was doing for the other person; the exit code is 1 when their median while it reads is over the limit.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from explorer.ingest.places import machine_code_base
from explorer.ingest.warm import is_compiled
from tests.benchmarks.big_traces import write_pair
from tests.benchmarks.generate import write_trace
from tests.benchmarks.timeline_zoom import ADDRESS
from tests.benchmarks.visitor import Visitor, visiting
from tests.browser.conftest import CHROMIUM, FLAGS, served

LIMIT_MS = 100.0
BYTES_PER_EVENT = 292
KERNELS = 20_000
PATIENCE_S = 300
CLICKS = 15
PHASES = ("uploading", "reading", "opening the report")


def main(megabytes: int, round_count: int) -> int:
    """Measures and prints; the exit code."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        os.environ["EXPLORER_MACHINE_CODE"] = str(machine_code_base())
        os.environ["EXPLORER_CACHE"] = str(folder / "cache")
        if not is_compiled():
            subprocess.run([sys.executable, "-m", "explorer.ingest.compile_fast"], check=True)
        trace = folder / "large.json"
        write_trace(trace, megabytes * 10**6 // BYTES_PER_EVENT)
        write_pair(folder / "traces", KERNELS)
        with served(folder / "traces") as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            reading = browser.new_page()
            reading.goto(f"{address}/library")
            clicks, seconds = defaultdict[str, list[float]](list), defaultdict[str, float](float)
            with visiting(address, ADDRESS) as visitor:
                alone = visitor.click_times(CLICKS)
                for _ in range(round_count):
                    _measure_round(visitor, reading, address, trace, clicks, seconds)
                    with trace.open("ab") as file:  # other content, which is read anew
                        file.write(b"\n")
            browser.close()
    print(f"{round_count} traces of {megabytes:,} MB, one after another")
    print(f"{'nobody reading':20} median {statistics.median(alone):6.1f} ms   {len(alone)} clicks")
    for phase in PHASES:
        _print_phase(phase, clicks[phase], seconds[phase] / round_count)
    return 0 if clicks["reading"] and statistics.median(clicks["reading"]) <= LIMIT_MS else 1


def _measure_round(
    visitor: Visitor,
    reading: Page,
    address: str,
    trace: Path,
    clicks: dict[str, list[float]],
    seconds: dict[str, float],
) -> None:
    """Hands the trace in, then clicks elsewhere until its report is there; adds to times and seconds of each phase."""
    reading.goto(f"{address}/library")
    reading.get_by_test_id("stFileUploader").wait_for(timeout=60_000)
    reading.wait_for_timeout(1500)
    reading.locator("input[type=file]").set_input_files(str(trace))
    until = time.monotonic() + PATIENCE_S
    while (phase := _phase(reading)) != "done":
        if time.monotonic() > until:
            raise RuntimeError(f"After {PATIENCE_S} s the page was still {phase}.")
        started = time.monotonic()
        clicks[phase] += visitor.click_times(1)
        seconds[phase] += time.monotonic() - started


def _phase(reading: Page) -> str:
    if "/contents" in reading.url:
        return "done" if reading.get_by_text("A second opinion").count() else "opening the report"
    return "reading" if reading.get_by_test_id("stProgress").count() else "uploading"


def _print_phase(phase: str, times: list[float], seconds: float) -> None:
    if not times:
        print(f"{phase:20} no click fell into it")
        return
    ordered = sorted(times)
    limit = f"   (limit {LIMIT_MS:.0f} median)" if phase == "reading" else ""
    print(
        f"{phase:20} median {statistics.median(ordered):6.1f} ms   95th {ordered[int(len(ordered) * 0.95)]:6.1f} ms   "
        f"{len(ordered)} clicks in {seconds:.1f} s{limit}"
    )


if __name__ == "__main__":
    sys.exit(
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 500, int(sys.argv[2]) if len(sys.argv) > 2 else 3),
    )
