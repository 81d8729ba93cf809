"""Does the app itself run two settings on the CPU and draw them? The same way as on a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.driven_app import assert_both_are_drawn, run_two_settings


@pytest.mark.slow
def test_two_settings_are_chosen_run_on_the_cpu_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    chosen = {"setting_a_model": "tiny", "setting_b_attention": "math"}
    app, recordings = run_two_settings(tmp_path, monkeypatch, chosen, 180)
    assert_both_are_drawn(app, recordings)
    assert {recording.settings().attention for recording in recordings} == {"auto", "math"}
