"""Does the app itself run two settings on the GPU and draw them? Needs the app's packages beside torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.driven_app import assert_both_are_drawn, run_two_settings
from tests.ui.test_compare_page import html_of

pytestmark = pytest.mark.gpu


def test_two_settings_are_chosen_run_on_the_gpu_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {"setting_a_model": "qwen3-0.6b", "setting_b_mode": "cuda_graph"}
    app, recordings = run_two_settings(tmp_path, monkeypatch, chosen, 180)
    assert_both_are_drawn(app, recordings)
    assert {recording.settings().device for recording in recordings} == {"cuda"}
    assert "times shorter" in html_of(app)
