"""Can a person open the app, run two settings, watch them, and see them side by side?"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.conftest import CHECKOUT, at_rest, served, settled, watched

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label).click()
    page.get_by_role("option", name=option, exact=True).click()
    settled(page)


def test_home_shows_the_bundled_pair(server: str, page: Page) -> None:
    page.goto(server)
    settled(page)
    expect(page.get_by_role("heading", name="B's step is 3.33 times shorter.")).to_be_visible()
    expect(page.locator(".card")).to_have_count(6)
    expect(page.locator(".js-plotly-plot")).to_have_count(3)
    expect(page).to_have_url(re.compile(r"a=sample%3Aeager&b=sample%3Agraph"))


def test_a_run_is_started_watched_reloaded_and_compared(server: str, page: Page) -> None:
    page.goto(server)
    settled(page)
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Run").click()
    expect(page.get_by_role("button", name="Run both")).to_be_enabled()
    choose(page, "Projections of B", "joined")
    expect(page.get_by_text("1 setting differs")).to_be_visible()
    page.get_by_role("button", name="Run both").click()
    expect(page).to_have_url(re.compile(r"runs=\d{8}-\d{6}-a"))
    expect(page.locator(".stage.finished").first).to_be_visible()
    page.reload()
    expect(page.locator(".run-head")).to_have_count(2)
    page.get_by_role("button", name="Open in Compare").click(timeout=120_000)
    finding = re.compile("B's step is|Both steps take|No change measured")
    expect(page.get_by_role("heading", name=finding)).to_be_visible()
    expect(page.locator(".card").first).to_contain_text("ms")
    expect(page.get_by_text("Both ran on the CPU")).to_be_visible()
    expect(page).to_have_url(re.compile(r"a=run%3A.*b=run%3A"))


def test_the_heads_of_a_and_b_stand_level_once_something_differs(server: str, page: Page) -> None:
    page.goto(f"{server}/run")
    settled(page)
    main = page.get_by_test_id("stMain")
    heads = [main.get_by_text(words) for words in ("first run", "a copy of A until changed")]
    assert len({_middle(head) for head in heads}) == 1
    choose(page, "Projections of B", "joined")
    expect(page.get_by_text("1 setting differs")).to_be_visible()
    heads[1] = main.get_by_text("1 setting differs")
    assert len({_middle(head) for head in heads}) == 1


def _middle(words: Locator) -> int:
    """Where a line of text stands, in whole pixels from the top."""
    box = words.bounding_box()
    assert box is not None
    return round(box["y"] + box["height"] / 2)


def test_a_running_job_is_cancelled_at_once(server: str, page: Page) -> None:
    page.goto(f"{server}/run")
    expect(page.get_by_role("button", name="Run both")).to_be_enabled()
    page.get_by_role("button", name="Run both").click()
    cancel = page.get_by_role("button", name="Cancel")
    expect(cancel).to_have_count(2)
    cancel.last.click()
    expect(page.get_by_text("B was not measured")).to_be_visible()
    cancel.first.click()
    expect(page.get_by_text("A was not measured")).to_be_visible()


@pytest.mark.parametrize("screen", ["", "run", "gaps", "library", "contents"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_and_is_themed(
    server: str, browser: Callable[..., BrowserContext], screen: str, scheme: str
) -> None:
    context = browser(color_scheme=scheme)
    with watched(context.new_page()) as page:
        page.goto(f"{server}/{screen}")
        expect(page.locator("h1.finding")).to_be_visible()
        settled(page)
        background = page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor")
        assert background == ("rgb(18, 22, 30)" if scheme == "dark" else "rgb(255, 255, 255)")
        ink = page.evaluate("getComputedStyle(document.querySelector('h1.finding')).color")
        assert ink == ("rgb(232, 236, 242)" if scheme == "dark" else "rgb(27, 34, 48)")
        overflow = page.evaluate(
            "(() => { const main = document.querySelector('[data-testid=stMain]');"
            " return main.scrollWidth - main.clientWidth; })()"
        )
        assert overflow <= 0
    context.close()


def test_the_first_page_answers_to_its_name_too(server: str, page: Page) -> None:
    page.goto(f"{server}/compare?a=sample:graph")
    expect(page.locator("h1.finding")).to_be_visible()
    settled(page)
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("link", name="Compare", exact=True)).to_have_count(1)


def test_labels_of_the_bars_do_not_overlap(server: str, page: Page) -> None:
    page.goto(server)
    settled(page)
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    labels = page.locator(".js-plotly-plot").first.locator("text.bartext, .annotation-text")
    boxes = at_rest(
        page,
        lambda: labels.evaluate_all(
            "nodes => nodes.map(node => node.getBoundingClientRect()).filter(box => box.width > 0)"
            ".map(box => [box.left, box.right, box.top, box.bottom])"
        ),
    )
    assert len(boxes) > 6
    for index, one in enumerate(boxes):
        for other in boxes[index + 1 :]:
            apart = one[1] <= other[0] + 1 or other[1] <= one[0] + 1 or one[3] <= other[2] + 1 or other[3] <= one[2] + 1
            assert apart, (one, other)


def test_a_kernel_family_opens_to_its_names(server: str, page: Page) -> None:
    page.goto(server)
    settled(page)
    row = page.locator(".rows summary").filter(has_text="attention")
    row.click()
    expect(page.locator(".rows details[open] .nested .row").first).to_contain_text("pytorch_flash")


def test_the_bundled_recordings_make_the_readmes_picture(
    browser: Callable[..., BrowserContext], tmp_path: Path
) -> None:
    """With EXPLORER_SCREENSHOTS set the picture goes where the README shows it."""
    folder = CHECKOUT / "assets" if "EXPLORER_SCREENSHOTS" in os.environ else tmp_path
    context = browser(viewport={"width": 1440, "height": 1150}, device_scale_factor=1.5)
    with served(CHECKOUT / "traces") as address, watched(context.new_page()) as page:
        page.goto(address)
        expect(page.locator(".st-key-step_bar .js-plotly-plot")).to_have_count(1)
        expect(page.locator(".tl-root[data-ready=true]")).to_have_count(1)
        settled(page).wait_for_timeout(1500)
        target = folder / "compare.png"
        page.screenshot(path=target)
        assert target.stat().st_size > 50_000
    context.close()
