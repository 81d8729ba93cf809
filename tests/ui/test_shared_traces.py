"""Can a trace of any kind be looked at: other GPUs, several devices, no steps, no GPU at all?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explorer.ui.sources import add_upload
from tests.ui.test_compare_page import figures_of, html_of

TRACES = Path(__file__).parents[3] / "shared" / "traces"
FILES = sorted(TRACES.glob("*.json.gz"))
OpenPage = Callable[..., AppTest]


@pytest.mark.slow
@pytest.mark.skipif(not FILES, reason="the shared traces are not here")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_any_trace_is_compared_and_its_gaps_shown(path: Path, pair: Path, open_page: OpenPage) -> None:
    source_id = add_upload(path.name, path.read_bytes())
    app = open_page(a=source_id, b="sample:graph")
    assert "cannot be shown" not in html_of(app)
    assert any(trace["x"] for trace in figures_of(app)[0]["data"])
    app.switch_page("screens/gaps.py").run()
    assert not app.exception
    assert "In A, " in html_of(app)
