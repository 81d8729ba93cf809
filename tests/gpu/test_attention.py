"""On a GPU: is the probe's answer PyTorch's own, are refusals explained, and is a mismatch of backends seen?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch._functorch.config as functorch_config
import torch._inductor.config as inductor_config
from torch.nn.functional import scaled_dot_product_attention

from explorer.attention_call import AttentionCall
from explorer.attention_calls import calls_of
from explorer.attention_names import Backends, backend_that_ran
from explorer.engine import probe_ask as ask
from explorer.engine.probe_cells import Examiner, FlexBudget, enabling_changes
from explorer.engine.probe_graphs import compiled_under, try_graphs
from explorer.engine.probe_inputs import error_ratio, make_inputs, reference_of
from explorer.engine.probe_kernels import Marked, kernels_of
from explorer.engine.probe_measure import Stopwatch
from explorer.engine.probe_ragged import WAYS, ragged_batch, ragged_reference, ragged_run
from explorer.engine.probe_reasons import reason_of
from explorer.probe_results import CallResult
from tests.drawn_calls import choice_of_pytorch, random_calls

pytestmark = pytest.mark.gpu

DEVICE = torch.device("cuda")
RANDOM_CALLS = random_calls(
    150,
    head_counts=(1, 4, 8),
    kv_tokens=(1, 16, 100, 256),
    head_sizes=(8, 33, 64, 80, 128, 256, 512),
    value_head_size=64,
    dropouts=(0.0, 0.0, 0.1, 0.125),
)


@pytest.fixture(autouse=True)
def as_the_probe_does() -> Iterator[None]:
    with torch.no_grad():
        torch.set_warn_always(True)
        yield
        torch.set_warn_always(False)


@pytest.fixture(scope="module")
def examiner() -> Examiner:
    return Examiner(DEVICE, Stopwatch(DEVICE, 3), FlexBudget.of(0), 0, lambda call, run: None)


@pytest.mark.parametrize("call", [*calls_of("why_not", "full"), *RANDOM_CALLS], ids=lambda call: call.label)
def test_choice_is_that_of_pytorch(call: AttentionCall) -> None:
    inputs = make_inputs(call, DEVICE, 0)
    expected = choice_of_pytorch(call, inputs)
    assert ask.automatic_choice(inputs)[0] == expected
    if expected in ask.SDPA_BACKENDS:
        assert ask.accepts(expected, inputs)


def test_every_refusal_has_a_sentence_and_words_of_its_own() -> None:
    unexplained = []
    for call in calls_of("why_not", "full"):
        inputs = make_inputs(call, DEVICE, 0)
        for backend in ("flash", "efficient", "cudnn"):
            if not ask.accepts(backend, inputs):
                sentence = ask.refusal(backend, inputs)
                if not sentence or reason_of(sentence) == sentence:
                    unexplained.append((call.label, backend, sentence))
    assert unexplained == []


def examined(examiner: Examiner, **fields: object) -> CallResult:
    return examiner.examine(AttentionCall(label="examined", **fields))  # type: ignore[arg-type]


def test_masked_decode_is_refused_by_flash_and_measured_under_math(examiner: Examiner) -> None:
    result = examined(examiner, query_tokens=1, kv_head_count=8, mask="padding", mask_shape="B11T")
    flash, math = result.cell("flash"), result.cell("math")
    assert flash is not None
    assert math is not None
    assert (flash.outcome, flash.reason) == ("refused", "takes no mask")
    assert math.outcome == "ran"
    assert math.time_ns is not None
    assert math.time_ns > 1000
    assert math.error_ratio is not None
    assert math.error_ratio < 0.02
    assert math.peak_extra_bytes is not None
    assert math.peak_extra_bytes > 0


def test_call_that_runs_out_of_memory_is_a_cell_and_the_next_one_runs(examiner: Examiner) -> None:
    enormous = examined(examiner, batch_size=2, query_tokens=2**16, kv_tokens=2**16, head_size=8, value_head_size=8)
    cell = enormous.cell("math")
    assert cell is not None
    assert cell.outcome == "failed"
    assert "memory" in cell.reason
    small = examined(examiner, query_tokens=1).cell("math")
    assert small is not None
    assert small.outcome == "ran"


def test_enabling_changes_make_the_backend_accept() -> None:
    call = AttentionCall(label="x", mask="padding", dtype="float32", head_size=512, value_head_size=512)
    assert enabling_changes(call, "flash", DEVICE) == [["bfloat16 instead of float32", "no mask", "heads of 128"]]


def test_graph_replays_follow_changed_masks_and_lengths() -> None:
    tries = {tried.situation: tried for tried, _ in try_graphs("math", DEVICE)}
    assert {situation: tried.survival for situation, tried in tries.items()} == dict.fromkeys(tries, "survives")


@pytest.mark.parametrize(("phase", "way"), [(phase, way) for phase, ways in WAYS.items() for way in ways])
def test_ragged_rows_have_one_answer_by_every_way(phase: str, way: str) -> None:
    batch = ragged_batch(phase, "full", DEVICE, 0)  # type: ignore[arg-type]
    expected = ragged_reference(batch)
    out = ragged_run(batch, way)()  # type: ignore[arg-type]
    assert float((out.double() - expected).norm() / expected.norm()) < 0.02


def test_reference_agrees_with_math_in_float64() -> None:
    for call in calls_of("why_not", "full"):
        if call.dtype == "float64" and not call.dropout_ratio:
            inputs = make_inputs(call, DEVICE, 0)
            plain = scaled_dot_product_attention(*inputs.tensors)
            assert error_ratio(plain, reference_of(inputs)) < 1e-12


def test_forcing_flash_around_a_compiled_function_is_a_mismatch(tmp_path: Path) -> None:
    fresh = {"fx_graph_cache": False}
    with inductor_config.patch(fresh), functorch_config.patch(enable_autograd_cache=False):
        kept = compiled_under("math", "flash", DEVICE)
    (names,) = kernels_of([Marked(lambda: kept)], DEVICE, tmp_path, lambda done, total: None)
    backends = Backends(requested="flash", chosen="math", ran=backend_that_ran(names))
    assert backends.ran == "math"
    assert backends.is_mismatch
