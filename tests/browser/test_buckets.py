"""Does a person get from the Buckets page's finding to a list in the clipboard, and to a sweep of their own?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from explorer.capture_sizes import vllm_sizes
from tests.browser.conftest import served, settled, watched
from tests.ui.drawn_sweep import write_sweep

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def swept_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on a folder that holds nothing but a sweep."""
    folder = tmp_path_factory.mktemp("swept")
    (folder / "runs").mkdir()
    write_sweep(Path(folder) / "samples" / "sweep", vllm_sizes(256))
    with served(folder) as address:
        yield address


@pytest.fixture
def page_with_clipboard(browser: Callable[..., BrowserContext]) -> Iterator[Page]:
    context = browser(permissions=["clipboard-read", "clipboard-write"])
    with watched(context.new_page()) as opened:
        yield opened
    context.close()


def test_a_list_is_copied_and_a_sweep_of_this_machine_replaces_the_bundled_one(
    swept_server: str, page_with_clipboard: Page
) -> None:
    page = page_with_clipboard
    page.goto(f"{swept_server}/buckets")
    settled(page)
    expect(
        page.get_by_role("heading", name=re.compile(r"\d+ well-chosen sizes lose as little time as vLLM's 35"))
    ).to_be_visible()
    page.get_by_role("button", name="Copy for SGLang").click()
    page.wait_for_function("async () => /^--cuda-graph-bs( \\d+)+$/.test(await navigator.clipboard.readText())")
    page.get_by_text("Measure on my device").click()
    expect(page.get_by_text("This machine cannot capture CUDA graphs")).to_be_visible()
    page.get_by_role("button", name="Measure 5 sizes").click()
    expect(page).to_have_url(re.compile(r"sweep=\d{8}-\d{6}-sweep"))
    expect(page.get_by_text("Step times are eager steps of tiny")).to_be_visible(timeout=180_000)
