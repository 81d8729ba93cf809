"""How is one worker process started, ended, and kept from measuring beside another?"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from explorer.recording import LOG_FILE
from explorer.settings import Device

_LOG_TAIL_BYTES = 16_384
_GRACE_S = 0.4
_TURN_POLL_S = 0.1


def default_device() -> Device:
    """`cuda` where a GPU's device file is present, else `cpu`; cheap, and the engine has the last word."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    present = any(Path(path).exists() for path in ("/dev/nvidia0", "/dev/kfd"))
    return "cuda" if present and not hidden else "cpu"


def spawn(command: tuple[str, ...], folder: Path, scratch: Path, turn_file: int) -> subprocess.Popen[str]:
    """Starts `command FOLDER` in its own process group, its progress lines on `stdout`; may raise OSError.

    It keeps temporary files in `scratch` and holds the device's turn (`turn_file`, as `turn` gave it) while it lives,
    so that nobody measures beside it even when its launcher is gone.
    """
    package_parent = str(Path(__file__).resolve().parents[2])
    search_path = os.pathsep.join(p for p in (package_parent, os.environ.get("PYTHONPATH", "")) if p)
    with (folder / LOG_FILE).open("ab") as log:  # so that even a worker which cannot start says why
        return subprocess.Popen(
            [*command, str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "PYTHONPATH": search_path, "TMPDIR": str(scratch)},
            pass_fds=(turn_file,),
            start_new_session=True,
        )


def how_it_ended(exit_code: int, cancelled: bool) -> str:
    """One sentence for a person; empty for a run that finished."""
    if cancelled:
        return "Cancelled."
    if exit_code == 0:
        return ""
    if exit_code < 0:
        name = signal.Signals(-exit_code).name
        hint = "; the system also sends it when memory runs out" if name == "SIGKILL" else ""
        return f"The worker was killed by {name}{hint}."
    return f"The worker ended with exit code {exit_code}; worker.log says more."


def end_group(process: subprocess.Popen[str]) -> None:
    """Asks the whole process group to end, then ends it; returns within a second."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sent)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)


@contextlib.contextmanager
def turn(device: Device, given_up: Callable[[], bool]) -> Iterator[int]:
    """Holds this machine's turn on a device; waits while another process has it, until `given_up()` is true.

    Gives the file descriptor whose lock is the turn: a worker that inherits it holds it as well. May raise OSError.
    """
    path = Path(tempfile.gettempdir()) / f"kernel-explorer-{os.getuid()}-{device}.lock"
    with path.open("a") as lock:
        while not given_up():
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_TURN_POLL_S)
        yield lock.fileno()


def log_tail(path: Path) -> str:
    """The last 16 KiB of a log as text; empty while there is none."""
    try:
        with path.open("rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - _LOG_TAIL_BYTES))
            return log.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
