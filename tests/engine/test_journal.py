"""Does the last word about a run stand, whoever else still writes?"""

from __future__ import annotations

import io
from pathlib import Path

from explorer.engine.journal import Journal
from explorer.recording import create_recording
from explorer.settings import RunSettings


def test_nothing_is_written_over_the_end_of_an_abandoned_run(tmp_path: Path) -> None:
    recording = create_recording(tmp_path / "run", RunSettings())
    journal = Journal(recording.folder, io.StringIO())
    journal.update(stage="build")
    journal.abandon()
    journal.update(stage="steady", state="running")
    facts = recording.facts()
    assert (facts.state, facts.stage) == ("cancelled", "build")
    assert facts.failure is not None
    assert facts.failure.message == "What started this run ended during build."
