"""Where does compiling keep its results, and how does a run start with none?

Nothing here loads torch: the folders have to be named before it comes in.
"""

from __future__ import annotations

import os
from pathlib import Path

from explorer.engine.journal import Journal

CACHE_VARIABLES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
"""Inductor's and Triton's folders. Compiling sets them where they are not, so a child process would inherit them."""


def start_cold(folder: Path, journal: Journal) -> None:
    """Gives this run empty caches below `folder`, so that its cold start is cold; the user's own stay in force."""
    for variable in CACHE_VARIABLES:
        if variable in os.environ:
            journal.note(f"{variable} was set, so compiling may have reused earlier results.")
        else:
            os.environ[variable] = str(folder / variable.lower())
