"""Do the Library and the Gaps page show what there is?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from explorer.settings import RunSettings
from tests.ui.conftest import GRAPH
from tests.ui.drawn import trace_events, write_recording
from tests.ui.test_compare_page import figures_of, html_of

OpenPage = Callable[..., AppTest]


def test_every_run_has_a_card_with_its_picture_and_step(pair: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("library"))
    assert "2 runs to compare, with steps from 120 µs to 400 µs." in page
    assert page.count('<img class="thumb"') == 2
    assert "<b>400 µs</b> a step" in page
    assert page.count("results checked") == 2


def test_choosing_from_a_card_changes_the_pickers(pair: Path, open_page: OpenPage) -> None:
    app = open_page("library")
    app.button(key="as_a_sample:graph").click().run()
    assert app.selectbox(key="picker_a").value == "sample:graph"
    assert app.query_params["a"] == "sample:graph"


def test_a_card_leads_to_what_is_in_its_trace(pair: Path, open_page: OpenPage) -> None:
    app = open_page("library")
    app.button(key="contents_sample:graph").click().run()
    assert app.query_params["a"] == "sample:graph"
    assert "pieces of GPU work on 1 device" in html_of(app)


def test_the_filter_keeps_what_has_every_word(pair: Path, open_page: OpenPage) -> None:
    app = open_page("library")
    app.text_input(key="filter").set_value("h200 compile").run()
    assert html_of(app).count('<img class="thumb"') == 1
    app.text_input(key="filter").set_value("b200").run()
    assert "Nothing here matches" in html_of(app)


def test_own_runs_can_be_deleted_and_bundled_ones_not(pair: Path, open_page: OpenPage) -> None:
    write_recording(pair / "runs" / "mine", RunSettings())
    app = open_page("library")
    keys = {button.key for button in app.button}
    assert "sure_run:mine" in keys
    assert "sure_sample:eager" not in keys
    app.button(key="sure_run:mine").click().run()
    assert not (pair / "runs" / "mine").exists()
    assert "2 runs to compare" in html_of(app)


def test_an_uploaded_trace_becomes_a_run_and_its_name_is_only_text(pair: Path, open_page: OpenPage) -> None:
    app = open_page("library")
    content = json.dumps({"traceEvents": trace_events()}).encode()
    app.file_uploader(key="upload_files_0").set_value([("<b>mine</b>.json", content, "application/json")])
    app.run()
    assert not app.exception
    assert str(app.query_params["a"]).startswith("upload:")
    app.switch_page("screens/library.py").run()
    page = html_of(app)
    assert "3 runs to compare" in page
    assert "&lt;b&gt;mine&lt;/b&gt;.json" in page


def test_an_upload_that_the_address_names_is_listed_after_a_reload_and_no_other(
    pair: Path, open_page: OpenPage
) -> None:
    app = open_page("library")
    files = [(f"{name}.json", json.dumps({"traceEvents": trace_events(), "n": name}).encode()) for name in "xyz"]
    for turn, (name, content) in enumerate(files):
        app.file_uploader(key=f"upload_files_{turn}").set_value([(name, content, "application/json")]).run()
        app.switch_page("screens/library.py").run()
    named = str(app.query_params["a"])
    assert "3 uploaded" in html_of(app)

    again = open_page("library", a=named)

    assert "1 uploaded" in html_of(again)
    assert "z.json" in html_of(again)
    assert "x.json" not in html_of(again)
    assert "0 uploaded" in html_of(open_page("library"))


def test_an_upload_that_is_no_trace_gets_a_box(pair: Path, open_page: OpenPage) -> None:
    app = open_page("library")
    app.file_uploader(key="upload_files_0").set_value([("photo.json", b"\x89PNG", "application/json")])
    app.run()
    assert "neither JSON, gzip nor zip" in html_of(app)
    assert "2 runs to compare" in html_of(app)


def test_a_broken_recording_has_a_card_that_says_so(pair: Path, open_page: OpenPage) -> None:
    (pair / "samples" / "eager" / "facts.json").write_text("[]", encoding="utf-8")
    assert "Cannot be opened" in html_of(open_page("library"))


def test_gaps_lead_with_the_side_that_waits_more(pair: Path, open_page: OpenPage) -> None:
    app = open_page("gaps")
    page = html_of(app)
    assert 'class="finding">In A, of 194 µs idle a step' in page
    assert "In B, of 74.0 µs idle a step" in page
    assert "2.62 × less" in page
    assert "81 % → 62 % of the step" in page


def test_gap_figures_mark_a_run_with_wrong_results(pair: Path, open_page: OpenPage) -> None:
    write_recording(pair / "runs" / "wrong", GRAPH, passed=False)
    for figure in figures_of(open_page("gaps", b="run:wrong")):
        assert "<b>B ✗ wrong results</b>" in json.dumps(figure, ensure_ascii=False)


def test_gap_figures_add_up_to_the_idle_time(pair: Path, open_page: OpenPage) -> None:
    _, by_size = figures_of(open_page("gaps"))
    heights = {"y": 0.0, "y2": 0.0}
    for trace in by_size["data"]:
        heights[trace["yaxis"]] += sum(trace["y"])
    assert heights == {"y": 2 * 194_000.0, "y2": 2 * 74_000.0}


def test_who_is_to_blame_is_named(pair: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("gaps"))
    assert "aten::scaled_dot_product_attention" in page
    assert "No synchronisation drained the device." in page
