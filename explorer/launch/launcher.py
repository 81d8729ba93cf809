"""Whose turn is it, and how far is each run?

    submit → queued ─(the device is free)→ running → finished | failed
               └───────── cancel ────────────┴─────→ cancelled

One job a device at a time: two measurements on one GPU would measure each other. The turn is taken with a lock file,
so that a command line beside the app waits as well. Reader threads only change this object; pages poll it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from explorer.experiments import ExperimentSettings, validated
from explorer.launch.process import end_group, how_it_ended, log_tail, spawn, turn
from explorer.launch.status import ENDED, JobState, JobStatus, StageProgress
from explorer.recording import End, Progress, Recording, create_recording
from explorer.settings import Device


@dataclass
class _Job:
    recording: Recording
    settings: ExperimentSettings
    stages: dict[str, StageProgress]
    state: JobState = "queued"
    process: subprocess.Popen[str] | None = None
    cancel_asked: bool = False
    started_s: float | None = None
    ended_s: float | None = None
    message: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def run_id(self) -> str:
        return self.recording.folder.name


class Launcher:
    """Starts, follows, queues and cancels workers; thread-safe, one for a server process."""

    def __init__(self, command: tuple[str, ...] = (sys.executable, "-m", "explorer.engine")) -> None:
        self._command = command
        self._changed = threading.Condition()
        self._jobs: dict[str, _Job] = {}
        self._waiting: dict[Device, deque[_Job]] = {"cuda": deque(), "cpu": deque()}
        self._busy: set[Device] = set()

    def submit(self, settings: ExperimentSettings, folder: Path) -> str:
        """Queues a run that records into `folder` and returns its id, the folder's name.

        Raises SettingsError with the reasons for an invalid combination, RecordingError for a folder in use.
        """
        stages = {stage: StageProgress(stage) for stage in settings.stages}
        job = _Job(create_recording(folder, validated(settings)), settings, stages)
        with self._changed:
            self._jobs[job.run_id] = job
            self._waiting[settings.device].append(job)
            self._start_next(settings.device)
        return job.run_id

    def status(self, run_id: str) -> JobStatus:
        """The job as it is now; a KeyError when this launcher never had it."""
        with self._changed:
            return self._status(self._jobs[run_id])

    def knows(self, run_id: str) -> bool:
        """Whether this launcher started that run (after a server restart only the folder knows of it)."""
        with self._changed:
            return run_id in self._jobs

    def active(self) -> list[JobStatus]:
        """Every job that is queued or running, in the order of their turns."""
        with self._changed:
            return [self._status(job) for job in self._jobs.values() if job.state not in ENDED]

    def cancel(self, run_id: str) -> None:
        """Ends a run: one that waits is cancelled at once, a running one's whole process group within a second."""
        with self._changed:
            job = self._jobs[run_id]
            if job.state in ENDED:
                return
            job.cancel_asked = True
            if job in self._waiting[job.settings.device]:
                self._waiting[job.settings.device].remove(job)
            if job.process is None:
                self._end(job, End(exit_code=None, cancelled=True, message="Cancelled before it started."))
                return
            process = job.process
        threading.Thread(target=end_group, args=(process,), daemon=True).start()

    def wait(self, run_id: str, timeout_s: float | None = None) -> JobStatus:
        """The job's status once it has ended, or at the timeout."""
        with self._changed:
            job = self._jobs[run_id]
            self._changed.wait_for(lambda: job.state in ENDED, timeout_s)
            return self._status(job)

    def follow(self, run_id: str) -> Iterator[JobStatus]:
        """The job's status at every change, the last one when it has ended."""
        with self._changed:
            job = self._jobs[run_id]
            status = self._status(job)
        while True:
            yield status
            if status.state in ENDED:
                return
            with self._changed:
                self._changed.wait(1.0)
                status = self._status(job)

    def _status(self, job: _Job) -> JobStatus:
        place = self._place(job) if job.state == "queued" else None
        ended_s = job.ended_s if job.ended_s is not None else time.monotonic()
        return JobStatus(
            run_id=job.run_id,
            folder=job.recording.folder,
            settings=job.settings,
            state=job.state,
            stages=tuple(job.stages.values()),
            place_in_queue=place,
            elapsed_ns=0 if job.started_s is None else round((ended_s - job.started_s) * 1e9),
            message=job.message,
            notes=tuple(job.notes),
            log_tail=log_tail(job.recording.log_path),
            is_cancelling=job.cancel_asked and job.state not in ENDED,
        )

    def _place(self, job: _Job) -> int:
        """1 for the next: the one that waits for its turn among all launchers, before those that wait in this one."""
        waiting = self._waiting[job.settings.device]
        if job not in waiting:
            return 1
        taking_turn = [
            other
            for other in self._jobs.values()
            if other.state == "queued" and other.settings.device == job.settings.device and other not in waiting
        ]
        return len(taking_turn) + waiting.index(job) + 1

    def _start_next(self, device: Device) -> None:
        if device in self._busy or not self._waiting[device]:
            return
        self._busy.add(device)
        job = self._waiting[device].popleft()
        threading.Thread(target=self._run, args=(job,), name=f"follow {job.run_id}", daemon=True).start()

    def _run(self, job: _Job) -> None:
        device = job.settings.device
        try:
            with (
                turn(device, lambda: job.cancel_asked) as turn_file,
                # Removed whatever way the worker ends; its compilers may still be writing, hence no complaint.
                tempfile.TemporaryDirectory(prefix="kernel-explorer-", ignore_cleanup_errors=True) as scratch,
            ):
                self._run_worker(job, Path(scratch), turn_file)
        except OSError as problem:
            with self._changed:
                if job.state not in ENDED:
                    self._end(job, End(exit_code=None, message=f"The worker could not be started: {problem}."))
        finally:
            with self._changed:
                self._busy.discard(device)
                self._start_next(device)

    def _run_worker(self, job: _Job, scratch: Path, turn_file: int) -> None:
        """Starts the worker and follows it to its end; raises OSError when it cannot be started."""
        with self._changed:
            if job.cancel_asked:
                return
            process = spawn(self._command, job.recording.folder, scratch, turn_file)
            job.process, job.state, job.started_s = process, "running", time.monotonic()
            self._changed.notify_all()
        assert process.stdout is not None
        self._read(job, process.stdout)
        exit_code = process.wait()
        self._finish(job, exit_code)

    def _finish(self, job: _Job, exit_code: int) -> None:
        with self._changed:
            cancelled = job.cancel_asked and exit_code != 0
            self._end(job, End(exit_code=exit_code, cancelled=cancelled, message=how_it_ended(exit_code, cancelled)))

    def _read(self, job: _Job, lines: IO[str]) -> None:
        for line in lines:
            progress = Progress.from_line(line)
            if progress is None:
                continue
            with self._changed:
                _take(job, progress)
                self._changed.notify_all()

    def _end(self, job: _Job, end: End) -> None:
        job.state = "cancelled" if end.cancelled else ("finished" if end.exit_code == 0 else "failed")
        job.message = job.message or end.message
        job.ended_s = time.monotonic()
        try:
            job.recording.write_end(end)
        except OSError as problem:  # the disk is full, or somebody deleted the folder
            job.message = job.message or f"Its end could not be written down: {problem}."
        if job.state != "finished":
            job.stages = {
                stage: replace(progress, state="failed") if progress.state == "running" else progress
                for stage, progress in job.stages.items()
            }
        self._changed.notify_all()


def _take(job: _Job, progress: Progress) -> None:
    if progress.kind == "note":
        job.notes.append(progress.text)
    elif progress.kind == "failed":
        job.message = progress.text
    if progress.stage is None or progress.stage not in job.stages:
        return
    stage = job.stages[progress.stage]
    if progress.kind == "stage_started":
        stage = replace(stage, state="running")
    elif progress.kind == "stage_finished":
        stage = replace(stage, state="finished", elapsed_ns=progress.elapsed_ns)
    elif progress.kind == "count":
        stage = replace(stage, done=progress.done, total=progress.total)
    job.stages[progress.stage] = stage
