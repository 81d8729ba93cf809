"""Which fixtures do the readers' tests share?"""

from __future__ import annotations

import pytest

from explorer.ingest.compile_fast import compile_now


@pytest.fixture(scope="session")
def compiled_scanner() -> None:
    """The fast reader, compiled: without it every file is refused there."""
    compile_now()
