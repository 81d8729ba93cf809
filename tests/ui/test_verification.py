"""Does every page say whether its runs can be believed, and does a wrong run carry its mark?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explorer.facts import Facts
from explorer.ui.marking import WRONG, is_wrong, marked
from tests.ui.conftest import GRAPH
from tests.ui.drawn import write_recording
from tests.ui.test_compare_page import html_of

OpenPage = Callable[..., AppTest]
PAGES = ("compare", "timeline", "gaps", "fusion", "compilation")


@pytest.fixture
def wrong(pair: Path) -> Path:
    """The pair, and a run whose third layer is off."""
    folder = pair / "runs" / "wrong"
    write_recording(folder, GRAPH, passed=False)
    path = folder / "facts.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    facts["correctness"] |= {"layer_error_ratios": [0.004, 0.012, 0.25], "first_diverging_layer": 2}
    path.write_text(json.dumps(facts), encoding="utf-8")
    return pair


@pytest.mark.parametrize("page", PAGES)
def test_every_page_of_runs_has_the_card_in_its_order(page: str, pair: Path, open_page: OpenPage) -> None:
    html = html_of(open_page(page, a="sample:eager", b="sample:graph"))
    places = [html.index(head) for head in ("1 · ✓ correct", "2 · cold start", "3 · steady")]
    assert places == sorted(places)


@pytest.mark.parametrize("page", PAGES)
def test_a_wrong_run_is_marked_wherever_it_is_named(page: str, wrong: Path, open_page: OpenPage) -> None:
    app = open_page(page, a="sample:eager", b="run:wrong")
    html = html_of(app)
    assert f'<span class="bad">{WRONG}</span>' in html
    assert f"compile + CUDA graph · {WRONG}" in html
    assert "1 · ✗ wrong" in html
    (picker,) = [box for box in app.selectbox if box.key == "picker_b"]
    assert [WRONG in option for option in picker.options].count(True) == 1


def test_the_first_diverging_layer_is_named_and_drawn(wrong: Path, open_page: OpenPage) -> None:
    app = open_page("gaps", a="sample:eager", b="run:wrong")
    assert "The keys and values of layer 2 are the first that are off by more (25 %)" in html_of(app)
    drawn = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    assert any(trace.get("y") == [0.004, 0.012, 0.25] for figure in drawn for trace in figure["data"])


def test_a_run_that_was_not_checked_is_not_called_wrong() -> None:
    assert not is_wrong(Facts())
    assert marked("eager", None) == "eager"
