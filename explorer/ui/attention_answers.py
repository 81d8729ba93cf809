"""What has already been read for the Attention page? Every probe once a server, and the matrix in the chart's shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from explorer.analysis.attention import attention_report, enabling_sentence, short_words
from explorer.analysis.attention_choice import SDPA_BACKENDS, is_slower_choice, rates_of, slowness
from explorer.attention_names import BACKEND_LABELS
from explorer.charts.attention import MatrixCell, MatrixRow
from explorer.facts import Facts
from explorer.probe_results import PROBE_BACKENDS, CallResult, Cell, ProbeResults, results_from_json
from explorer.recording import Recording
from explorer.report import Report
from explorer.ui.experiment_sources import ExperimentSource
from explorer.units import text

_LIMIT = 24


@dataclass(frozen=True)
class OpenProbe:
    """A probe that has been read."""

    source: ExperimentSource
    facts: Facts
    results: ProbeResults
    report: Report

    @property
    def on_cpu(self) -> bool:
        return "cudnn" not in self.results.build_backends

    @property
    def columns(self) -> tuple[str, ...]:
        """The backends that the probe asked, in order."""
        asked = {cell.backend for result in self.results.calls for cell in result.cells}
        return tuple(backend for backend in PROBE_BACKENDS if backend in asked)

    @property
    def machine(self) -> str:
        """`NVIDIA H200, torch 2.11.0+cu130, cuDNN 9.19.0`."""
        environment = self.facts.environment
        if environment is None:
            return "an unknown machine"
        cudnn = f", cuDNN {environment.cudnn_version}" if environment.cudnn_version else ""
        return f"{environment.device_name}, torch {environment.torch_version}{cudnn}"

    def result(self, label: str | None) -> CallResult | None:
        return next((result for result in self.results.calls if result.call.label == label), None)


def open_probe(source: ExperimentSource) -> OpenProbe:
    """The probe behind a source; raises RecordingError when its files are missing or malformed."""
    return _open(str(source.folder), source.stamp, source)


@st.cache_resource(show_spinner=False, max_entries=_LIMIT)
def _open(folder: str, stamp: str, _source: ExperimentSource) -> OpenProbe:
    del stamp  # only part of the cache's key
    recording = Recording(Path(folder))
    facts, results = recording.facts(), results_from_json(recording.results())
    return OpenProbe(_source, facts, results, attention_report(results, facts))


def matrix_rows(probe: OpenProbe, shown: Sequence[CallResult]) -> list[MatrixRow]:
    """The rows of the matrix for some of a probe's calls."""
    return [
        MatrixRow(
            result.call.label,
            result.call.label,
            result.call.sentence,
            tuple(_matrix_cell(probe, result, backend) for backend in probe.columns),
        )
        for result in shown
    ]


def _matrix_cell(probe: OpenProbe, result: CallResult, backend: str) -> MatrixCell | None:
    cell = result.cell(backend)
    if cell is None:
        return None
    ratio, is_chosen = slowness(result, cell), result.chosen == backend
    star = is_chosen and is_slower_choice(result)
    return MatrixCell(short_words(result.call, cell), _hover(probe, result, cell, ratio), ratio, is_chosen, star)


def _hover(probe: OpenProbe, result: CallResult, cell: Cell, ratio: float | None) -> str:
    name = BACKEND_LABELS[cell.backend]
    head = f"<b>{name}</b>, chosen by PyTorch" if result.chosen == cell.backend else f"<b>{name}</b>"
    if ratio is None:
        lines = [head, _plain(cell.reason)]
        if cell.outcome == "refused" and cell.backend in SDPA_BACKENDS:
            lines.append(f"possible with: {_plain(enabling_sentence(cell))}")
        return "<br>".join(lines)
    rates = rates_of(result, cell, probe.results, probe.facts)
    lines = [
        head,
        f"{text(cell.time_ns, 'ns')} on the device, ±{text(cell.spread_ns, 'ns')}, {text(ratio, 'times')} the fastest",
        f"{text(cell.host_call_ns, 'ns')} on the host, {text(cell.first_call_ns, 'ns')} at its first call",
        f"{text(rates.flops_per_s, 'flops_per_s')} ({text(rates.flops_ratio, 'ratio')}), "
        f"{text(rates.bytes_per_s, 'bytes_per_s')} ({text(rates.bytes_ratio, 'ratio')} of the ceilings)",
    ]
    return "<br>".join(lines)


def _plain(words: str) -> str:
    """Text that Plotly does not read as HTML."""
    return words.replace("&", "&amp;").replace("<", "&lt;")
