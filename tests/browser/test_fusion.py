"""Can a person read the map of kernels, and take the generated code away, in a real browser?"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import at_rest, served, settled, watched

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SAMPLES = Path(__file__).parents[2] / "traces" / "samples"
_NAMES = ".js-plotly-plot .scatterlayer .textpoint text"
_BOXES_OF_NAMES = """(names) => names.map((name) => {
  const box = name.getBoundingClientRect();
  return [name.textContent, box.left, box.top, box.right, box.bottom];
})"""


_WIDER_THAN_THEIR_COLUMN = """(table) => [...table.querySelectorAll('.row > span:not(:first-child)')].filter((cell) => {
  const text = document.createRange();
  text.selectNodeContents(cell);
  return text.getBoundingClientRect().width > cell.getBoundingClientRect().width + 1;
}).map((cell) => cell.textContent)"""


@pytest.fixture(scope="module")
def fusion_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on the bundled pair and gallery."""
    folder = tmp_path_factory.mktemp("fusion")
    (folder / "runs").mkdir()
    for name in ("h200-eager", "h200-compile", "h200-gallery", "h200-piecewise", "h200-best"):
        shutil.copytree(SAMPLES / name, folder / "samples" / name)
    with served(folder) as address:
        yield address


@pytest.fixture
def narrow_page(browser: Callable[..., BrowserContext]) -> Iterator[Page]:
    context = browser(
        permissions=["clipboard-read", "clipboard-write"], viewport={"width": 1280, "height": 800}, color_scheme="light"
    )
    with watched(context.new_page()) as opened:
        yield opened
    context.close()


def _overlaps(page: Page, chart_key: str) -> list[tuple[str, str]]:
    """Pairs of names in one figure that stand on each other."""
    drawn = page.locator(f".st-key-{chart_key} {_NAMES}")
    names = at_rest(page, lambda: drawn.evaluate_all(_BOXES_OF_NAMES))
    assert names
    return [
        (one, other)
        for (one, left, top, right, bottom), (other, left2, top2, right2, bottom2) in combinations(names, 2)
        if left < right2 and left2 < right and top + 1 < bottom2 and top2 + 1 < bottom
    ]


def test_names_of_the_layers_map_never_stand_on_each_other(fusion_server: str, narrow_page: Page) -> None:
    page = narrow_page
    page.goto(f"{fusion_server}/fusion")
    settled(page)
    expect(page.get_by_role("heading", name=re.compile("1,728 kernels became 436"))).to_be_visible(timeout=60_000)
    expect(page.locator(f".st-key-fusion_map {_NAMES}", has_text="elementwise ×8")).to_be_visible()
    assert _overlaps(page, "fusion_map") == []


@pytest.mark.parametrize(("a", "b"), [("h200-eager", "h200-compile"), ("h200-piecewise", "h200-best")])
def test_no_cell_of_the_ledger_is_wider_than_its_column(fusion_server: str, narrow_page: Page, a: str, b: str) -> None:
    page = narrow_page
    page.goto(f"{fusion_server}/fusion?a=sample:{a}&b=sample:{b}")
    settled(page)
    ledger = page.locator(".rows", has_text="of limit")
    expect(ledger).to_be_visible(timeout=60_000)
    assert at_rest(page, lambda: ledger.evaluate(_WIDER_THAN_THEIR_COLUMN)) == []


def test_a_kernels_code_is_copied(fusion_server: str, narrow_page: Page) -> None:
    page = narrow_page
    page.goto(f"{fusion_server}/fusion")
    settled(page)
    page.get_by_role("button", name="Copy code").click(timeout=60_000)
    # Not by the button's "Copied": it stands for a moment only, which a busy machine may miss.
    page.wait_for_function(
        "async () => (await navigator.clipboard.readText()).startsWith('# Topologically Sorted Source Nodes')"
    )
    assert "@triton.jit" in page.evaluate("navigator.clipboard.readText()")


def test_an_expression_leads_from_its_line_to_its_kernel(fusion_server: str, narrow_page: Page) -> None:
    page = narrow_page
    page.goto(f"{fusion_server}/fusion")
    settled(page)
    page.get_by_text("an expression", exact=True).click()
    settled(page)
    expect(page.get_by_role("heading", name=re.compile("3 operators became 1 kernel"))).to_be_visible(timeout=60_000)
    names = page.locator(f".st-key-fusion_ribbons {_NAMES}")
    expect(names.filter(has_text="sigmoid").first).to_be_visible()
    assert _overlaps(page, "fusion_ribbons") == []
