"""Does the Compilation page say what a start costs, which guard failed, and where compiling stopped?"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from explorer.recording import open_recording
from explorer.shapes_settings import ShapesSettings
from tests.drawn_shapes import write_shapes
from tests.ui.conftest import EAGER
from tests.ui.drawn import write_recording
from tests.ui.test_compare_page import html_of

OpenPage = Callable[..., AppTest]


def test_without_an_experiment_the_runs_are_shown(pair: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("compilation"))
    assert "gives its first answer after" in page
    assert "correct, then cold start, then steady" in page
    assert "No sequence of shapes has been tried yet" in page


def test_the_limit_and_its_attribute_are_named(pair: Path, open_page: OpenPage) -> None:
    write_shapes(pair / "samples" / "shapes")
    page = html_of(open_page("compilation"))
    assert "from call 9 on" in page
    assert "self.position was compiled in as 7" in page
    assert "Keep it in a tensor buffer" in page
    assert "no working C++ compiler" in page
    assert "a/x.py, line 9" in page
    assert "0/7 → 1/0" in page
    assert "750 µs" in page


def test_nothing_chosen_still_offers_the_form(traces: Path, open_page: OpenPage) -> None:
    app = open_page("compilation")
    assert "Pick a run on the left" in html_of(app)
    assert [button.label for button in app.button if button.key == "shapes_start"] == ["Start"]


def test_the_fix_can_be_run_at_once(pair: Path, open_page: OpenPage, quick_engine: None) -> None:
    write_shapes(pair / "samples" / "shapes")
    app = open_page("compilation")
    next(button for button in app.button if button.label == "Run it with a tensor buffer").click().run()
    assert not app.exception
    (folder,) = (pair / "runs").iterdir()
    settings = open_recording(folder).experiment_settings()
    assert isinstance(settings, ShapesSettings)
    assert settings.subject == "position_buffer"


def begin(app: AppTest, **choices: str) -> AppTest:
    for key, value in choices.items():
        app.selectbox(key=key).set_value(value).run()
    return app


def started(traces: Path) -> ShapesSettings:
    (folder,) = (traces / "runs").iterdir()
    settings = open_recording(folder).experiment_settings()
    assert isinstance(settings, ShapesSettings)
    return settings


def test_a_list_of_ones_own_is_run_in_its_order(traces: Path, open_page: OpenPage, quick_engine: None) -> None:
    app = begin(open_page("compilation"), shapes_sequence="own")
    app.text_area(key="shapes_own").set_value("3, 5\n3").run()
    app.button(key="shapes_start").click().run()
    assert not app.exception
    assert started(traces).sizes == (3, 5, 3)


def test_a_list_that_is_none_cannot_be_started(traces: Path, open_page: OpenPage) -> None:
    app = begin(open_page("compilation"), shapes_sequence="own")
    app.text_area(key="shapes_own").set_value("3, many").run()
    assert "is no whole number" in html_of(app)
    assert app.button(key="shapes_start").disabled


def test_sizes_come_from_a_file(traces: Path, open_page: OpenPage, quick_engine: None) -> None:
    app = begin(open_page("compilation"), shapes_sequence="file")
    app.file_uploader(key="shapes_file").set_value(("sizes.json", b"[8, 1, 8]", "application/json")).run()
    app.button(key="shapes_start").click().run()
    assert started(traces).sizes == (8, 1, 8)


def test_sizes_come_from_an_engine_trace(traces: Path, open_page: OpenPage, quick_engine: None) -> None:
    marks = [(0, "step[DECODE bs=32]"), (10, "step[DECODE bs=31]"), (20, "step[DECODE bs=32]")]
    events = [
        {"ph": "X", "cat": "user_annotation", "name": name, "ts": at, "dur": 5, "pid": 1, "tid": 1}
        for at, name in marks
    ]
    folder = traces / "samples" / "engine"
    write_recording(folder, EAGER)
    (folder / "trace.json.gz").write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    app = begin(open_page("compilation"), shapes_sequence="trace", shapes_trace="sample:engine")
    assert "3 steps, in which the batch changes 2 times. 32, 31, 32" in html_of(app)
    app.button(key="shapes_start").click().run()
    assert started(traces).sizes == (32, 31, 32)


def test_the_model_is_compiled_whole_and_by_layer(traces: Path, open_page: OpenPage, quick_engine: None) -> None:
    app = begin(open_page("compilation"), shapes_subject="model")
    app.multiselect(key="shapes_scopes").set_value(["model", "layer"]).run()
    app.button(key="shapes_start").click().run()
    assert started(traces).scopes == ("model", "layer")


def test_picked_runs_without_measured_facts_are_not_asked_for_again(pair: Path, open_page: OpenPage) -> None:
    (pair / "samples" / "graph" / "facts.json").unlink()
    (pair / "samples" / "eager" / "facts.json").unlink()
    page = html_of(open_page("compilation"))
    assert "Pick a run on the left" not in page
    assert "importing PyTorch comes before it" not in page
