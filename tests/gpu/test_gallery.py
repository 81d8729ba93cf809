"""Does fusing a pointwise chain save on a GPU what its traffic predicts, at the memory's speed on both sides?"""

from __future__ import annotations

import pytest

from explorer.analysis.fusion_gallery import gallery_report
from explorer.gallery_results import ExpressionResult, results_from_json
from explorer.gallery_settings import GallerySettings
from explorer.ingest import read_trace
from explorer.recording import Recording, create_recording
from explorer.trace import Trace, values, values_or
from tests.gpu.conftest import run_engine

pytestmark = pytest.mark.gpu

NAMES = ("sigmoid_chain", "residual_rms_norm", "item_break", "view_chain")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    settings = GallerySettings(device="cuda", dtype="bfloat16", row_count=8192, hidden_size=8192, expressions=NAMES)
    made = create_recording(tmp_path_factory.mktemp("gallery"), settings)
    assert run_engine(made.folder) == 0, made.log_path.read_text(encoding="utf-8")
    return made


def _result(recording: Recording, name: str) -> ExpressionResult:
    result = results_from_json(recording.results()).expression(name)
    assert result is not None
    assert not result.failure
    return result


def _kernel_count(trace: Trace, mark: str) -> int:
    """Pieces of GPU work launched inside the annotation of that name."""
    row = trace.annotations["name"].to_pylist().index(mark)
    start, end = (values(trace.annotations, edge)[row] for edge in ("start_ns", "end_ns"))
    calls = values_or(trace.work, "call_row", -1)
    launched = values(trace.calls, "start_ns")[calls[calls >= 0]]
    return int(((launched >= start) & (launched < end)).sum())


def test_sigmoid_chain_halves_its_traffic_and_its_time(recording: Recording) -> None:
    report = gallery_report(_result(recording, "sigmoid_chain"), recording.facts().calibration)
    assert report.value("predicted_ratio") == 2
    measured, achieved = report.value("measured_ratio"), [report.value(f"achieved_{side}_ratio") for side in ("a", "b")]
    assert measured is not None
    assert 1.9 <= measured <= 2.2
    assert min(share or 0 for share in achieved) > 0.85


def test_the_profiler_sees_three_kernels_become_one(recording: Recording) -> None:
    trace = read_trace(recording.trace_path)
    assert _kernel_count(trace, "gallery#sigmoid_chain/eager#0") == 3
    assert _kernel_count(trace, "gallery#sigmoid_chain/compiled#0") == 1
    assert _kernel_count(trace, "gallery#residual_rms_norm/compiled#0") == 1
    assert _kernel_count(trace, "gallery#view_chain/eager#0") == 0


def test_triton_code_and_provenance_are_kept(recording: Recording) -> None:
    (kernel,) = _result(recording, "sigmoid_chain").kernels
    assert kernel.name.startswith("triton_")
    assert "tl.sigmoid" in kernel.code
    assert set(kernel.operators) >= {"mul", "add", "sigmoid"}
    assert kernel.lines == [2]


def test_item_breaks_its_graph(recording: Recording) -> None:
    assert len(_result(recording, "item_break").graph_breaks) == 1
