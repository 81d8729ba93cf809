"""Which family is a kernel of, by its name? One table, first match wins; a test has one row for each of its rows.

The order matters where names hide others: `cudnn..._flash_fprop` is attention although it says cudnn, a cast inside
`direct_copy_kernel` comes before the elementwise template around it, and a fused Triton kernel is named after every
operator that it holds a part of, so its own kind (`red`, `per`, `poi`, `tem`) decides first.
"""

from __future__ import annotations

import re

_RULES: tuple[tuple[str, str], ...] = (
    # Triton's fused kernels first: they are named after operators that they only hold parts of
    ("attention", r"^triton_(?:tem|flex).*attention"),
    ("matmul", r"^triton_(?:tem_\w*?)?(?:mm|bmm|addmm|baddbmm|scaled_mm|mixed_mm|conv|convolution)_"),
    # Inductor's own product of few rows, as a reduction: it holds the product and the transposed weight, which it reads
    ("matmul", r"^triton_(?:red|per)_fused(?=\w*_(?:mm|addmm)_)\w*_t_"),
    ("norm_reduction", r"^triton_(?:red|per|mix|ops)_fused|^triton__?\w*(?:red|per)_"),
    ("embedding_gather", r"^triton_poi_fused.*(?:embedding|index|gather|scatter)"),
    (
        "copy_cast",
        r"^triton_poi_fused(?:_+(?:to_copy|clone|copy|transpose|t|view|unsafe_view|permute|cat|expand|slice))+_\d+$",
    ),
    ("elementwise", r"^triton_(?:poi|for)_fused|^triton__\d"),
    # Everything else
    ("memory", r"^mem(?:set|cpy)"),
    ("memory", r"fillbuffer|copybuffer|__amd_rocclr"),
    (
        "embedding_gather",
        r"store_kv_?cache|reshape_and_cache|store_cache|set_kv_buffer|kv_?cache_(?:copy|store|write)|kv_indices"
        r"|appendpagedkv",
    ),
    ("communication", r"nccl|rccl|msccl|oneccl|hccl|hcom_"),
    ("communication", r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|\bsendrecv|quick_?reduce"),
    ("communication", r"nvshmem|symm_mem|cross_device_reduce"),
    ("attention", r"flash_?(?:fwd|bwd|fprop|bprop|attn|attention|decode)|flash::|_flash_|fmha"),
    # lean_reduction adds up what cuDNN's attention splits over the keys
    (
        "attention",
        r"cudnn.*(?:sdpa|mha|lean_reduction)|cudnn.*attention|paged_attention|attention_kernel|unified_attention",
    ),
    # FlashInfer's norms, activations, rotary embeddings and sampling are no attention, nor is every `..._fwd_kernel`
    ("attention", r"flashinfer.*(?:prefill|decode|attention|mla(?!yout)|podwith|merge_?state|cascade)"),
    ("attention", r"(?:attn|attention|mha)_(?:fwd|bwd)|_fwd_(?:grouped_)?kernel_stage|^_fwd_kernel"),
    ("attention", r"delta_rule\w*_fwd|^chunk_fwd_kernel"),
    ("attention", r"decode_att|extend_att|merge_attn"),
    ("attention", r"(?:batch|single)(?:prefill|decode)with|\bmla_|flashmla|_mla_|mla_decode"),
    ("attention", r"pa_(?:fwd|decode|bf16|kernel)|ck_tile.*fmha|flashattention|promptflash|increflash"),
    ("attention", r"softmax_?warp.*attn|aiter.*(?:mha|attn|pa_)"),
    ("norm_reduction", r"rms_?norm|layer_?norm|group_?norm|batch_?norm|bn_(?:fw|bw)|norm2d|_norm_kernel"),
    ("norm_reduction", r"l2norm|qk_norm"),
    ("matmul", r"nvjet|gemm|gemv|cublas(?!.*(?:fill|scal))|cutlass.*(?:gemm|kernel2?<)|cijk_|_matmul"),
    ("matmul", r"matmul_|matmulv|mat_mul|\bmm_kernel|triton_mm|triton_tem_.*mm"),
    ("matmul", r"splitk|split_k|epilogue::impl|gemmk1|\bdot_kernel|reduce_1block_kernel|xmma|wgmma"),
    ("matmul", r"mmq|marlin|deep_gemm|tensile|rocblas|wvsplitk|linear_kernel"),
    ("matmul", r"scudnn|winograd|convolve|conv[123]d|conv_|convolution|dgrad|wgrad|fprop|implicit_con"),
    ("matmul", r"im2col|cask_cudnn|cudnn.*(?:cnn|engine|scalepacked|conv)|nchwtonhwc|nhwctonchw|fft"),
    ("matmul", r"moe|grouped_mm|_matmul_ogs|expert"),
    ("elementwise", r"rotary|rope_"),
    ("embedding_gather", r"embedding|indexselect|index_select|gather|index_elementwise|index_kernel|scatter"),
    ("embedding_gather", r"index_put|index_copy|indexing_backward"),
    ("embedding_gather", r"block_table|permute_(?:indices|pooled|2d)|jagged|bounds_check|lookup|token_ids"),
    ("embedding_gather", r"sparse_(?:data|features)|to_dense"),
    ("norm_reduction", r"softmax|reduce_kernel|reduction|\breduce|welford"),
    ("norm_reduction", r"cub::device(?:reduce|segmentedreduce)|argmax|argmin|topk|top_k|top_p|cumsum|cumprod"),
    ("norm_reduction", r"scan|sort|radix|sampling|nll_?loss|cross_entropy|classnll|max_pool|avg_pool|pool"),
    ("norm_reduction", r"mean_kernel|sum_kernel|min_p"),
    ("copy_cast", r"copy|catarray|transpose|permute|_cast|cast_|to_fp8|quant|contiguous|pad_kernel"),
    ("copy_cast", r"triu_tril|reshape|memcpy"),
    ("elementwise", r"elementwise|silu|gelu|swiglu|sigmoid|rotary|rope|dropout|activation|act_and_mul"),
    ("elementwise", r"multi_tensor_apply|fillfunctor|fill_kernel|unrolled|vectorized|pointwise"),
    ("elementwise", r"distribution|adam|sgd|lamb|clamp|arange|where|add_kernel|mul_kernel|range_kernel"),
    ("elementwise", r"::(?:add|mul|sub|div)"),
)

# Views and allocations are of no family: they take the host's time and move nothing.
_OPERATOR_RULES: tuple[tuple[str, str], ...] = (
    ("communication", r"^c10d::|^nccl:|^gloo:|record_param_comms|all_?reduce|all_?gather"),
    ("attention", r"attention"),
    ("matmul", r"::(?:add)?(?:mm|bmm|mv|matmul|linear|addmv|baddbmm|dot|_?conv\w*)$"),
    ("matmul", r"::(?:mkldnn\w*|_int_mm|_scaled_mm)$|mkldnn::_linear|convolution"),
    ("norm_reduction", r"norm|softmax"),
    ("norm_reduction", r"::(?:sum|mean|max|min|amax|amin|argmax|argmin|cumsum|sort|topk)(?:_|$)"),
    ("norm_reduction", r"::(?:var|std|prod|any|all)(?:_|$)"),
    ("norm_reduction", r"logsumexp|pool"),
    ("embedding_gather", r"embedding|::(?:index|gather|scatter|take)|index_"),
    ("copy_cast", r"::(?:copy_|_to_copy|to|clone|contiguous|cat|stack|_cat|repeat|pad)$"),
    ("copy_cast", r"::(?:constant_pad_nd|fill_|zero_|resize_|masked_fill\w*)$"),
    ("elementwise", r"::(?:add|sub|mul|div|pow|rsqrt|sqrt|exp|log|neg|abs|sigmoid|silu|gelu)_?$"),
    ("elementwise", r"::(?:relu|tanh|cos|sin|where|clamp|eq|ne|lt|gt|le|ge|logical\w*|bitwise\w*)_?$"),
    ("elementwise", r"::(?:arange|rsub|reciprocal|sign|floor|ceil|round|isnan|threshold\w*|dropout)_?$"),
    ("elementwise", r"::(?:native_dropout|lerp|addcmul|addcdiv)_?$"),
    ("norm_reduction", r"^cpp_fused.*(?:mean|sum|softmax|norm|amax|max)"),
    ("elementwise", r"^cpp_fused|^graph_\d+_cpp_fused"),
)

_WORD_START = re.compile(r"\\b(\w)")


def _compiled(rules: tuple[tuple[str, str], ...]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    r"""The rules to search with, `\bword` spelt `w(?<!\ww)ord`.

    That means the same, but where every alternative begins with a letter, `re` looks at no place that begins otherwise.
    """
    return tuple((family, re.compile(_WORD_START.sub(r"\1(?<!\\w\1)", pattern))) for family, pattern in rules)


# Compiled with the module: a process that reads one small trace would spend more on this than on all of its names.
_KERNEL_PATTERNS, _OPERATOR_PATTERNS = _compiled(_RULES), _compiled(_OPERATOR_RULES)


def kernel_family(name: str) -> str:
    """The family of a kernel (one of `trace.FAMILIES`); `other` when no rule knows it."""
    return _first_match(name, _KERNEL_PATTERNS)


def operator_family(name: str) -> str:
    """The family of a host operator, for traces without a GPU."""
    return _first_match(name, _OPERATOR_PATTERNS)


def rule_count() -> int:
    """How many rows the kernel table has."""
    return len(_RULES)


def _first_match(name: str, patterns: tuple[tuple[str, re.Pattern[str]], ...]) -> str:
    lowered = name.lower()  # five times faster than patterns that ignore case
    return next((family for family, pattern in patterns if pattern.search(lowered)), "other")
