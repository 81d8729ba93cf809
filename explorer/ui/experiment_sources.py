"""Which recordings of an experiment other than a run are there to look at?

Ids are those of `sources`: `sample:NAME`, `run:NAME` and `upload:HASH`, only ever looked up among what exists.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from explorer.errors import RecordingError
from explorer.experiments import ExperimentSettings
from explorer.facts import Facts, RunState
from explorer.recording import FACTS_FILE, RESULTS_FILE, SETTINGS_FILE, Recording
from explorer.ui.marking import marked
from explorer.ui.places import runs_folder, samples_folder, uploads_folder
from explorer.ui.sources import KIND_LABELS, SourceKind, experiment_of, recording_folders, session_uploads


@dataclass(frozen=True)
class ExperimentSource:
    """One recording; `problem` says why it cannot be opened, else it is empty."""

    source_id: str
    kind: SourceKind
    folder: Path
    settings: ExperimentSettings | None = None
    facts: Facts | None = None
    state: RunState | None = None
    problem: str = ""

    @property
    def title(self) -> str:
        """What was tried and on what: `attention probe · 81 calls · cuda, NVIDIA H200, bundled`."""
        name = marked(self.settings.title if self.settings else self.folder.name, self.facts)
        device = self.facts.environment.device_name if self.facts and self.facts.environment else ""
        return ", ".join(part for part in (name, device, KIND_LABELS[self.kind]) if part)

    @property
    def stamp(self) -> str:
        """Changes whenever the files behind it do; the key of everything cached about it."""
        paths = [self.folder / name for name in (SETTINGS_FILE, FACTS_FILE, RESULTS_FILE)]
        return " ".join(f"{path.stat().st_mtime_ns}.{path.stat().st_size}" if path.exists() else "-" for path in paths)


def experiment_sources(experiment: str) -> list[ExperimentSource]:
    """Bundled recordings, then a person's own, newest first, then this session's uploads."""
    folders: list[tuple[SourceKind, Path]] = [
        *(("sample", folder) for folder in recording_folders(samples_folder())),
        *(("run", folder) for folder in reversed(recording_folders(runs_folder()))),
        *(("upload", uploads_folder() / name) for name in session_uploads()),
    ]
    return [_read(kind, folder) for kind, folder in folders if experiment_of(folder) == experiment]


def find_experiment(source_id: str | None, sources: Iterable[ExperimentSource]) -> ExperimentSource | None:
    """The source with that id, or None."""
    return next((source for source in sources if source.source_id == source_id), None)


def _read(kind: SourceKind, folder: Path) -> ExperimentSource:
    source_id = f"{kind}:{folder.name}"
    recording = Recording(folder)
    try:
        settings = recording.experiment_settings()
        return ExperimentSource(source_id, kind, folder, settings, recording.facts_so_far(), recording.state())
    except RecordingError as problem:
        return ExperimentSource(source_id, kind, folder, problem=str(problem))
