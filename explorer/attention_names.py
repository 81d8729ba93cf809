"""Which attention backend does a kernel's or an operator's name tell, and is it the one that was asked for?

One table, first match wins: cuDNN's names contain "flash", flex attention's and AITER's contain "fmha" or "attention".
A name that no row knows says nothing: whether it is attention at all is the kernel families' question.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

BACKEND_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "flash": "flash",
        "efficient": "efficient",
        "cudnn": "cuDNN",
        "math": "math",
        "flex": "flex",
        "flash3": "FlashAttention 3",
        "flashinfer": "FlashInfer",
        "flashmla": "FlashMLA",
        "trtllm": "TensorRT-LLM",
        "triton": "Triton attention",
        "paged": "paged attention",
        "aotriton": "AOTriton (AMD)",
        "ck": "Composable Kernel (AMD)",
        "aiter": "AITER (AMD)",
        "overrideable": "overrideable",
    }
)
"""Every backend that a name can tell, as people read it."""

_RULES: tuple[tuple[str, str], ...] = (
    # operators: they say it themselves
    ("flash", r"_scaled_dot_product_flash_attention|aten::_flash_attention"),
    ("efficient", r"_scaled_dot_product_efficient_attention|aten::_efficient_attention"),
    ("cudnn", r"_scaled_dot_product_cudnn_attention|aten::_cudnn_attention"),
    ("math", r"_scaled_dot_product_attention_math"),
    ("flex", r"flex_attention|flex_decoding|triton_tem_\w*flex"),
    # kernels
    ("cudnn", r"cudnn.*(?:sdpa|mha|flash|attention|softmax)|cudnn::fusion"),
    ("aiter", r"aiter.*(?:fmha|mha|attn|pa_|mla)|^_?ZN5aiter\d+(?:fmha|pa_|mla)"),
    ("ck", r"ck_tile.*fmha|ck::.*(?:attention|fmha)|fmha_fwd_(?:splitkv_)?d\d+|FmhaFwd\w*Kernel"),
    ("flashmla", r"flash_?mla|flash_fwd_splitkv_mla|mla_combine"),
    (
        "flashinfer",
        r"flashinfer.*(?:prefill|decode|attention|mla(?!yout)|podwith|merge_?state|cascade)"
        r"|(?:Batch|Single)(?:Prefill|Decode)With",
    ),
    ("trtllm", r"fmha_v2_|fmhaSm\d+|trtllm.*(?:fmha|mha|xqa)|xqa_kernel"),
    ("flash3", r"flash::FlashAttnFwd|FlashAttnFwdSm\d+|FlashAttnFwdCombine"),
    ("efficient", r"fmha_cutlass|attention_kernel_batched|pytorchmemeffattention|efficient_attention|mem_eff"),
    ("paged", r"paged_attention"),
    ("triton", r"unified_attention|_fwd_(?:grouped_)?kernel_stage|decode_att|extend_att|context_attention_fwd"),
    ("aotriton", r"^(?:_?attn_fwd|bare_attn_fwd)|aotriton"),
    ("flash", r"pytorch_flash|flash_fwd|flash::|flash_attn|FlashAttention|flash_fprop"),
    ("triton", r"^_fwd_kernel"),
    ("efficient", r"fmha|attention_kernel"),
    ("math", r"softmax"),
)


@functools.cache
def _compiled() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((backend, re.compile(pattern, re.IGNORECASE)) for backend, pattern in _RULES)


def backend_of_name(name: str) -> str | None:
    """The backend (a key of BACKEND_LABELS) of an attention kernel or operator; None where its name does not tell."""
    return next((backend for backend, pattern in _compiled() if pattern.search(name)), None)


def backend_that_ran(names: Iterable[str]) -> str | None:
    """The backend behind everything that one call ran: a softmax tells of math only where nothing else tells more."""
    told = [backend for backend in map(backend_of_name, names) if backend is not None]
    return next((backend for backend in told if backend != "math"), "math" if told else None)


@dataclass(frozen=True)
class Backends:
    """A run's backends: asked for, chosen when it was built or compiled, and told by the kernels that ran."""

    requested: str | None
    chosen: str | None
    ran: str | None

    @property
    def is_mismatch(self) -> bool:
        """Whether another backend ran than was asked for, or than was chosen where none was asked for."""
        wanted = self.chosen if self.requested in (None, "auto") else self.requested
        return wanted is not None and self.ran is not None and wanted != self.ran

    @property
    def sentence(self) -> str:
        """What was asked, chosen and ran, and what a mismatch means."""
        ran = "not recorded" if self.ran is None else BACKEND_LABELS.get(self.ran, self.ran)
        asked = "nothing in particular" if self.requested in (None, "auto") else BACKEND_LABELS[str(self.requested)]
        chosen = "not recorded" if self.chosen is None else BACKEND_LABELS.get(self.chosen, self.chosen)
        sentence = f"Asked for: {asked}. Chosen: {chosen}. Kernels that ran: {ran}."
        if self.is_mismatch:
            sentence += (
                " They differ: a compiled function keeps the backend that it was compiled under, and compile caches "
                "can hand back code made under another. Put the choice inside the compiled function, or compile in a "
                "fresh process with separate caches."
            )
        return sentence
