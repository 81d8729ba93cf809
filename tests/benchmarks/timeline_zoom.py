"""How long from a turn of the wheel to the redrawn timelines, in a real browser with two runs linked?

    python -m tests.benchmarks.timeline_zoom [KERNELS] [ZOOMS]

Prints the median and 95th percentile of zoom to redraw (new detail of both panes painted), the bytes of a zoom as
they travel, the time from the page's first script run to the first paint, and the JavaScript heap. The limits of the
issue "Timeline" stand behind the figures.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import CDPSession, Page, sync_playwright

from tests.benchmarks.big_traces import write_pair
from tests.browser.conftest import CHROMIUM, FLAGS, served

ADDRESS = "timeline?a=sample:1-eager&b=sample:2-graph"
READY = ".tl-root[data-ready=true]"

# Turns the wheel over the lower pane and resolves when both panes have painted detail for the new view.
_ZOOM = """
([factor, at]) => new Promise((resolve) => {
  const explorer = document.querySelector(".tl-root").timeline;
  const stage = explorer.panes[1].stage;
  const bounds = stage.getBoundingClientRect();
  const before = explorer.panes.map((pane) => pane.counts.detail);
  const started = performance.now();
  stage.dispatchEvent(new WheelEvent("wheel", { ctrlKey: true, deltaY: Math.log(factor) / 0.0022, cancelable: true,
    bubbles: true, clientX: bounds.left + 118 + at * (bounds.width - 118), clientY: bounds.top + 60 }));
  const look = () => {
    const done = explorer.panes.every((pane, index) => pane.counts.detail > before[index] && pane.isCovered());
    if (done) resolve(performance.now() - started);
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})
"""
_WHOLE = "document.querySelector('.tl-root').timeline.fitTrace()"
_FIRST_PAINT = "performance.getEntriesByName('timeline-first-paint')[0].startTime"
_SCRIPT_RUN = "performance.getEntriesByName('timeline-mount')[0].startTime"


def main(kernel_count: int, zoom_count: int) -> None:
    """Measures and prints."""
    with tempfile.TemporaryDirectory() as folder:
        write_pair(Path(folder), kernel_count)
        with served(Path(folder)) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            _open(browser.new_page(viewport={"width": 1440, "height": 900}), address)  # the server warms up
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            session = page.context.new_cdp_session(page)
            first_paint_ms = _open(page, address)
            received = _count_bytes(session)
            zooms = _zoom_in_and_out(page, zoom_count)
            heap_mb = _heap_mb(session)
            browser.close()
    ordered = sorted(zooms)
    print(f"two runs of {kernel_count:,} kernels each, {len(zooms)} zooms")
    limit = 100 if kernel_count <= 10_000 else 150
    print(f"zoom to redraw, median     {statistics.median(zooms):7.0f} ms   (limit {limit})")
    print(f"zoom to redraw, 95th       {ordered[int(len(ordered) * 0.95)]:7.0f} ms   (limit 300)")
    both = 2 * max(received) / 1e3
    print(f"most bytes, both panes     {both:7.1f} kB   (limit 100), median {statistics.median(received) / 500:.1f}")
    print(f"script run to first paint  {first_paint_ms:7.0f} ms   (limit 1000)")
    print(f"JavaScript heap            {heap_mb:7.1f} MB   (limit 100)")


def _open(page: Page, address: str) -> float:
    """Opens the page through the app's root and returns milliseconds from its first script's result to the bars."""
    page.goto(f"{address}/{ADDRESS}")
    page.wait_for_selector(READY, timeout=120_000)
    page.wait_for_timeout(500)
    return float(page.evaluate(f"{_FIRST_PAINT} - {_SCRIPT_RUN}"))


def _count_bytes(session: CDPSession) -> list[float]:
    """Bytes of every answer for a view, as they come over the wire."""
    received: list[float] = []
    views: set[str] = set()
    session.send("Network.enable")

    def answered(event: dict[str, Any]) -> None:
        if "/view?" in event["response"]["url"]:
            views.add(event["requestId"])

    def finished(event: dict[str, Any]) -> None:
        if event["requestId"] in views:
            received.append(event["encodedDataLength"])

    session.on("Network.responseReceived", answered)
    session.on("Network.loadingFinished", finished)
    return received


def _zoom_in_and_out(page: Page, zoom_count: int) -> list[float]:
    """In by halves, a little to the side each time, out again when the view is small."""
    times: list[float] = []
    page.evaluate(_WHOLE)
    page.wait_for_timeout(800)
    for number in range(zoom_count):
        if number % 12 == 11:
            page.evaluate(_WHOLE)
            page.wait_for_timeout(600)
        times.append(float(page.evaluate(_ZOOM, [0.45, 0.3 + 0.05 * (number % 9)])))
        page.wait_for_timeout(150)
    return times


def _heap_mb(session: CDPSession) -> float:
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["JSHeapUsedSize"]) / 1e6


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000, int(sys.argv[2]) if len(sys.argv) > 2 else 60)
