"""What does one step have to read, write and compute, whoever computes it?

Ideal figures: each weight and each cached token once, the masked half of a prefill's scores not at all, logits for
the last token of a row only. Sources: definitions of the step floor; 2 FLOPs a multiply-add.
"""

from __future__ import annotations

from explorer.model_shapes import ModelShape
from explorer.settings import RunSettings


def tokens_per_step(settings: RunSettings) -> int:
    """New tokens in one step over all rows."""
    return settings.batch_size * new_tokens_per_row(settings)


def new_tokens_per_row(settings: RunSettings) -> int:
    """One in decode, the whole context in prefill."""
    return 1 if settings.phase == "decode" else settings.context_tokens


def first_position(settings: RunSettings) -> int:
    """Where each row's first new token stands: after the context in decode, at the start in prefill."""
    return settings.context_tokens if settings.phase == "decode" else 0


def kv_read_bytes(shape: ModelShape, settings: RunSettings) -> int:
    """Cached keys and values that a step reads: decode reads each row's context, prefill starts empty."""
    return settings.batch_size * first_position(settings) * shape.kv_bytes_per_token(settings.dtype)


def kv_written_bytes(shape: ModelShape, settings: RunSettings) -> int:
    """Keys and values of the step's new tokens."""
    return tokens_per_step(settings) * shape.kv_bytes_per_token(settings.dtype)


def kv_cache_bytes(shape: ModelShape, settings: RunSettings) -> int:
    """The whole static cache."""
    return settings.batch_size * settings.cache_tokens * shape.kv_bytes_per_token(settings.dtype)


def step_flops(shape: ModelShape, settings: RunSettings) -> int:
    """FLOPs of a step's matrix products and attention; norms and activations are left out."""
    query_size = shape.query_head_count * shape.head_size
    kv_size = shape.kv_head_count * shape.head_size
    layer_weights = shape.hidden_size * (2 * query_size + 2 * kv_size + 3 * shape.mlp_size)
    new_tokens = new_tokens_per_row(settings)
    prefill_pairs = new_tokens * (new_tokens + 1) // 2
    attended_tokens = settings.context_tokens + 1 if settings.phase == "decode" else prefill_pairs
    row_flops = (
        shape.layer_count * (2 * layer_weights * new_tokens + 4 * query_size * attended_tokens)
        + 2 * shape.vocab_size * shape.hidden_size
    )
    return settings.batch_size * row_flops
