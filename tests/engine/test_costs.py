"""Are the ideal bytes and FLOPs of a step those that one works out by hand?"""

from __future__ import annotations

import pytest

from explorer.engine.costs import kv_cache_bytes, kv_read_bytes, kv_written_bytes, step_flops, tokens_per_step
from explorer.model_shapes import ModelShape
from explorer.settings import RunSettings

SHAPE = ModelShape(
    name="two by two",
    layer_count=2,
    hidden_size=4,
    query_head_count=2,
    kv_head_count=1,
    head_size=3,
    mlp_size=5,
    vocab_size=7,
)
DECODE = RunSettings(batch_size=2, context_tokens=9, cache_tokens=16)
PREFILL = RunSettings(batch_size=2, context_tokens=3, cache_tokens=16, phase="prefill")
TOKEN_BYTES = 2 * 2 * 1 * 3 * 2  # keys and values, layers, heads, head size, bytes


def test_decode_reads_the_context_and_writes_one_token_a_row() -> None:
    assert tokens_per_step(DECODE) == 2
    assert kv_read_bytes(SHAPE, DECODE) == 2 * 9 * TOKEN_BYTES
    assert kv_written_bytes(SHAPE, DECODE) == 2 * TOKEN_BYTES
    assert kv_cache_bytes(SHAPE, DECODE) == 2 * 16 * TOKEN_BYTES


def test_prefill_reads_nothing_cached_and_writes_every_token() -> None:
    assert tokens_per_step(PREFILL) == 6
    assert kv_read_bytes(SHAPE, PREFILL) == 0
    assert kv_written_bytes(SHAPE, PREFILL) == 6 * TOKEN_BYTES


@pytest.mark.parametrize(
    ("settings", "row_tokens", "query_key_pairs"),
    [(DECODE, 1, 10), (PREFILL, 3, 1 + 2 + 3)],
)
def test_flops_count_products_and_the_unmasked_scores(
    settings: RunSettings, row_tokens: int, query_key_pairs: int
) -> None:
    layer_weights = 4 * 6 + 4 * 3 + 4 * 3 + 6 * 4 + 3 * 4 * 5
    scores_and_values = 2 * (2 * 3) * 2  # two products, query heads × head size, multiply and add
    row = 2 * (2 * layer_weights * row_tokens + scores_and_values * query_key_pairs) + 2 * 4 * 7
    assert step_flops(SHAPE, settings) == 2 * row
