"""Does the map lead from source lines over operators and eager kernels to the kernels that hold them?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.analysis.fusion import fusion
from explorer.analysis.fusion_folding import FoldedGroup
from explorer.analysis.fusion_gallery import gallery_groups
from explorer.analysis.fusion_gallery_map import gallery_map, ran_kernels
from explorer.analysis.fusion_groups import Group
from explorer.analysis.fusion_kernels import HeldOperator, Kernel, step_kernels
from explorer.analysis.fusion_map import FusionMap, model_map
from explorer.analysis.fusion_names import kernel_label
from explorer.gallery_results import ExpressionResult, results_from_json
from explorer.generated_code import SourceLine
from explorer.recording import Recording
from explorer.spans import NO_ROW
from explorer.trace import Trace

SAMPLES = Path(__file__).parents[2] / "traces" / "samples"
GALLERY = Recording(SAMPLES / "h200-gallery")
Read = Callable[[Path], Trace]
LINE = SourceLine(file="model.py", line=140, function="forward", text="silu(gate) * up")


def _kernel(name: str, word: str, time_ns: int, **fields: object) -> Kernel:
    kernel = Kernel(
        name=name,
        family="elementwise",
        operators=(word,),
        operator_row=NO_ROW,
        call_row=NO_ROW,
        dims="",
        words=None,
        layer=0,
        time_ns=time_ns,
        gap_ns=0,
        overlap_ns=0,
    )
    return replace(kernel, **fields)  # type: ignore[arg-type]


def _swiglu(silu_ns: int) -> Group:
    held = (HeldOperator("silu", LINE), HeldOperator("mul", LINE))
    eager = (_kernel("vectorized_elementwise_kernel<4>", "silu", silu_ns), _kernel("elementwise_kernel<4>", "mul", 4))
    fused = _kernel("triton_poi_fused_mul_silu_0", "triton", 3, words="mul_silu", held=held)
    return Group("SwiGLU", "certain", eager, (fused,))


def _joined(drawn: FusionMap) -> list[tuple[str, str]]:
    return [(drawn.boxes[join.source].label, drawn.boxes[join.target].label) for join in drawn.joins]


def test_layers_are_folded_into_means_with_their_extremes() -> None:
    drawn = model_map([FoldedGroup((_swiglu(2), _swiglu(6), _swiglu(7)))])
    silu = next(box for box in drawn.boxes if box.label == "silu")
    assert silu.times is not None
    assert (silu.times.mean_ns, silu.times.least_ns, silu.times.most_ns) == (5, 2, 7)
    assert silu.times.folded == "layer 0"  # all drawn kernels lie in the same one
    assert drawn.columns == ["line", "operator", "eager", "compiled"]
    assert _joined(drawn) == [
        ("silu(gate) * up", "silu"),
        ("silu", "vectorized_elementwise"),
        ("vectorized_elementwise", "triton_poi_fused_mul_silu_0"),
        ("silu(gate) * up", "mul"),
        ("mul", "elementwise"),
        ("elementwise", "triton_poi_fused_mul_silu_0"),
    ]


def test_without_generated_code_there_are_no_lines_and_names_decide() -> None:
    group = _swiglu(2)
    plain = replace(group, match="by_name", compiled=tuple(replace(kernel, held=()) for kernel in group.compiled))
    drawn = model_map([FoldedGroup((plain,))])
    assert drawn.columns == ["operator", "eager", "compiled"]
    assert ("elementwise", "triton_poi_fused_mul_silu_0") in _joined(drawn)
    assert {join.match for join in drawn.joins} == {"by_name"}


def test_unmatched_kernels_are_joined_with_nothing_on_the_other_side() -> None:
    drawn = model_map([FoldedGroup((replace(_swiglu(2), match="unmatched"),))])
    assert not [join for join in drawn.joins if drawn.boxes[join.target].column == "compiled"]


def test_time_that_flows_into_compiled_kernels_is_all_named_eager_time() -> None:
    drawn = model_map([FoldedGroup((_swiglu(2), _swiglu(6)))])
    into = sum(join.time_ns for join in drawn.joins if drawn.boxes[join.target].column == "compiled")
    assert into == pytest.approx(8)


def test_the_bundled_pairs_layer_has_every_kernel_once(read: Read) -> None:
    steps = [step_kernels(read(SAMPLES / name / "trace.json.gz")) for name in ("h200-eager", "h200-compile")]
    assert steps[0] is not None
    assert steps[1] is not None
    folded = fusion(steps[0], steps[1]).folded
    drawn = model_map(folded)
    for column, side in (("eager", "eager"), ("compiled", "compiled")):
        shown = sum(box.count for box in drawn.boxes if box.column == column)
        assert shown == sum(len(getattr(one.members[len(one.members) // 2], side)) for one in folded)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("void at::native::vectorized_elementwise_kernel<4, Add<float> >(int)", "vectorized_elementwise_kernel"),
        ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, 2>(float*)", "CatArrayBatchedCopy"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_bf16>(Params)", "cutlass_80_tensorop_bf16"),
        ("nvjet_sm90_tst_64x8_64x16_v_bz_TNT", "nvjet_sm90_tst_64x8_64x16_v_bz_TNT"),
        ("triton_poi_fused_mul_silu_0", "triton_poi_fused_mul_silu_0"),
    ],
)  # fmt: skip
def test_kernels_are_called_by_their_own_name(name: str, label: str) -> None:
    assert kernel_label(name) == label


def _expression(name: str) -> ExpressionResult:
    result = results_from_json(GALLERY.results()).expression(name)
    assert result is not None
    return result


def _gallery_map(read: Read, name: str) -> FusionMap:
    trace, result = read(GALLERY.trace_path), _expression(name)
    sides = [ran_kernels(trace, name, side) for side in ("eager", "compiled")]
    return gallery_map(result, gallery_groups(result), *sides)


def test_an_expressions_operators_lead_over_the_kernels_that_really_ran(read: Read) -> None:
    drawn = _gallery_map(read, "sigmoid_chain")
    assert drawn.columns == ["line", "operator", "eager", "compiled"]
    fused = "triton_poi_fused_add_mul_sigmoid_0"
    source = "return torch.sigmoid(x_RH * scale_RH + bias_RH)"
    labels = _joined(drawn)
    assert [pair for pair in labels if pair[0] == source] == [(source, "mul"), (source, "add"), (source, "sigmoid")]
    assert len([pair for pair in labels if pair[1] == fused]) == 3
    eager = [box for box in drawn.boxes if box.column == "eager"]
    assert all(box.times is not None and box.times.mean_ns > 50_000 for box in eager)


@pytest.mark.parametrize("name", ["residual_rms_norm", "head_norm_rotary", "softmax", "layout_copy", "cast_chain"])
def test_every_eager_kernel_of_an_expression_finds_its_operator(read: Read, name: str) -> None:
    ran = ran_kernels(read(GALLERY.trace_path), name, "eager")
    drawn = _gallery_map(read, name)
    assert len([box for box in drawn.boxes if box.column == "eager"]) == len(ran) > 0


def test_without_a_trace_operators_lead_straight_to_the_compiled_kernel() -> None:
    result = _expression("sigmoid_chain")
    drawn = gallery_map(result, gallery_groups(result), [], [])
    assert drawn.columns == ["line", "operator", "compiled"]
    assert len(drawn.joins) == 6
