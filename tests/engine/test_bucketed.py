"""Does a batch padded to a captured size give its own answer, and leave everybody else's cache alone?

Graphs are stood in for by `stand_in_graph`; the same checks run on real ones in tests/gpu/test_buckets.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.engine.bucketed import Batch, BucketedStep
from explorer.engine.model import Qwen3
from explorer.engine.padding_check import cache_sums, check_padding, error_ratio
from explorer.engine.piecewise import Inputs
from explorer.engine.workload import Workload, build_workload, open_weights
from explorer.errors import SettingsError
from explorer.graph_modes import OWN_SUPPORT, Decision, GraphKind, GraphMode, resolve_mode
from explorer.settings import RunSettings
from tests.engine.stand_in_graph import record

SIZES = (1, 2, 4, 8)
CONTEXT = 20


@pytest.fixture(scope="module")
def workload() -> Iterator[Workload]:
    """Ten rows: up to nine that decode, and the null row."""
    with torch.no_grad():
        chosen = RunSettings(batch_size=10, context_tokens=CONTEXT, cache_tokens=32, dtype="float32")
        yield build_workload(chosen, open_weights(chosen))


def bucketed(workload: Workload, mode: GraphMode = "FULL_AND_PIECEWISE", lengths: tuple[int, ...] = ()) -> BucketedStep:
    resolved = resolve_mode(mode, OWN_SUPPORT)
    step = BucketedStep(workload.model, SIZES[-1], resolved, lengths)
    for kind in {resolved.decode, resolved.mixed} - {"NONE"}:
        for size in reversed(SIZES):
            for length in lengths if lengths and kind == "FULL" else (None,):
                step.warm_up(kind, size, length)
                step.capture(kind, size, record, length)
    return step


@pytest.fixture(scope="module")
def step(workload: Workload) -> BucketedStep:
    with torch.no_grad():
        return bucketed(workload)


@pytest.mark.parametrize("kind", ["FULL", "PIECEWISE"])
@pytest.mark.parametrize(("batch", "size"), [(1, 1), (3, 4), (5, 8), (8, 8)])
def test_padded_rows_change_neither_answers_nor_other_rows(
    workload: Workload, step: BucketedStep, batch: int, size: int, kind: GraphKind
) -> None:
    check = check_padding(workload, step, batch=batch, size=size, kind=kind, longest_tokens=CONTEXT + 1)
    assert check.logits_error_ratio < 1e-5
    assert check.other_rows_are_unchanged
    assert check.follows_inputs


def test_padding_without_a_null_row_is_noticed(workload: Workload, step: BucketedStep) -> None:
    """The check itself: padded rows that write where they stand change a row that is not theirs."""
    before = cache_sums(workload.model, 3, CONTEXT)
    starts = workload.model.row_starts_B[:4]
    workload.model(workload.tokens_BL[:4] + 1, workload.positions_B[:4], starts_B=starts)
    assert not torch.equal(before, cache_sums(workload.model, 3, CONTEXT))


@settings(deadline=None, max_examples=20)
@given(batch=st.integers(1, 9), shift=st.integers(0, 1000))
def test_any_batch_gives_the_unpadded_answer(workload: Workload, step: BucketedStep, batch: int, shift: int) -> None:
    with torch.no_grad():
        tokens_BL = (workload.tokens_BL[:batch] + shift) % 1024
        expected = workload.model.next_logits(tokens_BL, workload.positions_B[:batch]).clone()
        found = step.decode(tokens_BL, workload.positions_B[:batch], CONTEXT + 1)
        assert len(found) == batch
        assert error_ratio(found, expected) < 1e-5


def test_a_batch_above_the_largest_size_runs_without_a_graph(step: BucketedStep) -> None:
    decision = step.decide(Batch(9), CONTEXT + 1)
    assert (decision.kind, decision.size) == ("NONE", None)
    assert "are more than the largest captured size, 8" in decision.reason


def test_a_mixed_batch_runs_on_pieces_and_a_decode_on_a_full_graph(step: BucketedStep) -> None:
    assert step.decide(Batch(3), CONTEXT + 1).kind == "FULL"
    assert (step.decide(Batch(2, 3), CONTEXT + 1).kind, step.decide(Batch(2, 3), CONTEXT + 1).size) == ("PIECEWISE", 8)


@pytest.mark.parametrize("mode", ["FULL_AND_PIECEWISE", "FULL_DECODE_ONLY"])
def test_a_mixed_batch_gives_each_part_s_own_answer(workload: Workload, mode: GraphMode) -> None:
    model = workload.model
    mixed = bucketed(workload, mode)
    decode = model.next_logits(workload.tokens_BL[:2], workload.positions_B[:2]).clone()
    prompt_1L = torch.tensor([[5, 6, 7]])
    alone = model.logits(model(prompt_1L, torch.zeros(1, dtype=torch.int64), 8))[0]
    given_tokens = Inputs(
        torch.cat((workload.tokens_BL[:2], prompt_1L.T)),
        torch.cat((workload.positions_B[:2], torch.arange(3))),
        torch.cat((model.row_starts_B[:2], model.row_starts_B[8].expand(3))),
    )
    batch = Batch(2, 3)
    logits = mixed.run(batch, mixed.decide(batch, CONTEXT + 1), given_tokens, CONTEXT + 1)
    assert error_ratio(logits[:2], decode) < 1e-5
    assert error_ratio(logits[2:], alone) < 1e-5


def test_graphs_of_several_lengths_serve_the_rows_that_fit(workload: Workload) -> None:
    step = bucketed(workload, "FULL_DECODE_ONLY", lengths=(10, 24))
    positions_B = torch.tensor([9, 3, 5])
    expected = workload.model.next_logits(workload.tokens_BL[:3], positions_B).clone()
    assert error_ratio(step.decode(workload.tokens_BL[:3], positions_B, 10), expected) < 1e-5
    assert step.decide(Batch(3), 24).kind == "FULL"
    refused = step.decide(Batch(3), 25)
    assert refused.kind == "NONE"
    assert "No full graph reads 25 tokens a row (they read 10, 24)" in refused.reason


def test_flash_attention_s_graphs_serve_exactly_their_length() -> None:
    chosen = RunSettings(batch_size=10, context_tokens=CONTEXT, cache_tokens=32, attention="flash")
    flash = build_workload(chosen, open_weights(chosen))
    step = bucketed(flash, "FULL_AND_PIECEWISE", lengths=(15, 21))
    assert step.decide(Batch(3), 21).kind == "FULL"
    assert step.decide(Batch(3), 20).kind == "PIECEWISE"
    positions_B = torch.full((3,), 14)
    expected = flash.model.logits(flash.model(flash.tokens_BL[:3], positions_B, read_tokens=15)[:, -1])
    decisions = (Decision("FULL", 4, ""), Decision("PIECEWISE", 4, ""))
    for decision in decisions:
        given_rows = Inputs(flash.tokens_BL[:3], positions_B, flash.model.row_starts_B[:3])
        found = step.run(Batch(3), decision, given_rows, 15)
        assert error_ratio(found, expected) < 0.02


def test_a_cache_without_room_for_the_null_row_is_refused(workload: Workload) -> None:
    with pytest.raises(SettingsError, match="need a cache of 11 rows"):
        BucketedStep(workload.model, 10, resolve_mode("FULL", OWN_SUPPORT))


def test_error_that_is_not_a_number_is_infinite() -> None:
    assert error_ratio(torch.tensor([float("nan")]), torch.tensor([1.0])) == float("inf")


def test_model_reads_only_its_rows(workload: Workload) -> None:
    model: Qwen3 = workload.model
    together = model.next_logits(workload.tokens_BL, workload.positions_B)[:3].clone()
    assert error_ratio(model.next_logits(workload.tokens_BL[:3], workload.positions_B[:3]), together) < 1e-5
