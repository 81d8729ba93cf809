"""Does a click on the matrix open a cell, and can a person probe their own machine from the page?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import at_rest, served, settled
from tests.drawn_probe import write_probe

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def probed_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on a folder that holds nothing but a probe."""
    folder = tmp_path_factory.mktemp("probed")
    (folder / "runs").mkdir()
    write_probe(Path(folder) / "samples" / "attention")
    with served(folder) as address:
        yield address


def test_clicking_a_refused_cell_says_what_would_make_it_possible(probed_server: str, page: Page) -> None:
    page.goto(f"{probed_server}/attention")
    settled(page)
    expect(page.get_by_role("heading", name=re.compile("cuDNN is chosen in 3 of 4 settings"))).to_be_visible()
    expect(page.get_by_role("heading", name=re.compile("^cuDNN 82.0 µs"))).to_be_visible()
    refused = page.locator(".js-plotly-plot .bars .point text", has_text="mask given")
    box = at_rest(page, refused.bounding_box)
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.get_by_role("heading", name=re.compile("^flash refuses"))).to_be_visible()
    expect(page.get_by_text("No mask.")).to_be_visible()


def test_machine_is_probed_from_the_page_and_its_probe_opens(probed_server: str, page: Page) -> None:
    page.goto(f"{probed_server}/attention")
    settled(page)
    page.get_by_role("tab", name="Probe").click()
    page.get_by_role("button", name="Clear all").click()
    page.get_by_text("A setting of your own").click()
    page.get_by_text("try it as well").click()
    settled(page)
    page.get_by_role("button", name="Start the probe").click()
    expect(page).to_have_url(re.compile(r"probing=\d{8}-\d{6}-probe"))
    expect(page.get_by_role("heading", name=re.compile("is chosen in 1 of 1 settings"))).to_be_visible(timeout=240_000)
    expect(page.get_by_text("CPU and CUDA differ")).to_be_visible()
