"""What does a page need to know of a job? Plain values, consistent at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from explorer.experiments import ExperimentSettings
from explorer.facts import RunState
from explorer.launch.process import log_tail
from explorer.recording import Recording

JobState = Literal["queued", "running", "finished", "failed", "cancelled"]
StageState = Literal["waiting", "running", "finished", "failed"]
ENDED: frozenset[JobState] = frozenset({"finished", "failed", "cancelled"})


@dataclass(frozen=True)
class StageProgress:
    """One stage of a run: `elapsed_ns` is None until it has ended, `done` of `total` where it counts steps."""

    stage: str
    state: StageState = "waiting"
    elapsed_ns: int | None = None
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True)
class JobStatus:
    """What a page needs to draw one job, consistent at one moment.

    `place_in_queue` is 1 for the next to run; `is_cancelling` says that somebody cancelled it and it has not ended yet.
    """

    run_id: str
    folder: Path
    settings: ExperimentSettings
    state: JobState
    stages: tuple[StageProgress, ...]
    place_in_queue: int | None
    elapsed_ns: int
    message: str
    notes: tuple[str, ...]
    log_tail: str
    is_cancelling: bool = False


_JOB_STATES: dict[RunState, JobState] = {"running": "running", "finished": "finished", "cancelled": "cancelled"}


def recorded_status(recording: Recording) -> JobStatus:
    """The status of a run that this process did not start (another server did, or the command line), from its folder.

    Raises RecordingError when the folder's files cannot be read.
    """
    state = _JOB_STATES.get(recording.state(), "failed")
    settings = recording.experiment_settings()
    facts = recording.facts_so_far()
    failure = recording.failure()
    stages = []
    for stage in settings.stages:
        elapsed_ns = facts.stage_ns.get(stage)
        stage_state: StageState = "waiting" if elapsed_ns is None else "finished"
        if elapsed_ns is None and stage == facts.stage:
            stage_state = "running" if state == "running" else "failed"
        stages.append(StageProgress(stage, stage_state, elapsed_ns))
    return JobStatus(
        run_id=recording.folder.name,
        folder=recording.folder,
        settings=settings,
        state=state,
        stages=tuple(stages),
        place_in_queue=None,
        elapsed_ns=sum(facts.stage_ns.values()),
        message=failure.message if failure else "",
        notes=tuple(facts.notes),
        log_tail=log_tail(recording.log_path),
    )
