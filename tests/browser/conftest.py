"""The app in a server of its own, and a real Chromium to look at it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from explorer.settings import RunSettings
from explorer.ui.places import TRACES_VARIABLE
from tests.ui.drawn import write_recording

CHECKOUT = Path(__file__).parents[2]
CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_PROBE = "/_stcore/"
"""Streamlit looks for its server below a page's own path first, and the browser logs that 404 as an error."""


_PATIENCE_MS = 90_000  # two busy processors draw a page in seconds, not in one
expect.set_options(timeout=_PATIENCE_MS)


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two bundled recordings and no runs, for the server of this session."""
    folder = tmp_path_factory.mktemp("traces")
    (folder / "runs").mkdir()
    eager = RunSettings(model="qwen3-0.6b", device="cuda", mode="eager")
    graph = RunSettings(model="qwen3-0.6b", device="cuda", mode="compile_cuda_graph")
    write_recording(folder / "samples" / "eager", eager)
    write_recording(folder / "samples" / "graph", graph, launch_pitch_us=40.0, step_ns=120_000)
    return folder


@pytest.fixture(scope="session")
def server(recordings: Path) -> Iterator[str]:
    """The address of a running app."""
    with served(recordings) as address:
        yield address


@contextmanager
def served(traces: Path) -> Iterator[str]:
    """The app on a free port over that folder, stopped at the end."""
    port = _free_port()
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "app.py",
        "--server.port",
        str(port),
        "--server.address",
        "127.0.0.1",
    ]
    process = subprocess.Popen(
        command,
        cwd=CHECKOUT,
        env={**os.environ, TRACES_VARIABLE: str(traces), "CUDA_VISIBLE_DEVICES": ""},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_until_healthy(address, process)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(60)
        finally:
            process.kill()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., BrowserContext]]:
    """Opens browser contexts; keyword arguments are Playwright's (viewport, color_scheme, ...)."""
    with sync_playwright() as playwright:
        opened: list[BrowserContext] = []

        def open_context(**options: object) -> BrowserContext:
            profile = tmp_path_factory.mktemp("profile")
            chosen = {"viewport": {"width": 1280, "height": 800}, **options}
            context = playwright.chromium.launch_persistent_context(
                profile,
                executable_path=CHROMIUM,
                args=FLAGS,
                **chosen,  # type: ignore[arg-type]
            )
            context.set_default_timeout(_PATIENCE_MS)
            opened.append(context)
            return context

        yield open_context
        for context in opened:
            context.close()


@pytest.fixture
def page(browser: Callable[..., BrowserContext]) -> Iterator[Page]:
    """A page of a fresh profile; the test fails when the console shows an error."""
    context = browser()
    with watched(context.new_page()) as opened:
        yield opened
    context.close()


@contextmanager
def watched(page: Page) -> Iterator[Page]:
    """The page, with an assertion at the end that its console stayed free of errors."""
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and _PROBE not in message.location.get("url", ""):
            errors.append(f"{message.text} ({message.location})")

    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert errors == []


def settled(page: Page) -> Page:
    """The page, once its script has run to the end."""
    page.wait_for_function(
        "document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"
    )
    return page


Seen = TypeVar("Seen")


def at_rest(page: Page, look: Callable[[], Seen]) -> Seen:
    """What one sees, once two looks agree: a page is laid out in several steps."""
    until = time.monotonic() + _PATIENCE_MS / 1000
    seen = look()
    while time.monotonic() < until:
        page.wait_for_timeout(150)
        before, seen = seen, look()
        if seen == before:
            return seen
    raise AssertionError(f"the page does not come to rest: {seen}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_healthy(address: str, process: subprocess.Popen[bytes], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server ended before it was ready"
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError("the server did not become ready")
