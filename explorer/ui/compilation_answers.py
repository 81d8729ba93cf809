"""What has already been read for the Compilation page? Every experiment with shapes once a server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from explorer.analysis.compilation import compilation_report
from explorer.analysis.compilation_trace import compilation_trace_report
from explorer.errors import RecordingError
from explorer.recording import Recording
from explorer.report import Report
from explorer.shapes_results import ShapesResults, results_from_json
from explorer.shapes_settings import ShapesSettings
from explorer.ui.answers import trace_of
from explorer.ui.experiment_sources import ExperimentSource
from explorer.ui.sources import Source

_LIMIT = 24


@dataclass(frozen=True)
class OpenShapes:
    """An experiment that has been read."""

    settings: ShapesSettings
    results: ShapesResults
    report: Report


def open_shapes(source: ExperimentSource) -> OpenShapes:
    """The experiment behind a source; raises RecordingError when its files are missing or malformed."""
    return _open(str(source.folder), source.stamp)


def trace_answer(source: Source) -> Report:
    """What the run's trace shows of torch.compile; raises TraceError when it has none."""
    return compilation_trace_report(trace_of(source))


@st.cache_resource(show_spinner=False, max_entries=_LIMIT)
def _open(folder: str, stamp: str) -> OpenShapes:
    del stamp  # only part of the cache's key
    recording = Recording(Path(folder))
    settings = recording.experiment_settings()
    if not isinstance(settings, ShapesSettings):
        raise RecordingError(f"{recording.folder.name} is no experiment with shapes.")
    results = results_from_json(recording.results())
    return OpenShapes(settings, results, compilation_report(settings, results))
