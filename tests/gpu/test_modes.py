"""Do all modes compute the same step on a GPU, and does a replayed graph follow its inputs?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from explorer.engine.modes import GraphStep, compiled_step, prepare
from explorer.engine.workload import Workload, build_workload, open_weights
from explorer.errors import SettingsError
from explorer.settings import Mode, RunSettings

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield
    torch.compiler.reset()


def workload_of(**fields: Any) -> Workload:
    settings = RunSettings(**{"device": "cuda", "batch_size": 2, "context_tokens": 60, "cache_tokens": 128, **fields})
    return build_workload(settings, open_weights(settings))


def error_ratio(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found.float() - expected.float()).norm() / expected.float().norm())


def test_graph_replay_follows_new_tokens_and_positions() -> None:
    workload = workload_of(dtype="float32")
    graph = GraphStep(workload.model.next_logits, workload.tokens_BL, workload.positions_B)
    first = graph(workload.tokens_BL, workload.positions_B).clone()
    other_tokens = (workload.tokens_BL + 1) % 1024
    other_positions = workload.positions_B - torch.tensor([0, 20], device="cuda")
    replayed = graph(other_tokens, other_positions).clone()
    assert error_ratio(replayed, first) > 0.1
    assert error_ratio(replayed, workload.model.next_logits(other_tokens, other_positions)) < 1e-5


def test_graph_refuses_tokens_of_another_shape() -> None:
    workload = workload_of()
    graph = GraphStep(workload.model.next_logits, workload.tokens_BL, workload.positions_B)
    with pytest.raises(SettingsError, match="captured for tokens of shape"):
        graph(workload.tokens_BL[:1], workload.positions_B[:1])


@pytest.mark.parametrize("mode", ["compile", "cuda_graph", "compile_cuda_graph", "reduce_overhead"])
def test_every_mode_agrees_with_eager(mode: Mode) -> None:
    workload = workload_of(mode=mode, dtype="float32")
    expected = workload.model.next_logits(workload.tokens_BL, workload.positions_B).clone()
    step, cold_start = prepare(workload)
    assert error_ratio(step(workload.tokens_BL, workload.positions_B), expected) < 1e-4
    assert (cold_start.capture_ns is None) == (mode == "compile")
    assert (cold_start.compile_ns is None) == (mode == "cuda_graph")


def test_layers_share_one_compiled_function() -> None:
    workload = workload_of(mode="compile", compile_scope="layer", dtype="float32")
    expected = workload.model.next_logits(workload.tokens_BL, workload.positions_B)
    torch._dynamo.utils.counters.clear()
    step = compiled_step(workload)
    assert error_ratio(step(workload.tokens_BL, workload.positions_B), expected) < 1e-4
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_reduce_overhead_skips_no_graph() -> None:
    workload = workload_of(mode="reduce_overhead")
    torch._dynamo.utils.counters.clear()
    prepare(workload)
    assert torch._dynamo.utils.counters["inductor"]["cudagraph_skips"] == 0
