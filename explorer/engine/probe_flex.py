"""How does flex attention answer the same call? Its mask is a function, and its kernel is compiled for it.

A causal mask or a window is written as arithmetic on positions, a padding or other boolean mask is looked up, an
additive one is added to the scores. Dropout is not in its interface.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch._functorch.config
import torch._inductor.config
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

from explorer.engine.probe_inputs import CallInputs
from explorer.engine.probe_measure import Run

_COMPILED_CALLS = 512
"""Every call of a probe is compiled for itself; Dynamo's limit is meant for programs that recompile unawares."""


def allow_many_compilations() -> None:
    """Lets one function be compiled for every call of the probe, and keeps what was compiled out of later answers.

    The caches do not know under which backend code was made: with them, "flash" could be answered by cuDNN's code.
    """
    torch._inductor.config.fx_graph_cache = False
    torch._functorch.config.enable_autograd_cache = False
    torch._inductor.config.cpp.enable_kernel_profile = True  # or compiled C++ kernels would leave no trace
    torch._dynamo.config.recompile_limit = _COMPILED_CALLS
    torch._dynamo.config.accumulated_recompile_limit = 4 * _COMPILED_CALLS


def flex_refusal(inputs: CallInputs) -> str:
    """What flex attention's interface cannot express of this call; empty when it can."""
    if inputs.call.dropout_ratio:
        return "flex attention has no dropout"
    return ""


def flex_run(inputs: CallInputs) -> Run:
    """The call as a compiled flex attention; the block mask is made here, once, as a model would for all layers."""
    block_mask, score_mod = flex_mask(inputs)
    compiled: Any = torch.compile(flex_attention, dynamic=False)

    def run() -> torch.Tensor:
        out: torch.Tensor = compiled(
            *inputs.tensors,
            score_mod=score_mod,
            block_mask=block_mask,
            enable_gqa=inputs.call.has_grouped_heads,
        )
        return out

    return run


def flex_mask(inputs: CallInputs) -> tuple[BlockMask | None, Callable[..., torch.Tensor] | None]:
    """(block mask, change of scores) that mean the call's mask and its `is_causal`."""
    call = inputs.call
    conditions = []
    if call.is_causal:
        conditions.append(_sees_until(0, None))
    offset = call.kv_tokens - call.query_tokens
    if call.mask == "lower_right":
        conditions.append(_sees_until(offset, None))
    elif call.mask == "sliding_window":
        conditions.append(_sees_until(offset, call.window_tokens))
    elif inputs.mask is not None and inputs.mask.dtype == torch.bool:
        conditions.append(_looked_up(inputs))
    score_mod = _added(inputs) if call.mask.startswith("additive") else None
    if not conditions:
        return None, score_mod
    rows = call.batch_size if call.mask in ("padding", "nothing") else None
    condition = conditions[0] if len(conditions) == 1 else _both(*conditions)
    device = str(inputs.q_BHLD.device)
    return create_block_mask(condition, rows, None, call.query_tokens, call.kv_tokens, device=device), score_mod


def _sees_until(offset: int, window: int | None) -> Callable[..., torch.Tensor]:
    def until(row: Any, head: Any, query: Any, key: Any) -> Any:
        return key <= query + offset

    def within(row: Any, head: Any, query: Any, key: Any) -> Any:
        return (key <= query + offset) & (key > query + offset - window)

    return until if window is None else within


def _both(one: Callable[..., torch.Tensor], other: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def both(row: Any, head: Any, query: Any, key: Any) -> torch.Tensor:
        return one(row, head, query, key) & other(row, head, query, key)

    return both


def _full(inputs: CallInputs) -> torch.Tensor:
    call = inputs.call
    assert inputs.mask is not None
    sizes = (call.batch_size, call.query_head_count, call.query_tokens, call.kv_tokens)
    return inputs.mask.expand(sizes)[:, 0].contiguous()


def _looked_up(inputs: CallInputs) -> Callable[..., torch.Tensor]:
    mask_BLT = _full(inputs)

    def looked_up(row: Any, head: Any, query: Any, key: Any) -> torch.Tensor:
        return mask_BLT[row, query, key]

    return looked_up


def _added(inputs: CallInputs) -> Callable[..., torch.Tensor]:
    mask_BLT = _full(inputs)

    def added(score: torch.Tensor, row: Any, head: Any, query: Any, key: Any) -> torch.Tensor:
        return score + mask_BLT[row, query, key]

    return added
