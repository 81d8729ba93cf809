"""Is each compiled kernel given the right call of the generated program, and a match certain only when proven?"""

from __future__ import annotations

from dataclasses import replace

from explorer.analysis.fusion_code import texts_of, with_code
from explorer.analysis.fusion_groups import match_groups, named_kernels, proven
from explorer.analysis.fusion_kernels import HeldOperator, Kernel, StepKernels
from explorer.generated_code import GeneratedCode, KernelCall, KernelText, OperatorSource, SourceLine
from explorer.spans import NO_ROW
from tests.reading import trace_of_events

LINES = [
    SourceLine(file="model.py", line=156, function="forward", text="self.mlp(x)"),
    SourceLine(file="model.py", line=140, function="forward", text="silu(gate) * up", caller_index=0),
]


def _text(name: str, graph_index: int = 0, file: str = "") -> KernelText:
    return KernelText(name=name, traced_name=name, graph_index=graph_index, code="", file=file)


def _call(name: str, *operators: str, graph_index: int = 0) -> KernelCall:
    uses = [OperatorSource(operator=f"aten::{operator}", line_index=1) for operator in operators]
    return KernelCall(name=name, graph_index=graph_index, uses=uses)


def _kernel(name: str, row: int = NO_ROW, *, operators: tuple[str, ...] = (), file: str = "") -> Kernel:
    return Kernel(
        name=name,
        family="matmul" if "mm" in operators else "elementwise",
        operators=operators,
        operator_row=row,
        call_row=NO_ROW,
        dims="",
        words=name if name.startswith("triton") else None,
        layer=None,
        time_ns=5,
        gap_ns=0,
        overlap_ns=0,
        file=file,
    )


def _step(*kernels: Kernel) -> StepKernels:
    return StepKernels(trace_of_events([]), "step", kernels, 0, 0, "0", False)


def _words(step: StepKernels) -> list[list[str]]:
    return [[held.word for held in kernel.held] for kernel in step.kernels]


def test_the_second_run_of_a_kernel_is_its_second_call() -> None:
    code = GeneratedCode(
        kernels=[_text("triton_f_0")],
        calls=[_call("triton_f_0", "mul"), _call("triton_f_0", "add")],
        lines=LINES,
    )
    step = with_code(_step(*[_kernel("triton_f_0")] * 2), code)
    assert _words(step) == [["mul"], ["add"]]
    assert step.kernels[0].held == (HeldOperator("mul", LINES[1], LINES[0]),)


def test_a_program_that_layers_share_starts_again_and_a_count_that_fits_nothing_takes_all() -> None:
    code = GeneratedCode(
        kernels=[_text("triton_f_0")],
        calls=[_call("triton_f_0", "mul"), _call("triton_f_0", "add")],
        lines=LINES,
    )
    assert _words(with_code(_step(*[_kernel("triton_f_0")] * 4), code)) == [["mul"], ["add"], ["mul"], ["add"]]
    assert _words(with_code(_step(*[_kernel("triton_f_0")] * 3), code)) == [["mul", "add"]] * 3


def test_views_are_not_held_for_nothing_runs_for_them() -> None:
    code = GeneratedCode(kernels=[_text("triton_f_0")], calls=[_call("triton_f_0", "_unsafe_view", "mul")], lines=LINES)
    assert _words(with_code(_step(_kernel("triton_f_0")), code)) == [["mul"]]


def test_graphs_that_share_a_kernels_name_are_told_apart_by_its_file() -> None:
    code = GeneratedCode(
        kernels=[_text("triton_f_0", 0, "ca.py"), _text("triton_f_0", 1, "cb.py")],
        calls=[_call("triton_f_0", "mul"), _call("triton_f_0", "add", graph_index=1)],
        lines=LINES,
    )
    known, unknown = _kernel("triton_f_0", file="cb.py"), _kernel("triton_f_0")
    assert [text.graph_index for text in texts_of(known, code)] == [1]
    assert [text.graph_index for text in texts_of(unknown, code)] == [0, 1]
    assert _words(with_code(_step(known), code)) == [["add"]]


def test_library_calls_follow_the_order_of_their_operators_and_hold_only_themselves() -> None:
    code = GeneratedCode(
        kernels=[],
        calls=[_call("extern_kernels.mm", "mul", "mm"), _call("torch.ops.aten._sdpa", "mul", "_sdpa")],
        lines=LINES,
    )
    product, reduction = _kernel("nvjet", 3, operators=("mm",)), _kernel("splitK", 3, operators=("mm",))
    attention, copy = _kernel("flash", 5, operators=("sdpa",)), _kernel("copy", 4, operators=("copy",))
    step = with_code(_step(product, reduction, copy, attention), code)
    assert _words(step) == [["mm"], ["mm"], [], ["sdpa"]]
    swapped = with_code(_step(replace(attention, operator_row=1), product), code)
    assert _words(swapped) == [[], []]


def test_library_calls_of_a_replay_follow_the_order_of_their_families() -> None:
    code = GeneratedCode(
        kernels=[_text("triton_f_0")],
        calls=[
            _call("extern_kernels.mm", "mm"),
            _call("triton_f_0", "mul"),
            _call("torch.ops.aten._attention", "_attention"),
        ],
        lines=LINES,
    )
    product, reduction = (replace(_kernel(name), family="matmul") for name in ("nvjet", "splitKreduce_kernel"))
    attention, filled = replace(_kernel("flash"), family="attention"), replace(_kernel("Memset"), family="memory")
    step = with_code(_step(filled, product, reduction, _kernel("triton_f_0"), attention), code)
    assert _words(step) == [[], ["mm"], ["mm"], ["mul"], ["attention"]]
    other = with_code(_step(attention, _kernel("triton_f_0"), product), code)
    assert _words(other) == [[], ["mul"], []]


def test_a_match_is_certain_where_the_compiler_names_every_eager_operator() -> None:
    held = (HeldOperator("mul"), HeldOperator("silu"))
    fused = replace(_kernel("triton_f_0"), held=held, words="mul_silu")
    eager = [_kernel("k", operators=("silu",)), _kernel("k", operators=("mul",))]
    (group,) = proven(match_groups(eager, [fused]))
    assert group.match == "certain"
    assert named_kernels(group) == eager
    (unproven,) = proven(match_groups([*eager, _kernel("k", operators=("sort",))], [fused]))
    assert unproven.match == "by_name"
    (by_name,) = proven(match_groups(eager, [replace(fused, held=())]))
    assert by_name.match == "by_name"
