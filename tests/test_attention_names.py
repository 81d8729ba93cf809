"""Is every attention backend told from its kernels' and operators' names, NVIDIA's and AMD's?"""

from __future__ import annotations

import pytest

from explorer.attention_names import BACKEND_LABELS, backend_of_name, backend_that_ran


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        ("void pytorch_flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128>>", "flash"),
        ("void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<...>>", "flash"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "flash"),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_6_64x128x128_4x1x1_kernel0_0", "cudnn"),
        ("fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<...>)", "efficient"),
        ("aten::_scaled_dot_product_efficient_attention", "efficient"),
        ("void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>", "math"),
        ("aten::_scaled_dot_product_attention_math", "math"),
        ("triton_tem_fused_flex_attention_0", "flex"),
        ("void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<...>>>", "flash3"),
        ("void flashinfer::BatchPrefillWithPagedKVCacheKernel<...>", "flashinfer"),
        ("BatchDecodeWithPagedKVCacheKernel", "flashinfer"),
        ("void flashinfer::VariableLengthMergeStatesKernel<...>", "flashinfer"),
        ("void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*)", None),
        ("void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &silu>", None),
        ("flash_fwd_splitkv_mla_kernel", "flashmla"),
        ("fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausal", "trtllm"),
        ("kernel_unified_attention_3d", "triton"),
        ("_fwd_grouped_kernel_stage1", "triton"),
        ("void vllm::paged_attention_v2_kernel<...>", "paged"),
        ("attn_fwd", "aotriton"),
        ("void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<...>>", "ck"),
        ("aiter::fmha_fwd_hd128_bf16_causal", "aiter"),
        ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", None),
        ("vectorized_elementwise_kernel", None),
    ],
)
def test_backend_is_told_from_the_name(name: str, backend: str | None) -> None:
    assert backend_of_name(name) == backend
    assert backend is None or backend in BACKEND_LABELS


def test_a_softmax_tells_of_math_only_where_nothing_tells_more() -> None:
    assert backend_that_ran(["gemm", "softmax_warp_forward"]) == "math"
    assert backend_that_ran(["softmax_warp_forward", "pytorch_flash::flash_fwd_kernel"]) == "flash"
    assert backend_that_ran(["gemm"]) is None
