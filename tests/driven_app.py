"""The app driven as a person does it: choose two settings on the Run page, run them for real, open Compare."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from explorer.recording import Recording
from explorer.ui.places import TRACES_VARIABLE
from tests.ui.test_compare_page import html_of

MAIN = str(Path(__file__).parents[1] / "explorer" / "ui" / "main.py")


def run_two_settings(
    folder: Path, monkeypatch: pytest.MonkeyPatch, chosen: Mapping[str, str], seconds: float
) -> tuple[AppTest, list[Recording]]:
    """The app on its Compare page after both runs, and their recordings; `chosen` are options by the form's keys."""
    for name in ("samples", "runs"):
        (folder / name).mkdir()
    monkeypatch.setenv(TRACES_VARIABLE, str(folder))
    st.cache_resource.clear()
    app = AppTest.from_file(MAIN, default_timeout=60).run()
    app.switch_page("screens/run.py").run()
    for key, option in chosen.items():
        app.selectbox(key=key).select(option).run()
    app.button(key="run_both").click().run()
    _wait_for_both(app, seconds)
    app.button(key="open_compare").click().run()
    assert not app.exception, app.exception
    return app, [Recording(run) for run in sorted((folder / "runs").iterdir())]


def assert_both_are_drawn(app: AppTest, recordings: list[Recording]) -> None:
    """Both runs finished with right results, and the step bars and the timeline stand on the page."""
    assert len(recordings) == 2
    for recording in recordings:
        facts = recording.facts()
        assert facts.state == "finished"
        assert facts.environment is not None
        assert facts.correctness is not None
        assert facts.correctness.passed
    assert any("step_bar" in chart.proto.id for chart in app.get("plotly_chart"))
    assert "timeline" in {component.key for component in app.get("bidi_component")}


def _wait_for_both(app: AppTest, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        app.run()
        if html_of(app).count("finished ·") == 2:
            return
        time.sleep(1.0)
    raise AssertionError(f"the runs did not finish: {html_of(app)[-2000:]}")
