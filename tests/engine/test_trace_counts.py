"""Is every piece of work counted in the step that launched it, and every attention kernel recognised?"""

from __future__ import annotations

from typing import Any

import pytest

from explorer.attention_names import backend_of_name
from explorer.engine.trace_counts import count_trace

FLASH = "void pytorch_flash::flash_fwd_splitkv_kernel<...>"


def event(category: str, name: str, start: float, duration: float, correlation: int | None = None) -> dict[str, Any]:
    args = {} if correlation is None else {"correlation": correlation}
    return {"ph": "X", "cat": category, "name": name, "ts": start, "dur": duration, "tid": 1, "args": args}


def test_work_belongs_to_the_step_that_launched_it() -> None:
    events = [
        event("user_annotation", "step#0", 0, 10),
        event("user_annotation", "step#1", 20, 10),
        event("cuda_runtime", "cudaLaunchKernel", 8, 1, 1),
        event("cuda_runtime", "cudaLaunchKernel", 21, 1, 2),
        event("cuda_runtime", "cudaLaunchKernel", 15, 1, 3),
        event("kernel", FLASH, 22, 1, 1),  # runs while the host is in the next step
        event("kernel", "gemm", 24, 1, 2),
        event("kernel", "softmax outside of every step", 26, 1, 3),
    ]
    counts = count_trace(events)
    assert counts.step_counts == [1, 1]
    assert counts.plain_count is None
    assert counts.attention_kernels == [FLASH]


def test_all_kernels_of_a_graph_launch_count_where_it_was_launched() -> None:
    kernels = [event("kernel", f"k{index}", 5 + index, 1, 7) for index in range(4)]
    launches = [event("cuda_runtime", "cudaGraphLaunch", 1, 1, 7), event("cuda_runtime", "cudaLaunchKernel", 31, 1, 8)]
    steps = [event("user_annotation", "step#0", 0, 3), event("user_annotation", "plain#0", 30, 9)]
    counts = count_trace([*steps, *launches, *kernels, event("kernel", "k0", 33, 1, 8)])
    assert counts.step_counts == [4]
    assert counts.plain_count == 1


def test_innermost_operators_stand_in_for_kernels_without_a_gpu() -> None:
    counts = count_trace(
        [
            event("user_annotation", "step#0", 0, 30),
            event("cpu_op", "aten::linear", 1, 8),
            event("cpu_op", "aten::mm", 2, 6),
            event("cpu_op", "aten::_scaled_dot_product_flash_attention_for_cpu", 10, 5),
            event("cpu_op", "aten::empty", 11, 1),
        ]
    )
    assert counts.step_counts == [2]
    assert counts.attention_kernels == ["aten::_scaled_dot_product_flash_attention_for_cpu"]


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        (FLASH, "flash"),
        ("cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_35", "cudnn"),
        ("void cudnn::fusion::lean_reduction_kernel<false, false, false>", "cudnn"),
        ("fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<...>)", "efficient"),
        ("void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false>", "math"),
        ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", None),
    ],
)
def test_backend_is_told_from_the_kernel_name(name: str, backend: str | None) -> None:
    assert backend_of_name(name) == backend
