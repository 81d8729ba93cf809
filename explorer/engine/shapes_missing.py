"""What is missing on this machine, when compiling failed, and what helps?"""

from __future__ import annotations

import os
from pathlib import Path

from explorer.engine.compile_caches import CACHE_VARIABLES
from explorer.engine.failures import failure_of
from explorer.shapes_results import Missing

_TOOLS = (
    ("No working C++ compiler found", "There is no working C++ compiler, which code for the CPU needs: install g++."),
    ("InvalidCxxCompiler", "There is no working C++ compiler, which code for the CPU needs: install g++."),
    ("Failed to find C compiler", "There is no C compiler, which Triton needs for its launchers: install gcc."),
    ("Cannot find a working triton", "Triton is not installed, which code for this GPU needs: install triton."),
    ("TritonMissing", "Triton is not installed, which code for this GPU needs: install triton."),
    ("Python.h", "Python's header files are missing, which compiled launchers need: install python3-dev."),
)


def missing_of(error: Exception) -> Missing:
    """What kept the compiler from working, in words, with its own first line."""
    first_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    for fragment, meaning in _TOOLS:
        if fragment in str(error) or fragment in type(error).__name__:
            return Missing(message=meaning, sentence=first_line)
    compiler = os.environ.get("CXX")
    if compiler and compiler in str(error):
        return Missing(message=_TOOLS[0][1], sentence=first_line)
    variable = _unwritable_cache()
    if variable is not None:
        return Missing(message=_cache_message(variable), sentence=first_line)
    return Missing(message=failure_of(error, "compiling").message, sentence=first_line)


def _unwritable_cache() -> str | None:
    """The first cache variable that names a folder which cannot be written."""
    for variable in CACHE_VARIABLES:
        value = os.environ.get(variable)
        if value and not _can_write(Path(value)):
            return variable
    return None


def _cache_message(variable: str) -> str:
    return f"The folder in {variable} cannot be written, and compiled code goes there: choose another, or unset it."


def _can_write(folder: Path) -> bool:
    """Whether the folder, or the nearest that exists above it, is a folder that may be written."""
    existing = next((place for place in (folder, *folder.parents) if place.exists()), None)
    return existing is not None and existing.is_dir() and os.access(existing, os.W_OK)
