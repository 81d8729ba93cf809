"""Are an expression's operators given to the kernels that Inductor names, and are ratios those of bytes and times?"""

from __future__ import annotations

import dataclasses

import pytest

from explorer.analysis.fusion_gallery import gallery_groups, gallery_headline, gallery_report
from explorer.facts import Calibration
from explorer.gallery_results import ExpressionResult, GeneratedKernel, GraphBreak, OperatorUse, SideResult

TENSOR = 8192 * 8192 * 2


def _use(name: str, reads: list[str], writes: list[str], line: int) -> OperatorUse:
    return OperatorUse(
        name=f"aten::{name}",
        reads=reads,
        writes=writes,
        read_bytes=TENSOR * len(reads),
        written_bytes=TENSOR * len(writes),
        is_view=False,
        line=line,
    )


def _sigmoid(kernels: list[GeneratedKernel]) -> ExpressionResult:
    return ExpressionResult(
        name="sigmoid_chain",
        title="sigmoid(x · scale + bias)",
        source="def f(x, scale, bias):\n    return torch.sigmoid(x * scale + bias)\n",
        operators=[
            _use("mul", ["x0", "x1"], ["t1"], 2),
            _use("add", ["t1", "x2"], ["t2"], 2),
            _use("sigmoid", ["t2"], ["out"], 2),
        ],
        temporary_count=2,
        temporary_bytes=2 * TENSOR,
        eager_bytes=8 * TENSOR,
        fused_bytes=4 * TENSOR,
        eager=SideResult(time_ns=257_000.0, spread_ns=100.0, error_ratio=2e-3),
        compiled=SideResult(time_ns=121_000.0, spread_ns=100.0, error_ratio=1e-3),
        kernels=kernels,
    )


ONE = [GeneratedKernel(name="triton_poi_fused_add_mul_sigmoid_0", operators=["mul", "add", "sigmoid"], lines=[2])]


def test_eight_tensors_become_four_and_the_measured_ratio_stands_beside() -> None:
    report = gallery_report(_sigmoid(ONE), Calibration(copy_bandwidth_bytes_per_s=4.5e12))
    assert report.value("predicted_ratio") == 2
    assert report.value("measured_ratio") == pytest.approx(257 / 121)
    assert report.value("achieved_a_ratio") == pytest.approx(8 * TENSOR / 257e-6 / 4.5e12)
    assert report.value("achieved_b_ratio") == pytest.approx(4 * TENSOR / 121e-6 / 4.5e12)
    assert report.value("error_growth_ratio") == pytest.approx(0.5)
    assert gallery_headline(_sigmoid(ONE), report) == (
        "3 operators became 1 kernel: 257 µs → 121 µs, ×2.12 where the traffic predicts ×2.00."
    )


def test_bytes_of_several_kernels_are_unknown_with_a_reason() -> None:
    two = [
        GeneratedKernel(name="extern_kernels.addmm", operators=["addmm"], lines=[2]),
        GeneratedKernel(name="triton_poi_fused_sigmoid_0", operators=["sigmoid"], lines=[2]),
    ]
    report = gallery_report(_sigmoid(two))
    assert report.value("fused_bytes") is None
    assert report.metric("fused_bytes").reason
    assert report.value("achieved_b_ratio") is None


def test_operators_that_the_names_do_not_decide_join_their_kernels() -> None:
    two = [
        GeneratedKernel(name="extern_kernels.addmm", operators=["addmm"], lines=[2]),
        GeneratedKernel(name="triton_poi_fused_sigmoid_0", operators=["sigmoid"], lines=[2]),
    ]
    (group,) = gallery_groups(_sigmoid(two))
    assert len(group.operators) == 3
    assert len(group.kernels) == 2


def test_names_decide_between_kernels_of_one_line() -> None:
    two = [
        GeneratedKernel(name="triton_poi_fused_add_mul_0", operators=["mul", "add"], lines=[2]),
        GeneratedKernel(name="triton_poi_fused_sigmoid_1", operators=["sigmoid"], lines=[2]),
    ]
    groups = gallery_groups(_sigmoid(two))
    assert [[one.name for one in group.operators] for group in groups] == [
        ["aten::mul", "aten::add"],
        ["aten::sigmoid"],
    ]


def test_operators_outside_every_kernel_stay_on_their_own() -> None:
    elsewhere = [GeneratedKernel(name="triton_poi_fused_cos_0", operators=["cos"], lines=[7])]
    groups = gallery_groups(_sigmoid(elsewhere))
    assert [(len(group.operators), len(group.kernels)) for group in groups] == [(0, 1), (1, 0), (1, 0), (1, 0)]


def test_a_name_tells_where_the_compiler_kept_another_line() -> None:
    elsewhere = [GeneratedKernel(name="triton_poi_fused_add_mul_0", operators=["mul", "add"], lines=[7])]
    groups = gallery_groups(_sigmoid(elsewhere))
    assert [(len(group.operators), len(group.kernels)) for group in groups] == [(2, 1), (1, 0)]


def test_the_only_kernel_of_an_unbroken_graph_holds_all_operators() -> None:
    result = dataclasses.replace(
        _sigmoid([GeneratedKernel(name="triton_poi_fused_cos_0", operators=["cos"], lines=[7])]), graph_count=1
    )
    (group,) = gallery_groups(result)
    assert len(group.operators) == 3


def test_a_read_by_the_host_is_in_no_kernel() -> None:
    read = OperatorUse(
        name="aten::_local_scalar_dense", reads=["t1"], writes=[], read_bytes=2, written_bytes=0, is_view=False, line=2
    )
    groups = gallery_groups(dataclasses.replace(_sigmoid(ONE), operators=[read], graph_count=2))
    assert [(len(group.operators), len(group.kernels)) for group in groups] == [(0, 1), (1, 0)]


def test_slower_and_broken_are_said() -> None:
    slow = ExpressionResult(
        name="item_break",
        title="graph break",
        source="",
        operators=[_use("mul", ["x0"], ["out"], 2)],
        eager_bytes=2 * TENSOR,
        fused_bytes=2 * TENSOR,
        eager=SideResult(time_ns=100.0, spread_ns=1.0),
        compiled=SideResult(time_ns=150.0, spread_ns=1.0),
        kernels=ONE,
        graph_breaks=[GraphBreak(reason="Unsupported Tensor.item() call\n  more", place="f.py, line 3", line=3)],
    )
    report = gallery_report(slow)
    assert "(slower)" in gallery_headline(slow, report)
    assert report.notes == ("The graph breaks at f.py, line 3: Unsupported Tensor.item() call.",)


def test_views_run_no_kernel() -> None:
    views = ExpressionResult(name="view_chain", title="view chain", source="")
    assert gallery_groups(views) == []
    assert "no kernel at all" in gallery_headline(views, gallery_report(views))
