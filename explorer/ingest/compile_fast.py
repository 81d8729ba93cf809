"""Compiles the fast reader: `python -m explorer.ingest.compile_fast`."""

from __future__ import annotations

import os

from explorer.ingest.fast import load_machine_code
from explorer.ingest.warm import note_compiled


def compile_now() -> None:
    """Leaves the machine code where the next process finds it."""
    load_machine_code()
    note_compiled()


if __name__ == "__main__":
    os.nice(10)  # somebody is waiting for the same file to be read the other way
    compile_now()
