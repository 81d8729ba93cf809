"""How do benchmarks and browser tests start the app? As a person does, on a free port, with traces of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import TracebackType

from explorer.ui.places import TRACES_VARIABLE

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60


class AppServer:
    """`with AppServer(folder) as server:` runs the app on that folder's `samples/` and `runs/`."""

    def __init__(self, traces: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}"
        self.traces = traces

    def __enter__(self) -> AppServer:
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(self.port)]
        self.process = subprocess.Popen(
            [*command, "--server.address", "127.0.0.1"],
            cwd=ROOT,
            env={**os.environ, TRACES_VARIABLE: str(self.traces)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._wait_until_it_answers()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(timeout=PATIENCE_S)

    def _wait_until_it_answers(self) -> None:
        give_up = time.monotonic() + PATIENCE_S
        while time.monotonic() < give_up:
            try:
                with urllib.request.urlopen(f"{self.address}/_stcore/health", timeout=2):
                    return
            except OSError:
                time.sleep(0.2)
        raise TimeoutError(f"The app did not answer at {self.address}.")
