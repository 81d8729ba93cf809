"""What does a run leave on disk, and who writes which file of it?

    FOLDER/settings.json   the launcher    what was asked
    FOLDER/facts.json      the engine      what was measured, rewritten whole after every stage
    FOLDER/results.json    the engine      what an experiment other than a run measured
    FOLDER/trace.json.gz   the engine      the profiler's own file, untouched
    FOLDER/generated_code.json.gz  the engine  what the compiler wrote, of a run that compiles
    FOLDER/torch_trace.zip the engine      TORCH_TRACE logs of an experiment that compiles, one file a process
    FOLDER/worker.log      the engine      everything the process printed
    FOLDER/end.json        the launcher    how the process ended
    FOLDER/waiting.json    the launcher    who is to start it and see it end; gone with its end

A crash therefore never loses what was measured before it, and a folder says itself how far its run came.
Standard library only: the engine imports this on machines that have nothing but torch and numpy.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import os
import threading
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explorer.errors import RecordingError, SettingsError
from explorer.experiments import ExperimentSettings, settings_from_json, settings_to_json
from explorer.facts import Facts, Failure, RunState, facts_from_json
from explorer.generated_code import GeneratedCode, code_from_json
from explorer.settings import RunSettings

SETTINGS_FILE = "settings.json"
FACTS_FILE = "facts.json"
RESULTS_FILE = "results.json"
TRACE_FILE = "trace.json.gz"
CODE_FILE = "generated_code.json.gz"
TORCH_TRACE_FILE = "torch_trace.zip"
LOG_FILE = "worker.log"
END_FILE = "end.json"
WAITING_FILE = "waiting.json"
RECORDING_FILES = (
    *(SETTINGS_FILE, FACTS_FILE, RESULTS_FILE, TRACE_FILE, CODE_FILE, TORCH_TRACE_FILE, LOG_FILE, END_FILE),
)
_CODE_LIMIT_BYTES = 64 * 2**20
_CLOCK_SLACK_S = 5.0
"""The system's clock may be set between a process' start and its own first look at it."""


@dataclass(frozen=True, kw_only=True)
class End:
    """How the worker process ended, as its launcher saw it."""

    exit_code: int | None
    cancelled: bool = False
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """One line of the worker's standard output: a JSON object with these fields.

    `kind` is stage_started, stage_finished, count (step `done` of `total`), note, finished or failed; `stage` is one of
    the experiment's.
    """

    kind: str
    stage: str | None = None
    elapsed_ns: int | None = None
    done: int | None = None
    total: int | None = None
    text: str = ""

    def to_line(self) -> str:
        """The JSON line, without its newline; fields at their default are left out."""
        given = {name: value for name, value in dataclasses.asdict(self).items() if value not in (None, "")}
        return json.dumps(given)

    @classmethod
    def from_line(cls, line: str) -> Progress | None:
        """The progress in a line, or None for a line that a library printed."""
        try:
            fields = json.loads(line)
            return cls(**fields)
        except (ValueError, TypeError):
            return None


@dataclass(frozen=True)
class Recording:
    """A recording folder that exists; the files are read when asked for."""

    folder: Path

    @property
    def trace_path(self) -> Path:
        return self.folder / TRACE_FILE

    @property
    def log_path(self) -> Path:
        return self.folder / LOG_FILE

    def experiment_settings(self) -> ExperimentSettings:
        """What was asked, of any experiment; raises RecordingError when the file is missing or malformed."""
        try:
            return settings_from_json(_read_json(self.folder / SETTINGS_FILE))
        except SettingsError as problem:
            raise RecordingError(f"{self.folder / SETTINGS_FILE}: {problem}") from problem

    def settings(self) -> RunSettings:
        """What was asked of a run; raises RecordingError also for a recording of another experiment."""
        settings = self.experiment_settings()
        if not isinstance(settings, RunSettings):
            raise RecordingError(f"{self.folder} is a recording of {settings.experiment}, not of a run.")
        return settings

    def results(self) -> dict[str, Any]:
        """What an experiment measured beyond the facts; raises RecordingError when missing or malformed."""
        return _read_json(self.folder / RESULTS_FILE)

    def generated_code(self) -> GeneratedCode | None:
        """What the compiler wrote, or None where it was not recorded; raises RecordingError when malformed."""
        path = self.folder / CODE_FILE
        if not path.exists():
            return None
        try:
            with gzip.open(path) as packed:
                content = packed.read(_CODE_LIMIT_BYTES + 1)
            if len(content) > _CODE_LIMIT_BYTES:
                raise RecordingError(f"{path} holds more than {_CODE_LIMIT_BYTES:,} bytes; record the run again.")
            return code_from_json(json.loads(content))
        except (ValueError, OSError, EOFError, zlib.error) as problem:
            raise RecordingError(f"{path} cannot be read ({problem}); the recording is damaged.") from None

    def facts(self) -> Facts:
        """What was measured; raises RecordingError when missing, malformed or of a newer format version."""
        return facts_from_json(_read_json(self.folder / FACTS_FILE), self.folder / FACTS_FILE)

    def facts_so_far(self) -> Facts:
        """The facts, or empty ones for a worker that ended before it wrote any."""
        return self.facts() if (self.folder / FACTS_FILE).exists() else Facts()

    def end(self) -> End | None:
        """How the process ended, or None while it runs or when nobody saw it end."""
        path = self.folder / END_FILE
        if not path.exists():
            return None
        try:
            return End(**_read_json(path))
        except TypeError as problem:
            raise RecordingError(f"{path} is malformed ({problem}); delete it and open the recording again.") from None

    def write_end(self, end: End) -> None:
        """Keeps how the process ended; may raise OSError."""
        write_json(self.folder / END_FILE, {**vars(end)})
        (self.folder / WAITING_FILE).unlink(missing_ok=True)

    def state(self) -> RunState:
        """The run's state, from both writers' files: the engine's own word wins, then the launcher's."""
        facts = self.facts() if (self.folder / FACTS_FILE).exists() else None
        if facts is not None and facts.state != "running":
            return facts.state
        end = self.end()
        if end is not None:
            return "cancelled" if end.cancelled else "failed"
        if facts is not None:
            return "running" if _is_alive(facts.process_id, facts.started_unix_s) else "lost"
        return "running" if self._is_waited_for() else "lost"

    def _is_waited_for(self) -> bool:
        """Whether the process that made the folder still lives: it is to start the run."""
        if not (self.folder / WAITING_FILE).exists():
            return False
        waiting = _read_json(self.folder / WAITING_FILE)
        return _is_alive(waiting.get("process_id"), waiting.get("since_unix_s"))

    def failure(self) -> Failure | None:
        """What went wrong and where, or None for a run that did not fail."""
        state = self.state()
        if state in ("running", "finished"):
            return None
        facts = self.facts_so_far()
        if facts.failure is not None:
            return facts.failure
        end = self.end()
        stage = facts.stage or "start"
        if state == "cancelled":
            return Failure(stage=stage, kind="cancelled", message=f"Cancelled during {stage}.")
        if end is None and not facts.stage:
            return Failure(stage=stage, kind="crash", message="It never started: what was to start it has ended.")
        said = end.message if end and end.message else "The worker process disappeared."
        return Failure(stage=stage, kind="crash", message=f"{said} It was at stage {stage}; worker.log has its output.")

    def why_no_trace(self) -> str:
        """Why a recording without a trace has none, in a sentence or two."""
        failure = self.failure()
        if failure is not None:
            return f"This run stopped at {failure.stage} and has no trace: {failure.message}"
        if self.state() == "running":
            return "This run is still going on; its trace is written at the end."
        return f"This run finished, but its {self.trace_path.name} is gone. Run it again."


def open_recording(folder: Path, made_by: str = "explorer run --out") -> Recording:
    """The recording in `folder`; raises RecordingError, which names the command that makes one, when it is none."""
    if not (folder / SETTINGS_FILE).is_file():
        why = f"is not a recording: it has no {SETTINGS_FILE}" if folder.exists() else "does not exist"
        raise RecordingError(f"{folder} {why}. Make one with `{made_by} DIR`.")
    return Recording(folder)


def create_recording(folder: Path, settings: ExperimentSettings) -> Recording:
    """Makes the folder with its settings.json; raises RecordingError when it already holds a recording."""
    if (folder / SETTINGS_FILE).exists():
        raise RecordingError(f"{folder} already holds a recording; choose another folder or delete it first.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise RecordingError(
            f"Cannot make {folder}: {problem.strerror}. Choose a new folder where you may write."
        ) from None
    write_json(folder / SETTINGS_FILE, settings_to_json(settings))
    write_json(folder / WAITING_FILE, {"process_id": os.getpid(), "since_unix_s": time.time()})
    return Recording(folder)


def write_json(path: Path, fields: Mapping[str, Any]) -> None:
    """Writes a JSON file in one step: a reader sees the old content or the new, never half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    draft.write_text(json.dumps(fields, indent=1), encoding="utf-8")
    draft.replace(path)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecordingError(f"{path} is missing; the recording is incomplete.") from None
    except (ValueError, OSError) as problem:
        raise RecordingError(f"{path} cannot be read ({problem}); the recording is damaged.") from None
    if not isinstance(fields, dict):
        raise RecordingError(f"{path} holds {type(fields).__name__} where an object belongs; the recording is damaged.")
    return fields


def _is_alive(process_id: int | None, since_unix_s: float | None) -> bool:
    """Whether that process still lives: one that was born after `since_unix_s` only bears the same number."""
    if process_id is None:
        return False
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    born_unix_s = _born_unix_s(process_id)
    return born_unix_s is None or not since_unix_s or born_unix_s < since_unix_s + _CLOCK_SLACK_S


def _born_unix_s(process_id: int) -> float | None:
    """When a process was started, None where the system does not say (only Linux does, in /proc)."""
    try:
        ticks = int(Path(f"/proc/{process_id}/stat").read_text(errors="replace").rpartition(")")[2].split()[19])
        system = Path("/proc/stat").read_text(encoding="ascii").splitlines()
        boot = next(line for line in system if line.startswith("btime "))
    except (OSError, ValueError, IndexError, StopIteration):
        return None
    return float(boot.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
