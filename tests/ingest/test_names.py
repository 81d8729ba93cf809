"""Do names tell families, kinds of calls and marks, and are odd ones made readable?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.analysis.kernels import kernel_report
from explorer.ingest.calls import call_kind
from explorer.ingest.families import kernel_family, operator_family
from explorer.ingest.hosts import is_compile_event
from explorer.ingest.marks import Mark, mark_of, step_source
from explorer.ingest.words import readable
from explorer.trace import Trace
from tests.shared import needs_shared, shared_traces

_KERNELS = {
    "communication": (
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "rcclGenericKernel",
        "void sglang::cross_device_reduce_1stage_all_reduce<float>",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, vllm::RankSignals)",
        "nvshmem_barrier",
        "hcom_allReduce_",
        "two_shot_reduce_scatter_kernel",
    ),
    "attention": (
        "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>>",
        "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_7",
        "fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention)",
        "void flashinfer::BatchDecodeWithPagedKVCacheKernel<true>",
        "void flashinfer::VariableLengthMergeStatesKernel<8u, __nv_bfloat16>",
        "void flashinfer::PODWithKVCacheTensorKernel<flashinfer::KernelTraits<>>",
        "attn_fwd",
        "_fwd_kernel",
        "chunk_gated_delta_rule_fwd_kernel_h_blockdim64",
        "void vllm::paged_attention_v2_kernel<float>",
        "_fwd_grouped_kernel_stage1",
        "kernel_unified_attention_2d",
        "flash_mla_sparse_fwd_kernel",
        "aiter::pa_fwd_bf16",
        "FlashAttentionScore_1",
        "triton_tem_fused_flex_attention_0",
        "_decode_att_m_fwd",
    ),
    "norm_reduction": (
        "triton_red_fused_add_mean_mul_pow_rsqrt_0",
        "triton_per_fused__to_copy__unsafe_view_add_mean_mm_mul_pow_rsqrt_view_16",
        "triton_per_fused__to_copy_add_embedding_mean_mul_pow_rsqrt_0",
        "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256E",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>",
        "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>",
        "void (anonymous namespace)::softmax_warp_forward<float>",
        "void cub::DeviceScanKernel<cub::DeviceScanPolicy<int>::Policy600>",
        "void cub::DeviceReduceSingleTileKernel",
        "fused_qk_norm_rope_l2norm",
        "void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*)",
        "void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u, float>",
        "layer_norm_fwd_kernel",
        "l2norm_fwd_kernel",
        "rms_norm_fwd_kernel",
        "void selective_scan_fwd_kernel<Selective_Scan_fwd_kernel_traits<128>>",
        "mean_kernel_impl",
        "void at::native::vectorized_layer_norm_kernel<float, float>",
    ),
    "matmul": (
        "nvjet_sm90_tst_64x32_64x16_4x2_h_bz_NNT",
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64",
        "void splitKreduce_kernel<32, 16, int, float>",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n",
        "void gemv2T_kernel_val<int, int, float>",
        "triton_tem_fused_mm_12",
        "triton_mm",
        "triton_red_fused__unsafe_view_mm_mul_silu_split_t_view_7",
        "triton_per_fused__to_copy_add_mean_mm_mul_pow_rsqrt_t_view_12",
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu",
        "void implicit_convolve_sgemm<float, float, 1024>",
        "volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1",
        "void marlin::Marlin<256, 1, 8>",
        "gemm_kernel",
        "cask_cudnn::computeOffsetsKernel(cask_cudnn::ComputeOffsetsParams)",
        "fused_moe_kernel",
        "wvSplitK_hf_sml_",
        "void causal_conv1d_fwd_kernel<Causal_conv1d_fwd_kernel_traits<128>>",
    ),
    "embedding_gather": (
        "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16>",
        "void at::native::index_elementwise_kernel<128, 4>",
        "void at::native::vectorized_gather_kernel<16, long>",
        "triton_poi_fused_embedding_3",
        "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>",
        "create_flashinfer_kv_indices_triton",
        "void flashinfer::AppendPagedKVCacheKernel<128u, 8u, __nv_bfloat16>",
        "void split_embedding_codegen_forward_unweighted_kernel<float>",
        "void (anonymous namespace)::indexing_backward_kernel<float, 4>",
        "void at::to_dense_representation_kernel<float>",
    ),
    "copy_cast": (
        "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>",
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 128, 1>",
        "triton_poi_fused__to_copy_view_transpose_7",
        "void at::native::triu_tril_kernel<bool>",
        "per_token_group_quant_8bit",
    ),
    "elementwise": (
        "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)",
        "triton_poi_fused__unsafe_view_mul_silu_6",
        "triton_poi_fused__scaled_dot_product_cudnn_attention__to_copy_add_mul_4",
        "void vllm::act_and_mul_kernel<c10::BFloat16, silu>",
        "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>",
        "void vllm::rotary_embedding_kernel<c10::BFloat16>",
        "void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &silu>",
        "void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheKernel<true, 128u>",
        "swiglu_fwd_kernel",
        "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float>",
        "void (anonymous namespace)::clamp_position_kernel<long>",
        "triton__0d1d2d3d4d5d6d7d8d9d10d11d12d13d14",
    ),
    "memory": ("__amd_rocclr_fillBufferAligned", "__amd_rocclr_copyBuffer", "Memset (Device)"),
    "other": ("my_own_secret_code",),
}


@pytest.mark.parametrize(("family", "name"), [(family, name) for family, names in _KERNELS.items() for name in names])
def test_kernel_names_tell_their_family(family: str, name: str) -> None:
    assert kernel_family(name) == family


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("aten::mm", "matmul"),
        ("aten::addmm", "matmul"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "attention"),
        ("aten::native_layer_norm", "norm_reduction"),
        ("aten::mean", "norm_reduction"),
        ("aten::mul", "elementwise"),
        ("aten::rsqrt", "elementwise"),
        ("aten::copy_", "copy_cast"),
        ("aten::embedding", "embedding_gather"),
        ("aten::index_copy_", "embedding_gather"),
        ("aten::view", "other"),
        ("c10d::allreduce_", "communication"),
        ("graph_0_cpp_fused_add_mul_0", "elementwise"),
        ("cpp_fused_mean_pow_1", "norm_reduction"),
        ("mylib::thing", "other"),
    ],
)
def test_operator_names_tell_their_family(name: str, family: str) -> None:
    assert operator_family(name) == family


@needs_shared
@pytest.mark.parametrize("path", shared_traces(), ids=lambda path: path.name.removesuffix(".json.gz"))
def test_hardly_any_gpu_time_is_of_an_unknown_family(path: Path, read: Callable[[Path], Trace]) -> None:
    for report in kernel_report(read(path), "trace").children.values():
        families = report.table("families").set_index("family")["share_ratio"]
        if report.metric("host_launch_count").value is not None:
            assert families.get("other", 0.0) < 0.05


@pytest.mark.parametrize("start", ["mla_", "sendrecv", "mm_kernel", "dot_kernel"])
def test_rule_for_the_start_of_a_word_knows_it_there_only(start: str) -> None:
    assert kernel_family(start) == kernel_family(f"void x::{start}<1>") != "other"
    assert kernel_family(f"q{start}") == "other"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaLaunchKernel", "launch"),
        ("cudaLaunchKernelExC", "launch"),
        ("cuLaunchKernelEx", "launch"),
        ("hipExtModuleLaunchKernel", "launch"),
        ("urEnqueueKernelLaunch", "launch"),
        ("cudaGraphLaunch", "graph_launch"),
        ("hipGraphLaunch", "graph_launch"),
        ("cudaMemcpyAsync", "copy"),
        ("cudaMemsetAsync", "copy"),
        ("cuMemcpyHtoDAsync_v2_ptsz", "copy"),
        ("cudaMemset", "copy"),
        ("cuMemsetD32_v2", "copy"),
        ("cudaMemcpy", "sync_copy"),
        ("cudaMemcpy_ptds", "sync_copy"),
        ("hipMemcpyWithStream", "sync_copy"),
        ("cudaDeviceSynchronize", "sync"),
        ("hipEventSynchronize", "sync"),
        ("cudaStreamSynchronize", "sync"),
        ("cudaStreamSynchronize_ptsz", "sync"),
        ("hipStreamSynchronize_spt", "sync"),
        ("cuCtxSynchronize", "sync"),
        ("urQueueFinish", "sync"),
        ("cnrtQueueSync", "sync"),
        ("cudaStreamWaitEvent", "other"),
        ("cudaMemPrefetchAsync", "other"),
        ("urEnqueueUSMPrefetch", "other"),
        ("cudaGraphAddMemcpyNode", "other"),
        ("hipGraphExecMemcpyNodeSetParams1D", "other"),
        ("cudaGraphAddMemsetNode", "other"),
        ("cudaLaunchHostFunc", "other"),
        ("cudaEventQuery", "other"),
        ("cudaMalloc", "allocator"),
        ("cudaFree", "allocator"),
        ("cudaHostAlloc", "allocator"),
        ("hipFree", "allocator"),
        ("cuMemAddressReserve", "allocator"),
        ("cuMemSetAccess", "allocator"),
        ("hipMemSetAccess", "allocator"),
        ("hipExtMallocWithFlags", "allocator"),
        ("musaMalloc", "allocator"),
        ("cudaFuncSetAttribute", "other"),
        ("INVALID", "other"),
    ],
)
def test_call_names_tell_what_the_host_did(name: str, kind: str) -> None:
    assert call_kind(name) == kind


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("ProfilerStep#7", Mark("step", 7, source="profiler")),
        ("step#0", Mark("step", 0, source="own")),
        ("layer#12", Mark("layer", 12)),
        ("model.layers.3", Mark("layer", 3)),
        (
            "execute_context_1(512)_generation_31(31)",
            Mark("phase", phase="mixed", batch_size=32, source="engine"),
        ),
        (
            "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_30(sq30sk55086sqsq30sqsk55086)",
            Mark("phase", phase="decode", batch_size=30, padded_batch_size=32, source="engine"),
        ),
        ("execute_new_2_cached_0", Mark("phase", phase="prefill", batch_size=2, source="engine")),
        ("step[DECODE bs=32]", Mark("phase", phase="decode", batch_size=32, source="engine")),
        ("step[EXTEND bs=1 toks=512]", Mark("phase", phase="prefill", batch_size=1, source="engine")),
        ("capture_32_DECODE", Mark("phase", phase="decode", padded_batch_size=32)),
        ("## forward ##", Mark("phase", phase="forward")),
        ("DataLoader", Mark("other")),
    ],
)
def test_annotations_tell_steps_layers_and_phases(name: str, mark: Mark) -> None:
    assert mark_of(name) == mark


def test_an_engines_marks_are_steps_only_where_nothing_else_is() -> None:
    engine, profiler = mark_of("step[DECODE bs=32]"), mark_of("ProfilerStep#1")

    assert step_source([engine]) == "engine"
    assert step_source([engine, profiler]) == "profiler"
    assert step_source([mark_of("other")]) == ""


@pytest.mark.parametrize(
    "name", ["TorchDynamo Cache Lookup", "Torch-Compiled Region: 0/0", "entire_frame_compile (dynamo_timed)"]
)
def test_dynamos_own_events_are_told_from_operators(name: str) -> None:
    assert is_compile_event(name)
    assert not is_compile_event("aten::mm")


@pytest.mark.parametrize(
    ("token", "text", "repairs"),
    [
        (rb'"plain"', "plain", ()),
        (rb'"quoted \"warm\" batch"', 'quoted "warm" batch', ()),
        (rb'"C:\Users\runner.py(1): f"', r"C:\Users\runner.py(1): f", ("raw_backslash",)),
        (rb'"a\u0008b"', "a␈b", ("control_character",)),
        (b'"gemm\xb5"', r"gemm\xb5", ("not_utf8",)),
        (rb'"\ud800"', r"\ud800", ()),
        (b"[[8,\n 2]]", "[[8, 2]]", ()),
    ],
)
def test_odd_names_are_made_readable(token: bytes, text: str, repairs: tuple[str, ...]) -> None:
    assert readable(token) == (text, repairs)
