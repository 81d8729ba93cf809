"""Does the app itself run two settings on the GPU and draw them? Needs the app's packages beside torch."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from explorer.recording import Recording
from explorer.ui.places import TRACES_VARIABLE
from tests.ui.test_compare_page import html_of

pytestmark = pytest.mark.gpu

MAIN = str(Path(__file__).parents[2] / "explorer" / "ui" / "main.py")


def until_ended(app: AppTest, seconds: float) -> AppTest:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        app.run()
        if html_of(app).count("finished ·") == 2:
            return app
        time.sleep(1.0)
    raise AssertionError(f"the runs did not finish: {html_of(app)[-2000:]}")


def test_two_settings_are_chosen_run_on_the_gpu_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("samples", "runs"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv(TRACES_VARIABLE, str(tmp_path))
    st.cache_resource.clear()
    app = AppTest.from_file(MAIN, default_timeout=60).run()
    app.switch_page("screens/run.py").run()
    assert app.selectbox(key="setting_a_device").value == "cuda"
    app.selectbox(key="setting_a_model").select("qwen3-0.6b").run()
    app.selectbox(key="setting_b_mode").select("cuda_graph").run()
    app.button(key="run_both").click().run()
    app = until_ended(app, 180)
    app.button(key="open_compare").click().run()
    assert not app.exception, app.exception
    assert "times shorter" in html_of(app)
    assert len(app.get("plotly_chart")) == 1
    assert "timeline" in {component.key for component in app.get("bidi_component")}
    for folder in (tmp_path / "runs").iterdir():
        facts = Recording(folder).facts()
        assert facts.state == "finished"
        assert facts.environment is not None
        assert facts.correctness is not None
        assert facts.correctness.passed
        print(folder.name, facts.environment.device_name, sorted(facts.steady_latencies_ns)[15], html_of(app)[:300])
