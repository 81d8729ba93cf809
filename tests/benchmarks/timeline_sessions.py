"""Do thirty people zooming at once get their detail in time, and do the page's clicks stay quick meanwhile?

    python -m tests.benchmarks.timeline_sessions [SESSIONS] [KERNELS] [SECONDS]

Every session zooms about twice a second, and every zoom asks for both runs' detail at once, as two linked panes do. At
the same time one browser clicks "Swap" on the Timeline page, which runs the page's script, and after that on the
Compare and the Run page, which draw more. Prints the route's and the clicks' times, with the limits of the issue
"Timeline" behind them: from the click to the script's end as the browser sees it.
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
from tests.browser.conftest import CHROMIUM, FLAGS, served

WIDTH_PX = 2400
PAUSE_S = (0.3, 0.7)
CLICKS = 15
PAGES = (ADDRESS, "compare", "run")
LONGEST_MS = 10_000

_CLICK = """
(button) => new Promise((resolve) => {
  const app = document.querySelector("[data-testid=stApp]");
  const address = () => new URLSearchParams(location.search).get("a");
  const before = address();
  const started = performance.now();
  const look = () => {
    if (address() === before || app.getAttribute("data-test-script-state") !== "notRunning") return;
    watcher.disconnect();
    resolve(performance.now() - started);
  };
  const watcher = new MutationObserver(look);
  watcher.observe(document.body, { attributes: true, childList: true, characterData: true, subtree: true });
  button.click();
  setTimeout(() => resolve(LONGEST_MS), LONGEST_MS);
})
"""
"""Until the other run stands in the address and the script has ended. A busy browser may take the script's start and
end in one go, so that "running" is never seen."""


def main(session_count: int, kernel_count: int, seconds: float) -> None:
    """Measures and prints."""
    with tempfile.TemporaryDirectory() as folder:
        write_pair(Path(folder), kernel_count)
        with served(Path(folder)) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            bases = _timelines(browser.new_page(), address)
            alone = {name: _clicks(browser.new_page(), f"{address}/{name}") for name in PAGES}
            stop = threading.Event()
            with ThreadPoolExecutor(session_count) as pool:
                zooming = [pool.submit(_zoom, address, bases, seed, stop) for seed in range(session_count)]
                try:
                    time.sleep(1)
                    started = time.monotonic()
                    among = {name: _clicks(browser.new_page(), f"{address}/{name}") for name in PAGES}
                    time.sleep(max(seconds - (time.monotonic() - started), 0))
                finally:
                    stop.set()
                answers = sorted(each for session in zooming for each in session.result())
            browser.close()
    print(f"{session_count} sessions zooming over two runs of {kernel_count:,} kernels, {len(answers):,} answers")
    print(f"route, median     {statistics.median(answers):7.1f} ms")
    print(f"route, 95th       {answers[int(len(answers) * 0.95)]:7.1f} ms   (limit 300)")
    for name in PAGES:
        page_name, limit = name.partition("?")[0], "   (limit 100)" if name == ADDRESS else ""
        middle, quiet = statistics.median(among[name]), statistics.median(alone[name])
        print(f"click on {page_name:<10}{middle:7.1f} ms{limit}; nobody zooming {quiet:.1f} ms")


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


def _clicks(page: Page, address: str) -> list[float]:
    """Opens the page and clicks on "Swap", each of which runs the page's script; closes it again."""
    page.goto(address)
    page.get_by_role("button", name="Swap").wait_for(timeout=60_000)
    page.wait_for_timeout(2000)
    times = click_times(page, CLICKS)
    page.close()
    return times


def click_times(page: Page, count: int) -> list[float]:
    """Clicks on "Swap" that many times; milliseconds from each click to the end of the page's script."""
    button = page.get_by_role("button", name="Swap")
    times = []
    for _ in range(count):
        times.append(float(button.evaluate(_CLICK.replace("LONGEST_MS", str(LONGEST_MS)))))
        page.wait_for_timeout(100)
    return times


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 30,
        int(float(sys.argv[2])) if len(sys.argv) > 2 else 1_000_000,
        float(sys.argv[3]) if len(sys.argv) > 3 else 20,
    )
