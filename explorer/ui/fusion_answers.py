"""What has already been found out for the Fusion page? Every pair compared once, every gallery read once a server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from explorer.analysis.fusion import Fusion, fusion
from explorer.analysis.fusion_code import with_code
from explorer.analysis.fusion_gallery import gallery_groups
from explorer.analysis.fusion_gallery_map import gallery_map, ran_kernels
from explorer.analysis.fusion_kernels import StepKernels, step_kernels
from explorer.analysis.fusion_map import FusionMap
from explorer.analysis.pieces import devices_of
from explorer.analysis.windows import WindowKind
from explorer.errors import TraceError
from explorer.facts import Facts
from explorer.gallery_results import ExpressionResult, GalleryResults, results_from_json
from explorer.generated_code import GeneratedCode
from explorer.ingest import open_trace
from explorer.recording import Recording
from explorer.trace import Trace
from explorer.ui.answers import trace_of
from explorer.ui.experiment_sources import ExperimentSource
from explorer.ui.sources import Source

_LIMIT = 24


@dataclass(frozen=True)
class Pair:
    """Two sources put in order: `eager` ran fewer generated kernels than `compiled`, whose `code` may be recorded.

    `device_lines` names the device that is looked at of a side with several.
    """

    eager: Source
    compiled: Source
    answer: Fusion
    is_swapped: bool
    code: GeneratedCode | None
    device_lines: tuple[str, ...]

    @property
    def is_compiled(self) -> bool:
        """Whether either side ran a kernel that Inductor wrote."""
        kernels = [kernel for one in self.answer.folded for kernel in one.kernels("compiled")]
        return any(kernel.words is not None for kernel in kernels)


def open_pair(a: Source, b: Source, window: WindowKind) -> Pair:
    """The answer about two sources over that window.

    Raises TraceError where one has no trace or no work, RecordingError for damage.
    """
    step_a, step_b = _step_of(a, window), _step_of(b, window)
    is_swapped = step_a.generated_count > step_b.generated_count
    eager, compiled = (b, a) if is_swapped else (a, b)
    steps = (step_b, step_a) if is_swapped else (step_a, step_b)
    ceiling = _ceiling(eager.facts) or _ceiling(compiled.facts)
    code = _code(str(compiled.folder), compiled.stamp)
    answer = _fusion(f"{eager.stamp} {compiled.stamp} {window}", ceiling, code, *steps)
    lines = tuple(_device_line(letter, step) for letter, step in (("A", step_a), ("B", step_b)))
    return Pair(eager, compiled, answer, is_swapped, code, tuple(filter(None, lines)))


def _device_line(letter: str, step: StepKernels) -> str:
    count = len(devices_of(step.trace))
    return f"{letter} has {count} devices; its device {step.device} is shown." if count > 1 else ""


def _step_of(source: Source, window: WindowKind) -> StepKernels:
    step = _step(source.stamp, window, trace_of(source))
    if step is None:
        raise TraceError(f"{source.title} has neither GPU work nor operators, so there is no step to compare.")
    return step


def _ceiling(facts: Facts | None) -> float | None:
    """The copy bandwidth that the recording's own calibration measured: half reading, half writing, as fusion does."""
    return facts.calibration.copy_bandwidth_bytes_per_s if facts and facts.calibration else None


@dataclass(frozen=True)
class OpenGallery:
    """A gallery that has been read."""

    source: ExperimentSource
    facts: Facts
    results: GalleryResults


def open_gallery(source: ExperimentSource) -> OpenGallery:
    """The gallery behind a source; raises RecordingError when its files are missing or malformed."""
    facts, results = _gallery(str(source.folder), source.stamp)
    return OpenGallery(source, facts, results)


def expression_map(gallery: OpenGallery, result: ExpressionResult) -> FusionMap:
    """How one expression of the gallery flows into its kernels."""
    return _expression_map(str(gallery.source.folder), gallery.source.stamp, result.name, result)


@st.cache_resource(show_spinner=False, max_entries=_LIMIT)
def _expression_map(folder: str, stamp: str, name: str, _result: ExpressionResult) -> FusionMap:
    path = Recording(Path(folder)).trace_path
    ran = (
        [ran_kernels(_gallery_trace(str(path), stamp), name, side) for side in ("eager", "compiled")]
        if (path.is_file())
        else [[], []]
    )
    return gallery_map(_result, gallery_groups(_result), *ran)


@st.cache_resource(show_spinner=False, max_entries=_LIMIT)
def _gallery_trace(path: str, stamp: str) -> Trace:
    del stamp
    return open_trace(Path(path), is_polite=True)


@st.cache_resource(show_spinner=False, max_entries=_LIMIT)
def _step(stamp: str, window: WindowKind, _trace: Trace) -> StepKernels | None:
    del stamp  # only part of the cache's key
    return step_kernels(_trace, window)


@st.cache_resource(show_spinner="Matching kernels", max_entries=_LIMIT)
def _fusion(
    stamp: str, ceiling: float | None, _code: GeneratedCode | None, _eager: StepKernels, _compiled: StepKernels
) -> Fusion:
    del stamp
    return fusion(_eager, with_code(_compiled, _code) if _code else _compiled, ceiling)


@st.cache_resource(show_spinner=False, max_entries=_LIMIT)
def _code(folder: str, stamp: str) -> GeneratedCode | None:
    del stamp
    return Recording(Path(folder)).generated_code()


@st.cache_resource(show_spinner=False, max_entries=_LIMIT)
def _gallery(folder: str, stamp: str) -> tuple[Facts, GalleryResults]:
    del stamp
    recording = Recording(Path(folder))
    return recording.facts_so_far(), results_from_json(recording.results())
