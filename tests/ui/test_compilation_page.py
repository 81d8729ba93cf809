"""Does the Compilation page say what a start costs, which guard failed, and where compiling stopped?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from explorer.recording import open_recording
from explorer.shapes_settings import ShapesSettings
from tests.drawn_shapes import write_shapes
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
