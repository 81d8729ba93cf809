"""How do queries meet keys and values, and which backend of PyTorch computes it?

Letters as in `model.py`. Every backend answers the same question and accepts different inputs:

    auto, cudnn, math   grouped heads, a boolean mask over the whole cache
    efficient           grouped heads only from torch 2.14 on; before, keys and values are repeated explicitly
    flash               no mask: the cache is cut to the tokens that exist, which needs rows of equal length
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from explorer.attention_calls import call_of_run
from explorer.engine.costs import first_position
from explorer.engine.probe_ask import automatic_choice
from explorer.engine.probe_inputs import make_inputs
from explorer.model_shapes import ModelShape
from explorer.settings import AttentionBackend, RunSettings

# A plain dictionary, since compiled code looks into it.
_BACKENDS: Mapping[str, SDPBackend] = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "math": SDPBackend.MATH,
}


@dataclass(frozen=True)
class AttentionPolicy:
    """What one run does about attention.

    `cut_tokens`: decode reads exactly this many tokens of every row and passes no mask; None: a mask from positions.
    `repeats_heads`: KV heads are copied to the number of query heads before the call.
    """

    backend: AttentionBackend = "auto"
    cut_tokens: int | None = None
    repeats_heads: bool = False

    def notes(self) -> list[str]:
        """What differs from the plain case, in sentences for the reader of a recording."""
        notes = []
        if self.cut_tokens is not None:
            notes.append(
                f"Flash attention takes no mask, so decode reads a view of the first {self.cut_tokens:,} cached tokens "
                "of every row; the other backends read the whole cache under a mask."
            )
        if self.repeats_heads:
            notes.append(
                f"Efficient attention takes no grouped heads in torch {torch.__version__}: keys and values are copied "
                "to the number of query heads before each call."
            )
        return notes


def policy_for(settings: RunSettings) -> AttentionPolicy:
    """The policy that makes the chosen backend possible for these settings."""
    backend = settings.attention
    reads_cache = settings.phase == "decode" or settings.context_tokens == 1
    cuts = backend == "flash" and reads_cache
    return AttentionPolicy(
        backend=backend,
        cut_tokens=first_position(settings) + 1 if cuts else None,
        repeats_heads=backend == "efficient" and not efficient_takes_grouped_heads(),
    )


def efficient_takes_grouped_heads() -> bool:
    """Whether this torch's memory-efficient kernels accept fewer KV heads than query heads."""
    major, minor = (int(part) for part in torch.__version__.split(".")[:2])
    return (major, minor) >= (2, 14)


def under_backend(backend: AttentionBackend) -> AbstractContextManager[None]:
    """A context in which only that backend may run; `auto` leaves the choice to PyTorch.

    A compiled function keeps the backend that it was compiled under and does not notice a change, so this belongs
    inside the function that is compiled.
    """
    if backend == "auto":
        return contextlib.nullcontext()
    return sdpa_kernel(_BACKENDS[backend])


def chosen_backend(settings: RunSettings, shape: ModelShape) -> str | None:
    """What PyTorch chooses for the call of one layer under the run's policy; None where it refuses."""
    policy = policy_for(settings)
    call = call_of_run(settings, shape, repeats_heads=policy.repeats_heads)
    inputs = make_inputs(call, torch.device(settings.device), None)
    with under_backend(policy.backend):
        return automatic_choice(inputs)[0]


def attend(
    q_BLHD: torch.Tensor,
    k_BTKD: torch.Tensor,
    v_BTKD: torch.Tensor,
    *,
    mask_B11T: torch.Tensor | None,
    is_causal: bool,
    repeats_heads: bool,
) -> torch.Tensor:
    """Attention of L queries over T tokens as BLHD; T equals L where `is_causal` (PyTorch aligns it upper left)."""
    if repeats_heads:
        group_size = q_BLHD.shape[2] // k_BTKD.shape[2]
        k_BTKD = k_BTKD.repeat_interleave(group_size, dim=2)
        v_BTKD = v_BTKD.repeat_interleave(group_size, dim=2)
    out_BHLD = functional.scaled_dot_product_attention(
        q_BLHD.transpose(1, 2),
        k_BTKD.transpose(1, 2),
        v_BTKD.transpose(1, 2),
        attn_mask=mask_B11T,
        is_causal=is_causal,
        enable_gqa=not repeats_heads,
    )
    return out_BHLD.transpose(1, 2)
