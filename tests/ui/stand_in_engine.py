"""A worker that stands in for the engine: writes a drawn recording in a moment, or fails when asked for seed 13."""

from __future__ import annotations

import sys
from pathlib import Path

from explorer.facts import Failure
from explorer.recording import FACTS_FILE, Progress, Recording, write_json
from explorer.settings import RunSettings
from tests.ui.drawn import facts_of, write_trace


def main(folder: Path) -> int:
    settings = Recording(folder).settings()
    if settings.seed == 13:
        failure = Failure(stage="build", kind="out_of_memory", message="Out of memory while building the model.")
        write_json(folder / FACTS_FILE, facts_of(settings, state="failed", failure=failure))
        print(Progress(kind="stage_started", stage="build").to_line(), flush=True)
        print(Progress(kind="failed", stage="build", text=failure.message).to_line(), flush=True)
        return 3
    for stage in RunSettings.stages:
        print(Progress(kind="stage_started", stage=stage).to_line(), flush=True)
        print(Progress(kind="stage_finished", stage=stage, elapsed_ns=1_000_000).to_line(), flush=True)
    write_trace(folder, launch_pitch_us=100.0 if settings.mode == "eager" else 40.0)
    write_json(folder / FACTS_FILE, facts_of(settings, step_ns=400_000 if settings.mode == "eager" else 120_000))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
