"""Does the gallery that was recorded on an H200 hold what was asked of fusion there?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.analysis.fusion_gallery import gallery_groups, gallery_headline, gallery_report, traffic_finding
from explorer.gallery_results import ExpressionResult, GalleryResults, results_from_json
from explorer.gallery_settings import EXPRESSION_TITLES
from explorer.recording import Recording
from explorer.report import Report
from explorer.trace import Trace, values, values_or

RECORDING = Recording(Path(__file__).parents[2] / "traces" / "samples" / "h200-gallery")
TENSOR_BYTES = 8192 * 8192 * 2
Read = Callable[[Path], Trace]


@pytest.fixture(scope="module")
def results() -> GalleryResults:
    return results_from_json(RECORDING.results())


def _result(results: GalleryResults, name: str) -> ExpressionResult:
    result = results.expression(name)
    assert result is not None
    return result


def _report(result: ExpressionResult) -> Report:
    return gallery_report(result, RECORDING.facts().calibration)


def _kernel_count(trace: Trace, mark: str) -> int:
    """Pieces of GPU work launched inside the annotation of that name."""
    row = trace.annotations["name"].to_pylist().index(mark)
    start, end = (values(trace.annotations, edge)[row] for edge in ("start_ns", "end_ns"))
    calls = values_or(trace.work, "call_row", -1)
    launched = values(trace.calls, "start_ns")[calls[calls >= 0]]
    return int(((launched >= start) & (launched < end)).sum())


def test_all_expressions_were_measured_to_their_end(results: GalleryResults) -> None:
    assert [one.name for one in results.expressions] == list(EXPRESSION_TITLES)
    assert not [one.failure for one in results.expressions if one.failure]
    assert RECORDING.facts().state == "finished"


def test_sigmoid_chain_halves_its_traffic_and_its_time_at_the_memorys_speed(results: GalleryResults) -> None:
    result = _result(results, "sigmoid_chain")
    report = _report(result)
    assert (report.value("operator_count"), report.value("kernel_count")) == (3, 1)
    assert (result.temporary_count, result.temporary_bytes) == (2, 2 * TENSOR_BYTES)
    assert (result.eager_bytes, result.fused_bytes) == (8 * TENSOR_BYTES, 4 * TENSOR_BYTES)
    assert report.value("predicted_ratio") == 2
    measured, achieved = report.value("measured_ratio"), [report.value(f"achieved_{side}_ratio") for side in ("a", "b")]
    assert measured is not None
    assert 1.9 <= measured <= 2.2
    assert min(share or 0 for share in achieved) > 0.85


def test_traffic_of_eight_tensors_became_four_with_both_ratios_beside_each_other(results: GalleryResults) -> None:
    result = _result(results, "sigmoid_chain")
    assert traffic_finding(result, _report(result)) == (
        "8 tensors' worth of traffic became 4: ×2.00 predicted from the bytes, ×2.04 measured in time. "
        "2 temporaries of the eager side, 256 MiB; peak above the inputs 256 MiB → 128 MiB."
    )
    several = _result(results, "item_break")
    assert traffic_finding(several, _report(several)).startswith("Eager code reads and writes ")


def test_the_profiler_saw_the_same_kernels(read: Read) -> None:
    trace = read(RECORDING.trace_path)
    counts = {
        mark: _kernel_count(trace, f"gallery#{mark}#0")
        for mark in ("sigmoid_chain/eager", "sigmoid_chain/compiled", "residual_rms_norm/compiled", "view_chain/eager")
    }
    assert list(counts.values()) == [3, 1, 1, 0]


def test_kernels_are_tied_to_source_lines_by_inductors_own_word(results: GalleryResults) -> None:
    (group,) = gallery_groups(_result(results, "residual_rms_norm"))
    assert len(group.operators) == 7
    (kernel,) = group.kernels
    assert kernel.lines == [2, 3, 4]
    assert kernel.code.startswith("triton_red_fused_")


def test_only_the_read_by_the_host_stays_outside_of_kernels(results: GalleryResults) -> None:
    outside = {
        operator.name
        for result in results.expressions
        for group in gallery_groups(result)
        for operator in group.operators
        if not group.kernels
    }
    assert outside == {"aten::_local_scalar_dense"}


def test_the_break_says_where_and_views_run_nothing(results: GalleryResults) -> None:
    (broken,) = _result(results, "item_break").graph_breaks
    assert (broken.line, broken.place) == (3, "gallery_expressions.py, line 73")
    views = _result(results, "view_chain")
    assert not views.kernels
    assert "no kernel at all" in gallery_headline(views, _report(views))


def test_a_branch_that_became_slower_is_said_to_be_slower(results: GalleryResults) -> None:
    result = _result(results, "branch")
    assert "(slower)" in gallery_headline(result, _report(result))
