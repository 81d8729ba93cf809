"""Does the timeline answer to mouse and keys in a real browser, in both panes, and say what it shows?"""

from __future__ import annotations

import gzip
import re
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Download, Locator, Page, Route, expect

from explorer.settings import RunSettings
from explorer.units import text
from tests.browser.conftest import served, settled, watched
from tests.shared import SHARED, needs_shared
from tests.ui.drawn import KERNELS, STEP_US, write_recording

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROOT = ".tl-root"
GUTTER, RULER = 118, 26
US = 1000
PAIR = "timeline?a=sample:eager&b=sample:graph"


@pytest.fixture(scope="module")
def context(browser: Callable[..., BrowserContext]) -> BrowserContext:
    """One profile for the whole file: plotly.js comes out of its cache."""
    return browser()


@pytest.fixture
def timeline(server: str, context: BrowserContext) -> Iterator[Page]:
    """The page with A and B drawn; the test fails when the console shows an error."""
    with watched(context.new_page()) as page:
        yield opened(page, f"{server}/{PAIR}")
    page.close()


def opened(page: Page, address: str) -> Page:
    page.goto(address)
    page.wait_for_selector(f"{ROOT}[data-ready=true]")
    settled(page)
    quiet(page)
    return page


def explorer(page: Page, expression: str) -> Any:
    """A JavaScript expression about `explorer`, the object that the element exposes."""
    return page.evaluate(
        f"(() => {{ const explorer = document.querySelector('{ROOT}').timeline; return {expression}; }})()"
    )


def quiet(page: Page) -> None:
    """Waits until both panes have painted the detail of what they show."""
    page.wait_for_function(
        f"document.querySelector('{ROOT}').timeline.panes.every(pane => pane.counts.detail > 0 && pane.isCovered())"
    )
    page.wait_for_timeout(150)


def ranges(page: Page) -> list[dict[str, float]]:
    found: list[dict[str, float]] = explorer(page, "explorer.panes.map(pane => pane.range)")
    return found


def length(span: dict[str, float]) -> float:
    return span["end"] - span["start"]


def stage(page: Page, letter: str) -> Locator:
    return page.locator(f"[data-side={letter}] .tl-stage")


def at(page: Page, letter: str, time_us: float, kind: str = "stream") -> tuple[float, float]:
    """Page coordinates of a time of the step in a pane's lane of that kind."""
    index = "ab".index(letter)
    x = explorer(page, f"explorer.panes[{index}].x({time_us * US} + explorer.panes[{index}].origin)")
    lane = explorer(
        page, f"(({{top, height}}) => top + height / 2)(explorer.panes[{index}].lanes.find(l => l.kind === '{kind}'))"
    )
    box = stage(page, letter).bounding_box()
    assert box is not None
    return box["x"] + GUTTER + x, box["y"] + RULER + lane


def drag(page: Page, letter: str, start_us: float, end_us: float) -> None:
    first, *others = (at(page, letter, time) for time in (start_us, (start_us + end_us) / 2, end_us))
    page.mouse.move(*first)
    page.mouse.down()
    for point in others:
        page.mouse.move(*point)
    page.mouse.up()


def click(page: Page, letter: str, time_us: float, kind: str = "stream") -> None:
    page.mouse.click(*at(page, letter, time_us, kind))


FIRST_KERNEL_US = 10 + 19 + KERNELS[0][2] / 2
"""The middle of a step's first kernel, from the step's start."""


def test_both_runs_open_on_their_first_step_on_one_scale(timeline: Page) -> None:
    a, b = ranges(timeline)
    assert a == b
    assert a["start"] < 0 < 239 * US < a["end"] < STEP_US * US
    expect(timeline.locator("h1.finding")).to_contain_text("A's first profiled step takes 239 µs")
    expect(timeline.locator("[data-side=b] .tl-note")).to_contain_text("with 3 kernels")
    assert explorer(timeline, "explorer.panes.every(pane => pane.counts.draw > 0)")


def test_a_drag_zooms_and_the_linked_pane_follows(timeline: Page) -> None:
    runs_before = timeline.evaluate("performance.getEntriesByName('timeline-mount').length")
    drag(timeline, "a", 20, 80)
    quiet(timeline)
    a, b = ranges(timeline)
    assert a == b
    assert a["start"] == pytest.approx(20 * US, abs=2 * US)
    assert a["end"] == pytest.approx(80 * US, abs=2 * US)
    expect(timeline.locator("[data-side=b] .xtick text", has_text="40 µs")).not_to_have_count(0)
    assert timeline.evaluate("performance.getEntriesByName('timeline-mount').length") == runs_before


def test_an_unlinked_pane_stays(timeline: Page) -> None:
    timeline.get_by_role("button", name="Linked").click()
    drag(timeline, "b", 20, 80)
    quiet(timeline)
    a, b = ranges(timeline)
    assert length(b) < length(a) / 2


def test_dragging_pans_when_chosen(timeline: Page) -> None:
    before = ranges(timeline)[0]
    timeline.get_by_role("button", name="Pan", exact=True).click()
    drag(timeline, "a", 100, 60)
    quiet(timeline)
    a, b = ranges(timeline)
    assert a == b
    assert a["start"] == pytest.approx(before["start"] + 40 * US, abs=2 * US)
    assert length(a) == pytest.approx(length(before))


def test_the_wheel_zooms_with_control_and_else_leaves_the_page_alone(timeline: Page) -> None:
    before = ranges(timeline)[0]
    timeline.mouse.move(*at(timeline, "a", 100))
    timeline.mouse.wheel(0, -200)
    timeline.wait_for_timeout(200)
    assert ranges(timeline)[0] == before
    timeline.keyboard.down("Control")
    timeline.mouse.wheel(0, -200)
    timeline.keyboard.up("Control")
    shown = f"document.querySelector('{ROOT}').timeline.panes[0].range"
    timeline.wait_for_function(f"{shown}.end - {shown}.start < {length(before)}")


def test_keys_zoom_pan_and_fit(timeline: Page) -> None:
    before = ranges(timeline)[0]
    timeline.mouse.move(*at(timeline, "a", 100))
    timeline.keyboard.press("w")
    quiet(timeline)
    zoomed = ranges(timeline)[0]
    assert length(zoomed) == pytest.approx(0.6 * length(before))
    timeline.keyboard.press("d")
    quiet(timeline)
    assert ranges(timeline)[0]["start"] > zoomed["start"]
    timeline.keyboard.press("a")
    timeline.keyboard.press("s")
    quiet(timeline)
    assert length(ranges(timeline)[1]) == pytest.approx(length(before))
    timeline.keyboard.press("ArrowUp")
    timeline.keyboard.press("f")
    quiet(timeline)
    assert ranges(timeline)[0] == before
    timeline.keyboard.press("0")
    quiet(timeline)
    assert length(ranges(timeline)[0]) > 1000 * US


def test_hover_says_what_is_under_the_pointer_with_its_gap(timeline: Page) -> None:
    timeline.mouse.move(*at(timeline, "a", FIRST_KERNEL_US))
    hover = timeline.locator(".tl-hover")
    expect(hover).to_contain_text(KERNELS[0][1])
    expect(hover).to_contain_text("30.0 µs · matrix products")
    expect(hover).to_contain_text("starts at 29 µs · GPU 0 · stream 7")
    expect(hover).to_contain_text("gap before 29.0 µs")


def test_a_click_opens_the_story_with_the_launch_arrow(timeline: Page) -> None:
    click(timeline, "a", FIRST_KERNEL_US)
    panel = timeline.locator(".tl-panel")
    expect(panel).to_contain_text(KERNELS[0][1])
    for line in ("launched by", "cudaLaunchKernel", "aten::mm", "128,1,1", "All of this name", "step#0"):
        expect(panel).to_contain_text(line)
    assert explorer(timeline, "explorer.chosen.story.launched_by.row") is not None
    timeline.keyboard.press("ArrowRight")
    expect(panel).to_contain_text("vectorized_elementwise_kernel")
    panel.get_by_role("button", name="Go to its launch").click()
    expect(panel.locator(".tl-panel-kind")).to_contain_text("host call")
    timeline.keyboard.press("Escape")
    expect(panel).to_be_hidden()


def test_a_kernel_is_found_in_the_other_run(timeline: Page) -> None:
    click(timeline, "a", FIRST_KERNEL_US)
    timeline.get_by_role("button", name="Find in B").click()
    expect(timeline.locator(".tl-panel-kind")).to_contain_text("B · GPU work")
    expect(timeline.locator(".tl-panel-name")).to_have_text(KERNELS[0][1])


def test_a_search_counts_marks_and_walks(timeline: Page) -> None:
    timeline.mouse.move(*at(timeline, "a", 100))
    timeline.keyboard.press("/")
    timeline.keyboard.type("flash_.*Flash")
    expect(timeline.locator(".tl-found")).to_contain_text("A 2 · 20.0 µs GPU work")
    timeline.keyboard.press("Enter")
    expect(timeline.locator(".tl-panel-name")).to_contain_text("flash_fwd_splitkv_kernel")
    first = explorer(timeline, "explorer.chosen.story.place.start_ns")
    timeline.locator(ROOT).focus()
    timeline.keyboard.press("n")
    timeline.wait_for_function(f"document.querySelector('{ROOT}').timeline.chosen.story.place.start_ns > {first}")
    timeline.keyboard.press("N")
    timeline.wait_for_function(f"document.querySelector('{ROOT}').timeline.chosen.story.place.start_ns === {first}")


def test_a_late_answer_is_not_that_of_a_newer_search(timeline: Page) -> None:
    held: list[Route] = []
    older = re.compile(r"/search\?.*pattern=flash")
    timeline.route(older, lambda route: held.append(route))
    with timeline.expect_request(older):
        timeline.get_by_label("Search names").fill("flash")
    timeline.get_by_label("Search names").fill("nvjet")
    expect(timeline.locator(".tl-found")).to_contain_text("A 2 · 60.0 µs GPU work")
    with timeline.expect_response(older):
        for route in held:
            route.continue_()
    timeline.wait_for_timeout(300)
    expect(timeline.locator(".tl-found")).to_contain_text("A 2 · 60.0 µs GPU work")


def test_the_longest_kernel_and_gap_are_a_key_away(timeline: Page) -> None:
    timeline.mouse.move(*at(timeline, "a", 100))
    timeline.keyboard.press("k")
    expect(timeline.locator(".tl-panel-name")).to_have_text(KERNELS[0][1])
    timeline.keyboard.press("g")
    expect(timeline.locator(".tl-panel")).to_contain_text("whole gap")


def test_a_measured_interval_is_split_for_both_runs(timeline: Page) -> None:
    timeline.get_by_role("button", name="Measure").click()
    drag(timeline, "a", 29, 59)
    panel = timeline.locator(".tl-panel")
    expect(panel).to_contain_text("A · GPU 0")
    expect(panel).to_contain_text("B · GPU 0")
    assert length(explorer(timeline, "explorer.interval")) == pytest.approx(30 * US, abs=1 * US)
    assert length(ranges(timeline)[0]) > 200 * US, "measuring must not zoom"


def test_steps_are_walked_and_both_runs_start_at_theirs(timeline: Page) -> None:
    before = explorer(timeline, "explorer.panes.map(pane => pane.origin)")
    timeline.get_by_title("Next step (])").click()
    quiet(timeline)
    after = explorer(timeline, "explorer.panes.map(pane => pane.origin)")
    assert [later - sooner for later, sooner in zip(after, before, strict=True)] == [1000 * US, 1000 * US]
    expect(timeline.locator("[data-side=a] .tl-note")).to_contain_text("step#1")


def test_the_address_brings_step_view_and_choice_back(timeline: Page, context: BrowserContext) -> None:
    timeline.get_by_title("Next step (])").click()
    drag(timeline, "a", 10, 90)
    quiet(timeline)
    click(timeline, "a", FIRST_KERNEL_US)
    expect(timeline).to_have_url(re.compile(r"step=1.*view=.*pick=a"))
    kept = ranges(timeline)[0]
    with watched(context.new_page()) as other:
        opened(other, timeline.url)
        expect(other.locator(".tl-panel-name")).to_have_text(KERNELS[0][1])
        assert ranges(other)[0]["start"] == pytest.approx(kept["start"], abs=1)
        assert explorer(other, "explorer.step") == 1
    other.close()


def test_a_choice_from_the_address_that_narrows_the_panes_before_the_axis_is_there(
    server: str, context: BrowserContext
) -> None:
    held: list[Route] = []
    with watched(context.new_page()) as page:
        page.route("**/plotly.min.js", lambda route: held.append(route))
        with page.expect_request("**/plotly.min.js"):
            page.goto(f"{server}/{PAIR}&step=1&pick=a~2~3")
        expect(page.locator(".tl-panel-name")).to_be_visible()
        held[0].continue_()
        page.wait_for_selector(f"{ROOT}[data-ready=true]")
        quiet(page)
        drawn = "explorer.panes.map(pane => [pane.width, pane.plot.querySelector('.main-svg').clientWidth])"
        for width, axis in explorer(page, drawn):
            assert axis == pytest.approx(width + GUTTER, abs=1)
    page.close()


def test_rows_are_closed_hidden_and_set_side_by_side(timeline: Page) -> None:
    high = stage(timeline, "a").bounding_box()
    timeline.get_by_role("button", name="Rows").click()
    timeline.get_by_label(re.compile("thread 100 · calls")).first.uncheck()
    low = stage(timeline, "a").bounding_box()
    assert high is not None
    assert low is not None
    assert "calls" not in explorer(timeline, "explorer.panes[0].lanes.map(lane => lane.kind)")
    timeline.get_by_role("button", name="Side by side").click()
    a, b = stage(timeline, "a").bounding_box(), stage(timeline, "b").bounding_box()
    assert a is not None
    assert b is not None
    assert b["x"] > a["x"] + a["width"] - 1


def test_help_lists_every_key(timeline: Page) -> None:
    timeline.mouse.move(*at(timeline, "a", 100))
    timeline.keyboard.press("?")
    dialog = timeline.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    assert dialog.locator("kbd").count() >= 15
    timeline.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def saved(page: Page, item: str) -> Download:
    page.get_by_role("button", name="Save").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=item).first.click()
    return download.value


def test_the_view_is_saved_as_png_and_svg_and_the_trace_as_it_is(timeline: Page, recordings: Path) -> None:
    png = Path(saved(timeline, "Picture as PNG").path()).read_bytes()
    assert png.startswith(b"\x89PNG")
    svg = Path(saved(timeline, "Picture as SVG").path()).read_text(encoding="utf-8")
    assert svg.count("<rect") > 10
    assert "eager" in svg
    trace = Path(saved(timeline, "Trace file").path()).read_bytes()
    assert trace == (recordings / "samples" / "eager" / "trace.json.gz").read_bytes()


def test_both_runs_are_saved_as_one_folder_for_tensorboard(timeline: Page) -> None:
    with zipfile.ZipFile(saved(timeline, "TensorBoard folder").path()) as archive:
        runs = [name for name in archive.namelist() if name.endswith(".pt.trace.json.gz")]
    assert len(runs) == 2


def test_plotly_shows_no_bar_no_logo_and_no_cloud(timeline: Page) -> None:
    assert timeline.locator(f"{ROOT} .modebar").count() == 0
    assert timeline.locator(f"{ROOT} .js-plotly-plot").count() == 2


@pytest.mark.parametrize(("scheme", "background"), [("light", [243, 245, 248]), ("dark", [29, 36, 48])])
def test_the_canvas_follows_the_theme(
    server: str, browser: Callable[..., BrowserContext], scheme: str, background: list[int]
) -> None:
    context = browser(color_scheme=scheme)
    with watched(context.new_page()) as page:
        opened(page, f"{server}/{PAIR}")
        assert explorer(page, "explorer.palette.name") == scheme
        lane = "explorer.panes[0].lanes.find(lane => lane.kind === 'stream')"
        pixel = explorer(
            page, f"Array.from(explorer.panes[0].bars.getContext('2d').getImageData(2, {lane}.top + 3, 1, 1).data)"
        )
        assert pixel[:3] == background
    context.close()


def test_durations_read_as_in_the_rest_of_the_app(timeline: Page) -> None:
    durations = [
        0,
        1,
        9,
        54,
        300,
        999,
        999.6,
        1000,
        1234,
        9996,
        12_345,
        999_400,
        999_600,
        2_360_000,
        41_712_345,
        10**9,
        6.02e12,
    ]
    module = explorer(timeline, "explorer.data.main").replace("main.js", "format.js")
    found = timeline.evaluate(
        "async ([module, values]) => { const { duration } = await import(module); return values.map(duration); }",
        [module, durations],
    )
    assert found == [text(value, "ns") for value in durations]


def test_names_never_become_markup(context: BrowserContext, tmp_path: Path) -> None:
    name = "<img src=x onerror=document.title='broken'>kernel<b>"
    with hostile(tmp_path, name) as address:
        with watched(context.new_page()) as page:
            opened(page, f"{address}/timeline?a=sample:one&b=sample:one")
            click(page, "a", FIRST_KERNEL_US)
            expect(page.locator(".tl-panel-name")).to_have_text(name)
            assert page.locator(f"{ROOT} img").count() == 0
            assert page.title() != "broken"
        page.close()


def hostile(folder: Path, name: str) -> Any:
    """A server on one recording whose first kernel has that name."""
    (folder / "runs").mkdir()
    recording = write_recording(folder / "samples" / "one", RunSettings(model="qwen3-0.6b", device="cuda"))
    plain = gzip.decompress((recording / "trace.json.gz").read_bytes()).decode()
    (recording / "trace.json.gz").write_bytes(gzip.compress(plain.replace(KERNELS[0][1], name).encode()))
    return served(folder)


@needs_shared
def test_a_third_of_a_microsecond_is_seen_and_hovered_beside_a_millisecond(
    context: BrowserContext, tmp_path: Path
) -> None:
    (tmp_path / "runs").mkdir()
    recording = write_recording(tmp_path / "samples" / "one", RunSettings(model="qwen3-0.6b", device="cuda"))
    case = SHARED / "cases" / "33-timeline-bars-vanish" / "trace.json"
    (recording / "trace.json.gz").write_bytes(gzip.compress(case.read_bytes()))
    with served(tmp_path) as address:
        with watched(context.new_page()) as page:
            opened(page, f"{address}/timeline?a=sample:one&b=sample:one")
            drawn = "explorer.panes[0].detail.rows.get('work/0/7').rectangles.start[2] + explorer.panes[0].detail.start"
            start = explorer(page, f"{drawn} - explorer.panes[0].origin")
            x, y = at(page, "a", start / US + 0.15)
            page.mouse.move(x, y)
            expect(page.locator(".tl-hover")).to_contain_text("300 ns")
        page.close()


@pytest.fixture(scope="session")
def own_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server on one run of a person's own, which is not public."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "samples").mkdir()
    write_recording(folder / "runs" / "mine", RunSettings(model="qwen3-0.6b", device="cuda"))
    with served(folder) as address:
        yield address


def test_the_id_of_an_own_run_is_one_sessions_and_ends_with_it(own_run: str, context: BrowserContext) -> None:
    address = f"{own_run}/timeline?a=run:mine&b=run:mine"
    with watched(context.new_page()) as first, watched(context.new_page()) as second:
        bases = [explorer(opened(page, address), "explorer.panes[0].api.base") for page in (first, second)]
        assert bases[0] != bases[1]
        rows = [f"{own_run}{base}/rows" for base in bases]
        assert [first.request.get(each).status for each in rows] == [200, 200]
        first.close()
        until = time.monotonic() + 60
        while second.request.get(rows[0]).status != 404 and time.monotonic() < until:
            second.wait_for_timeout(100)
        assert [second.request.get(each).status for each in rows] == [404, 200]
    second.close()
