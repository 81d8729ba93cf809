"""A folder of recordings of its own for every page test, and the app opened on it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from explorer.launch import Launcher
from explorer.settings import RunSettings
from explorer.ui import jobs, opening
from explorer.ui.places import TRACES_VARIABLE
from tests.ui.drawn import write_recording

MAIN = str(Path(__file__).parents[2] / "explorer" / "ui" / "main.py")
EAGER = RunSettings(model="qwen3-0.6b", device="cuda", mode="eager")
GRAPH = RunSettings(model="qwen3-0.6b", device="cuda", mode="compile_cuda_graph")


@pytest.fixture
def traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty `samples/` and `runs/`, and caches of this test alone."""
    for name in ("samples", "runs"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv(TRACES_VARIABLE, str(tmp_path))
    monkeypatch.setattr(opening, "_SHORT_S", 60.0)  # nobody presses reload here: a busy machine takes its time
    st.cache_resource.clear()
    st.cache_data.clear()
    yield tmp_path
    st.cache_resource.clear()


@pytest.fixture
def pair(traces: Path) -> Path:
    """Two bundled recordings: eager, and compile + CUDA graph with a fifth of the idle time."""
    write_recording(traces / "samples" / "eager", EAGER)
    write_recording(traces / "samples" / "graph", GRAPH, launch_pitch_us=40.0, step_ns=120_000)
    return traces


@pytest.fixture
def open_page() -> Callable[..., AppTest]:
    """Opens a page by its word, with query parameters, and asserts that it ran without an exception."""

    def opened(page: str = "compare", **address: str) -> AppTest:
        app = AppTest.from_file(MAIN, default_timeout=90)
        for name, value in address.items():
            app.query_params[name] = value
        app.run()
        if page != "compare":
            app.switch_page(f"screens/{page}.py").run()
        assert not app.exception, app.exception
        return app

    return opened


def come_back(app: AppTest, page: str) -> AppTest:
    """The app back on a page after another one; a change of page by the menu empties the address."""
    for word in ("gaps", page):
        app.query_params.clear()
        app.switch_page(f"screens/{word}.py").run()
    return app


@pytest.fixture
def quick_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs take a moment: the launcher starts a stand-in for the engine."""
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", str(root))
    command = (sys.executable, str(Path(__file__).with_name("stand_in_engine.py")))
    monkeypatch.setattr(jobs, "Launcher", partial(Launcher, command))
