"""Where is kept what can be made again: parsed traces and machine code?"""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$EXPLORER_CACHE`, else `kernel-explorer` under the user's cache folder; not made here."""
    chosen = os.environ.get("EXPLORER_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "kernel-explorer"


def machine_code_base() -> Path:
    """`$EXPLORER_MACHINE_CODE`, else a folder in the cache."""
    chosen = os.environ.get("EXPLORER_MACHINE_CODE")
    return Path(chosen) if chosen else cache_folder() / "machine-code"
