"""Is the fast reader compiled yet, and who compiles it while nobody waits?

Compiling takes about ten seconds, once a version of its sources. Until it is done every file is read the tolerant way.
`python -m explorer.ingest.compile_fast` does it at once.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from pathlib import Path

from explorer.ingest.places import machine_code_base

COMPILED_SOURCES = (
    "memory",
    "scan_layout",
    "json_scan",
    "digits",
    "interning",
    "literals",
    "event_scan",
    "scanner",
    "writing",
    "rows",
    "categories",
    "columns",
    "compile_fast",
    "machine_code",
)
_CLAIM = "claimed"
_STALE_S = 300


def machine_code_folder() -> Path:
    """Where compiled code is kept: a folder a version of its sources."""
    digest = hashlib.sha256(sys.version.encode())
    for name in COMPILED_SOURCES:
        digest.update((Path(__file__).parent / f"{name}.py").read_bytes())
    return machine_code_base() / digest.hexdigest()[:16]


def is_compiled() -> bool:
    """Whether the fast reader starts without compiling."""
    if not any(machine_code_folder().glob("*.o")):
        return False
    from explorer.ingest.machine_code import object_path  # loads a library, which takes a tenth of a second

    return object_path().exists()


def compile_in_background() -> None:
    """Starts one process that compiles the fast reader, unless one has been started already."""
    if not _claimed(machine_code_folder()):
        return
    subprocess.Popen(
        [sys.executable, "-m", "explorer.ingest.compile_fast"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _claimed(folder: Path) -> bool:
    """Whether this process is the one to start compiling; a claim that came to nothing lapses."""
    claim = folder / _CLAIM
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if claim.exists() and time.time() - claim.stat().st_mtime > _STALE_S:
            claim.unlink(missing_ok=True)
        claim.touch(exist_ok=False)
    except OSError:  # somebody else is at it, or nothing can be kept here: then there is no fast path
        return False
    return True
