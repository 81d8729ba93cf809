"""Does a trace that is handed in lead to its report and its timeline, with progress and a way to stop it?"""

from __future__ import annotations

import os
import re
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from explorer.ui.archive import LIMIT_BYTES
from tests.benchmarks.generate import write_trace
from tests.browser.conftest import settled
from tests.shared import SHARED, needs_shared

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def hand_in(page: Page, server: str, *paths: Path) -> None:
    page.goto(f"{server}/library")
    expect(page.get_by_test_id("stFileUploader")).to_be_visible()
    settled(page)
    page.locator("input[type=file]").set_input_files([str(path) for path in paths])


def read_the_slow_way(path: Path) -> None:
    """Makes the first event an open-ended one, which only the tolerant reader takes: that needs seconds."""
    with path.open("r+b") as file:
        place = file.read(4096).index(b'"ph": "X"')
        file.seek(place)
        file.write(b'"ph": "B"')


@contextmanager
def reader_held() -> Iterator[None]:
    """Holds the process that reads an upload in the midst of its work, so that one can look at leisure."""
    until = time.monotonic() + 60
    while not (readers := [int(process.name) for process in Path("/proc").glob("[0-9]*") if is_reading(process)]):
        assert time.monotonic() < until, "nobody reads an upload"
        time.sleep(0.02)
    (reader,) = readers
    os.kill(reader, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(reader, signal.SIGCONT)


def is_reading(process: Path) -> bool:
    """Whether this process is the reader of an upload of this test process's servers, and has come some way."""
    with suppress(OSError):
        if f"explorer.ingest.worker\0{tempfile.gettempdir()}".encode() in (process / "cmdline").read_bytes():
            read_bytes = int((process / "io").read_text().split()[1])
            return read_bytes > 16 << 20
    return False


def test_a_trace_leads_to_its_report_and_its_timeline(server: str, page: Page, tmp_path: Path) -> None:
    write_trace(tmp_path / "mine.json", 20_000)
    hand_in(page, server, tmp_path / "mine.json")

    expect(page).to_have_url(re.compile(r"/contents\?.*a=upload%3A"))
    expect(page.get_by_role("heading", name="4,000 pieces of GPU work on 1 device")).to_be_visible()
    expect(page.get_by_text("How far it can be trusted")).to_be_visible()
    page.get_by_role("button", name="See it in time").click()
    expect(page).to_have_url(re.compile(r"/timeline\?.*a=upload%3A"))
    page.wait_for_function("document.querySelector('.tl-root')?.timeline?.panes.length === 2")


def test_a_large_trace_shows_its_progress_and_can_be_cancelled(server: str, page: Page, tmp_path: Path) -> None:
    write_trace(tmp_path / "large.json", 600_000)
    read_the_slow_way(tmp_path / "large.json")
    hand_in(page, server, tmp_path / "large.json")

    with reader_held():
        expect(page.get_by_text(re.compile(r"about [56]\d\d k events"))).to_be_visible()
        expect(page.get_by_text(re.compile(r"MiB of .* MiB read"))).to_be_visible()
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_test_id("stProgress")).to_have_count(0)

    expect(page).to_have_url(re.compile("/library"))
    expect(page.get_by_role("heading", name="runs to compare")).to_be_visible()
    expect(page.get_by_text("large.json")).to_have_count(0)


@needs_shared
def test_two_real_ranks_are_asked_about_and_become_one_trace(server: str, page: Page) -> None:
    hand_in(page, server, *(SHARED / "traces" / f"h200x2_tp_eager_rank{rank}.json.gz" for rank in (0, 1)))

    page.get_by_role("button", name="Open 2 ranks as one trace").click()

    expect(page.get_by_role("heading", name="1,536 pieces of GPU work on 2 devices")).to_be_visible()


def test_an_upload_beyond_the_limit_says_the_limit_and_the_way_round(server: str, page: Page, tmp_path: Path) -> None:
    with (tmp_path / "vast.json").open("wb") as file:
        file.truncate(LIMIT_BYTES + 1)  # takes no room on the disk
    hand_in(page, server, tmp_path / "vast.json")

    refused = page.get_by_text("vast.json")
    expect(refused).to_be_visible()
    refused.hover()
    expect(page.get_by_role("tooltip")).to_contain_text("500.0MB or smaller")
    expect(page.get_by_text("Up to 500 MB a file. Beyond that: pack it with gzip")).to_be_visible()
