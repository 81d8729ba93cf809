"""Do thirty people zooming at once get their detail in time, and do the page's clicks stay quick meanwhile?

    python -m tests.benchmarks.timeline_sessions [SESSIONS] [KERNELS] [SECONDS]

Every session zooms about twice a second, and every zoom asks for both runs' detail at once, as two linked panes do. At
the same time one more visitor clicks "Swap" on the Timeline page, which runs the page's script, and after that on the
Compare and the Run page, which draw more. Prints the route's and the clicks' times as they come over the wire, with the
limits of the issue "Timeline" behind them; the exit code is 1 when one is missed.
"""

from __future__ import annotations

import gzip
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.big_traces import write_pair
from tests.benchmarks.timeline_zoom import ADDRESS, READY
from tests.benchmarks.visitor import visiting
from tests.browser.conftest import CHROMIUM, FLAGS, served

WIDTH_PX = 2400
PAUSE_S = (0.3, 0.7)
CLICKS = 15
_PAIR = ADDRESS.partition("?")[2]
PAGES = {"timeline": ADDRESS, "compare": f"?{_PAIR}", "run": f"run?{_PAIR}"}
LIMITS_MS = {"route, 95th": 300.0, "click on timeline": 100.0}


def main(session_count: int, kernel_count: int, seconds: float) -> int:
    """Measures and prints; the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        write_pair(Path(folder), kernel_count)
        with served(Path(folder)) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            bases = _timelines(browser.new_page(), address)
            browser.close()
            alone = _clicks(address)
            stop = threading.Event()
            with ThreadPoolExecutor(session_count) as pool:
                zooming = [pool.submit(_zoom, address, bases, seed, stop) for seed in range(session_count)]
                try:
                    time.sleep(1)
                    started = time.monotonic()
                    among = _clicks(address)
                    time.sleep(max(seconds - (time.monotonic() - started), 0))
                finally:
                    stop.set()
                answers = sorted(each for session in zooming for each in session.result())
    print(f"{session_count} sessions zooming over two runs of {kernel_count:,} kernels, {len(answers):,} answers")
    found = {"route, median": statistics.median(answers), "route, 95th": answers[int(len(answers) * 0.95)]}
    found |= {f"click on {name}": among[name] for name in PAGES}
    for what, milliseconds in found.items():
        limit = f"   (limit {LIMITS_MS[what]:.0f})" if what in LIMITS_MS else ""
        print(f"{what:18}{milliseconds:7.1f} ms{limit}")
    print("nobody zooming:   " + ", ".join(f"{name} {alone[name]:.1f} ms" for name in PAGES))
    return 0 if all(found[what] <= limit for what, limit in LIMITS_MS.items()) else 1


def _clicks(address: str) -> dict[str, float]:
    """The median milliseconds of a click on each page."""
    medians = {}
    for name, page in PAGES.items():
        with visiting(address, page) as visitor:
            medians[name] = statistics.median(visitor.click_times(CLICKS))
    return medians


def _timelines(page: Page, address: str) -> list[str]:
    """Opens the page once, which warms the server, and returns the addresses of the two timelines."""
    page.goto(f"{address}/{ADDRESS}")
    page.wait_for_selector(READY, timeout=120_000)
    bases: list[str] = page.evaluate("document.querySelector('.tl-root').timeline.panes.map(pane => pane.api.base)")
    page.close()
    return bases


def _zoom(address: str, bases: list[str], seed: int, stop: threading.Event) -> list[float]:
    """One session's zooms until it is told to stop; milliseconds of every answer."""
    dice, times = random.Random(seed), []
    connection = HTTPConnection(urlsplit(address).netloc, timeout=30)
    whole = [json.loads(_read(connection, f"{base}/rows")) for base in bases]
    while not stop.wait(dice.uniform(*PAUSE_S)):
        share = 10 ** dice.uniform(-5, 0)
        for base, trace in zip(bases, whole, strict=True):
            length = int((trace["end_ns"] - trace["start_ns"]) * share)
            begin = trace["start_ns"] + int(dice.random() * (trace["end_ns"] - trace["start_ns"] - length))
            window = urlencode({"start": begin, "end": begin + length, "width": WIDTH_PX})
            started = time.perf_counter()
            _read(connection, f"{base}/view?{window}")
            times.append((time.perf_counter() - started) * 1e3)
    connection.close()
    return times


def _read(connection: HTTPConnection, path: str) -> bytes:
    connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path} answered {answer.status}.")
    return content if answer.getheader("Content-Encoding") != "gzip" else gzip.decompress(content)


if __name__ == "__main__":
    sys.exit(
        main(
            int(sys.argv[1]) if len(sys.argv) > 1 else 30,
            int(float(sys.argv[2])) if len(sys.argv) > 2 else 1_000_000,
            float(sys.argv[3]) if len(sys.argv) > 3 else 20,
        )
    )
