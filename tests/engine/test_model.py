"""Does our Qwen3 compute what transformers' Qwen3 computes, and does its cache change nothing?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from explorer.engine.attention import AttentionPolicy
from explorer.engine.model import Qwen3
from explorer.engine.weights import FolderWeights, RandomWeights, build_model
from explorer.model_shapes import MODEL_SHAPES, TINY

SaveModel = Callable[..., tuple[Any, Path]]
CPU = torch.device("cpu")
TOKENS = torch.randint(300, (2, 24), generator=torch.Generator().manual_seed(1))
START = torch.zeros(2, dtype=torch.int64)


def model_of(folder: Path, joined: bool = False, rows: int = 2) -> Qwen3:
    model = build_model(FolderWeights(folder, torch.float32, CPU), joined=joined)
    model.allocate_cache(rows, 64)
    return model


def tiny_model(policy: AttentionPolicy | None = None, joined: bool = False, rows: int = 2) -> Qwen3:
    model = build_model(RandomWeights(TINY, 0, torch.float32, CPU), policy, joined)
    model.allocate_cache(rows, 64)
    return model


def error_ratio(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


def positions(*values: int) -> torch.Tensor:
    return torch.tensor(values)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("shard_size", ["1GB", "100KB"])
def test_logits_equal_transformers(save_hugging_face_model: SaveModel, tied: bool, shard_size: str) -> None:
    reference, folder = save_hugging_face_model(tied=tied, shard_size=shard_size)
    assert (folder / "model.safetensors.index.json").exists() == (shard_size == "100KB")
    model = model_of(folder)
    assert error_ratio(model.logits(model(TOKENS, START)), reference(TOKENS).logits) < 1e-5


def test_greedy_tokens_equal_transformers_over_32_steps(save_hugging_face_model: SaveModel) -> None:
    reference, folder = save_hugging_face_model(tied=False)  # tied, it would soon repeat one token
    expected = reference.generate(TOKENS, max_new_tokens=32, do_sample=False)[:, TOKENS.shape[1] :]
    model = model_of(folder)
    token_B = model.next_logits(TOKENS, START).argmax(-1)
    found = [token_B]
    for step in range(31):
        position = TOKENS.shape[1] + step
        token_B = model.next_logits(token_B.unsqueeze(1), positions(position, position)).argmax(-1)
        found.append(token_B)
    assert torch.stack(found, dim=1).tolist() == expected.tolist()
    assert len(set(expected[0].tolist())) > 10


def test_prefill_then_decode_equals_one_forward(save_hugging_face_model: SaveModel) -> None:
    _, folder = save_hugging_face_model()
    model = model_of(folder)
    whole = model.logits(model(TOKENS, START))
    model.allocate_cache(2, 64)
    model(TOKENS[:, :20], START)
    for position in range(20, 24):
        step = model.next_logits(TOKENS[:, position : position + 1], positions(position, position))
        assert error_ratio(step, whole[:, position]) < 1e-5


def test_ragged_batch_equals_single_rows() -> None:
    model = tiny_model()
    model(TOKENS, START)  # row 1 keeps 9 of its tokens: what stands behind its position must not be read
    together = model.next_logits(TOKENS[:, :1], positions(24, 9))
    for row, length in enumerate((24, 9)):
        alone = tiny_model(rows=1)
        alone(TOKENS[row : row + 1, :length], START[:1])
        expected = alone.next_logits(TOKENS[row : row + 1, :1], positions(length))
        assert error_ratio(together[row : row + 1], expected) < 1e-5


def test_prefilling_rows_in_turn_equals_prefilling_together() -> None:
    together, in_turn = tiny_model(), tiny_model()
    together(TOKENS, START)
    for row in range(2):
        in_turn(TOKENS[row : row + 1], START[:1], row)
    for one, other in zip(together.attentions(), in_turn.attentions(), strict=True):
        assert error_ratio(caches_of(other), caches_of(one)) < 1e-5


def caches_of(attention: Any) -> torch.Tensor:
    cache: torch.Tensor = torch.stack((attention.k_cache_CKD, attention.v_cache_CKD))
    return cache


def test_joined_projections_change_nothing() -> None:
    apart, joined = tiny_model(), tiny_model(joined=True)
    assert error_ratio(joined.next_logits(TOKENS, START), apart.next_logits(TOKENS, START)) < 1e-5
    decoded = [model.next_logits(TOKENS[:, :1], positions(24, 24)) for model in (apart, joined)]
    assert error_ratio(decoded[1], decoded[0]) < 1e-5


@pytest.mark.parametrize(
    "policy",
    [
        AttentionPolicy("math"),
        AttentionPolicy("flash", cut_tokens=25),
        AttentionPolicy("auto", repeats_heads=True),
    ],
)
def test_every_attention_policy_computes_the_same_step(policy: AttentionPolicy) -> None:
    logits = []
    for model in (tiny_model(), tiny_model(policy)):
        model(TOKENS, START)
        logits.append(model.next_logits(TOKENS[:, :1], positions(24, 24)))
    assert error_ratio(logits[1], logits[0]) < 1e-5


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("name", MODEL_SHAPES)
def test_model_has_the_parameters_that_its_shape_counts(name: str, joined: bool) -> None:
    shape = MODEL_SHAPES[name]
    with torch.device("meta"):
        model = Qwen3(shape, joined=joined)
    assert sum(parameter.numel() for parameter in model.parameters()) == shape.parameter_count


def test_mission_model_has_596_million_parameters() -> None:
    assert MODEL_SHAPES["qwen3-0.6b"].parameter_count == 596_049_920
