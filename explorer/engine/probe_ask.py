"""Which backend does PyTorch choose for these tensors, and which others would accept them? Asked, never looked up.

The choice is torch._fused_sdp_choice's. A backend is asked by itself: on CUDA by its own check, whose first warning
is the first failing condition; on the CPU, where those checks answer no to everything, by allowing it alone.
"""

from __future__ import annotations

import os
import tempfile
import warnings

import torch
from torch.backends import cuda as checks
from torch.nn.attention import SDPBackend, sdpa_kernel

from explorer.engine.probe_inputs import CallInputs
from explorer.engine.probe_reasons import NOT_IN_THIS_BUILD, clean_sentence

SDPA_BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "math": SDPBackend.MATH,
}
_NAMES = {-1: "error", 0: "math", 1: "flash", 2: "efficient", 3: "cudnn", 4: "overrideable"}
_CHECKS = {
    "flash": checks.can_use_flash_attention,
    "efficient": checks.can_use_efficient_attention,
    "cudnn": checks.can_use_cudnn_attention,
}


_HEADINGS = {"flash": "flash attention", "efficient": "memory efficient", "cudnn": "cudnn attention"}
_HEADING_END = "not used because:"


def priority_order() -> list[str]:
    """The order in which PyTorch tries its backends now; before the first call on CUDA it is not yet this GPU's."""
    return [_NAMES.get(int(code), str(code)) for code in torch._C._get_sdp_priority_order()]


def automatic_choice(inputs: CallInputs) -> tuple[str | None, str]:
    """(backend that scaled_dot_product_attention takes by itself, ""), or (None, PyTorch's sentence)."""
    try:
        code = int(torch._fused_sdp_choice(*inputs.tensors, **inputs.options))
    except RuntimeError as problem:
        return None, clean_sentence(str(problem))
    return _NAMES.get(code, str(code)), ""


def accepts(backend: str, inputs: CallInputs) -> bool:
    """Whether the backend's own check takes these tensors."""
    if backend == "math":
        return True
    if inputs.q_BHLD.device.type == "cuda":
        return bool(_CHECKS[backend](_parameters(inputs), False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _chosen_alone(backend, inputs) == backend


def refusal(backend: str, inputs: CallInputs) -> str:
    """PyTorch's own sentence about why this backend does not take these tensors; empty when it gives none.

    With only this backend allowed, a choice that fails warns of each backend under a heading of its own.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        chosen = _chosen_alone(backend, inputs)
    sentences = [clean_sentence(str(warning.message)) for warning in caught]
    is_cuda = inputs.q_BHLD.device.type == "cuda"
    if not is_cuda and chosen is None and backend != "flash":
        return NOT_IN_THIS_BUILD
    return _under_heading(backend, sentences) or (_said_by_check(backend, inputs) if is_cuda else "")


def _under_heading(backend: str, sentences: list[str]) -> str:
    """The first sentence behind the backend's heading, or the first of all where there are no headings."""
    starts = [place for place, text in enumerate(sentences) if text.lower().startswith(_HEADINGS[backend])]
    behind = sentences[starts[0] :] if starts else sentences
    return next((text for text in behind if not text.endswith(_HEADING_END)), "")


def _said_by_check(backend: str, inputs: CallInputs) -> str:
    """The first warning of the backend's own check, which torch 2.11 writes to file descriptor 2, past Python."""
    with tempfile.TemporaryFile() as said:
        kept = os.dup(2)
        os.dup2(said.fileno(), 2)
        try:
            _CHECKS[backend](_parameters(inputs), True)
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        said.seek(0)
        lines = said.read().decode("utf-8", errors="replace").splitlines()
    return next((clean_sentence(line.split("Warning: ", 1)[1]) for line in lines if "Warning: " in line), "")


def build_backends(device: torch.device) -> list[str]:
    """The backends that this build of PyTorch has for the device at all."""
    if device.type != "cuda":
        return ["flash", "math"]
    known = {
        "flash": checks.is_flash_attention_available(),
        "efficient": torch.version.cuda is not None or torch.version.hip is not None,
        "cudnn": torch.version.cuda is not None and bool(torch.backends.cudnn.is_available()),  # type: ignore[no-untyped-call]
        "math": True,
    }
    return [backend for backend, is_there in known.items() if is_there]


def _chosen_alone(backend: str, inputs: CallInputs) -> str | None:
    with sdpa_kernel(SDPA_BACKENDS[backend]):
        return automatic_choice(inputs)[0]


def _parameters(inputs: CallInputs) -> checks.SDPAParams:
    options = inputs.options
    return checks.SDPAParams(
        *inputs.tensors, options["attn_mask"], options["dropout_p"], options["is_causal"], options["enable_gqa"]
    )
