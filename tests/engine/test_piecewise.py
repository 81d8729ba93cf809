"""Is a step that is cut at attention still the same step, and do its pieces follow new inputs?

Without a GPU a recorded piece is stood in for by one that is called again and whose results are copied over those of
the first call: as with a graph, outputs stay where they are and inputs are read where they were.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from explorer.engine.model import Qwen3
from explorer.engine.piecewise import Inputs, Pieces, PiecewiseStep, attend_mixed, compiled_functions
from explorer.engine.weights import RandomWeights, build_model
from explorer.errors import SettingsError
from explorer.model_shapes import TINY
from tests.engine.stand_in_graph import record

TOKENS = torch.randint(300, (3, 20), generator=torch.Generator().manual_seed(1))
START = torch.zeros(3, dtype=torch.int64)
POSITIONS = torch.tensor([20, 20, 20])


def tiny_model(rows: int = 3) -> Qwen3:
    model = build_model(RandomWeights(TINY, 0, torch.float32, torch.device("cpu")))
    model.allocate_cache(rows, 64)
    return model


def filled_model(rows: int = 3) -> Qwen3:
    model = tiny_model(rows)
    model(TOKENS, START)
    return model


def error_ratio(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


def recorded_step(model: Qwen3, tokens_BL: torch.Tensor, positions_B: torch.Tensor) -> PiecewiseStep:
    step = PiecewiseStep(model, tokens_BL, positions_B)
    step.pieces.capture(record)
    return step


def test_four_layers_are_five_pieces() -> None:
    step = recorded_step(filled_model(), TOKENS[:, :1], POSITIONS)
    assert step.pieces.piece_count == TINY.layer_count + 1
    assert step.note() == "The step was recorded as 5 graphs, with 4 attention calls between them."


def test_pieces_called_plainly_equal_the_uncut_step() -> None:
    model = filled_model()
    expected = model.next_logits(TOKENS[:, :1], POSITIONS)
    assert error_ratio(PiecewiseStep(model, TOKENS[:, :1], POSITIONS).captured(TOKENS[:, :1], POSITIONS), expected) == 0


def test_replayed_pieces_follow_new_tokens_and_positions() -> None:
    model = filled_model()
    step = recorded_step(model, TOKENS[:, :1], POSITIONS)
    other_tokens, other_positions = TOKENS[:, 5:6], torch.tensor([20, 7, 12])
    expected = model.next_logits(other_tokens, other_positions)
    assert error_ratio(step(other_tokens, other_positions), expected) < 1e-6
    first = step(TOKENS[:, :1], POSITIONS)
    assert error_ratio(first, expected) > 0.1


def test_prefill_is_cut_into_pieces_too() -> None:
    model = tiny_model()
    expected = model.next_logits(TOKENS, START)
    assert error_ratio(recorded_step(tiny_model(), TOKENS, START)(TOKENS, START), expected) < 1e-5


def test_inputs_of_another_shape_are_refused() -> None:
    step = recorded_step(filled_model(), TOKENS[:, :1], POSITIONS)
    with pytest.raises(SettingsError, match="captured for tokens of shape"):
        step(TOKENS[:1, :1], POSITIONS[:1])


def test_one_set_of_pieces_serves_a_mixed_batch() -> None:
    """Two rows decode one token each, a third one starts with a prompt of six; two tokens are padding."""
    model = filled_model(rows=4)
    decode = model.next_logits(TOKENS[:2, :1], POSITIONS[:2])
    prompt = tiny_model(1).next_logits(TOKENS[2:, :6], START[:1])
    tokens = torch.cat((TOKENS[:2, 0], TOKENS[2, :6], TOKENS[0, :2])).unsqueeze(1)
    positions = torch.tensor([20, 20, *range(6), 0, 0])
    starts = torch.tensor([0, 64, *[128] * 6, 192, 192])
    pieces = Pieces(model, Inputs(tokens, positions, starts))
    pieces.capture(record)
    logits = pieces.replay(attend_mixed(2, 6))
    assert error_ratio(logits[:2], decode) < 1e-5
    assert error_ratio(logits[7:8], prompt) < 1e-5


@pytest.mark.slow
def test_all_pieces_between_share_one_compiled_function() -> None:
    torch.compiler.reset()
    model = filled_model()
    expected = model.next_logits(TOKENS[:, :1], POSITIONS)
    torch._dynamo.utils.counters.clear()
    step = PiecewiseStep(model, TOKENS[:, :1], POSITIONS, compiled_functions(None))
    assert error_ratio(step.captured(TOKENS[:, :1], POSITIONS), expected) < 1e-4
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 3


def test_every_piece_and_attention_call_is_named_for_the_profiler() -> None:
    import contextlib

    step = recorded_step(filled_model(), TOKENS[:, :1], POSITIONS)
    named: list[str] = []

    def scope(name: str) -> contextlib.AbstractContextManager[Any]:
        named.append(name)
        return contextlib.nullcontext()

    step.pieces.scope = scope
    step(TOKENS[:, :1], POSITIONS)
    assert named[:3] == ["piece#0", "attention#0", "piece#1"]
    assert named[-1] == f"piece#{TINY.layer_count}"
