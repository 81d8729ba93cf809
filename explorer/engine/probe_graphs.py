"""Does a backend survive a CUDA graph and torch.compile? Tried: captured, replayed after changes, result compared.

One decode step of a few rows with equal heads, in three forms: without a mask, with a mask from a static buffer, and
with a mask that the captured code makes itself from a tensor of lengths. Before every replay the static tensors are
overwritten in place; the replay must equal an eager call on the new contents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.attention import sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

from explorer.engine.graphs import warm_up_aside
from explorer.engine.probe_ask import SDPA_BACKENDS
from explorer.engine.probe_failures import CALL_ERRORS, explain
from explorer.engine.probe_measure import Run
from explorer.probe_results import GraphTry, Survival

_ROWS, _HEADS, _TOKENS, _SIZE = 4, 8, 512, 64
_LARGEST_ERROR = 0.02
_FIRST_LENGTHS = (100, 40, 130, 256)
_OTHER_LENGTHS = (300, 5, 512, 129)

GRAPH_SITUATIONS = ("captured", "cache contents changed", "mask changed", "lengths changed")
COMPILE_SITUATIONS = ("inside torch.compile", "compiled, then captured")


Tried = tuple[GraphTry, Run | None]
"""What became of it, and the run to show to the profiler where there is one."""


@dataclass
class Step:
    """A decode step's static tensors; `overwrite` gives them new contents in place."""

    device: torch.device
    token_count: int = _TOKENS
    q_BHLD: torch.Tensor = field(init=False)
    k_BHTD: torch.Tensor = field(init=False)
    v_BHTD: torch.Tensor = field(init=False)
    lengths_B: torch.Tensor = field(init=False)
    mask_B11T: torch.Tensor = field(init=False)

    def __post_init__(self) -> None:
        options: dict[str, Any] = {"dtype": torch.bfloat16, "device": self.device}
        self.q_BHLD = torch.randn(_ROWS, _HEADS, 1, _SIZE, **options)
        self.k_BHTD, self.v_BHTD = (torch.randn(_ROWS, _HEADS, self.token_count, _SIZE, **options) for _ in range(2))
        self.lengths_B = torch.tensor(_FIRST_LENGTHS, device=self.device)
        self.mask_B11T = self.made_mask()

    def made_mask(self) -> torch.Tensor:
        """B11T from the lengths."""
        return torch.arange(self.token_count, device=self.device) < self.lengths_B[:, None, None, None]

    def overwrite(self, situation: str) -> None:
        """Changes what the situation says, in place."""
        if situation == "cache contents changed":
            self.k_BHTD.copy_(torch.randn_like(self.k_BHTD))
            self.v_BHTD.copy_(torch.randn_like(self.v_BHTD))
        if situation in ("mask changed", "lengths changed"):
            self.lengths_B.copy_(torch.tensor(_OTHER_LENGTHS, device=self.device))
            self.mask_B11T.copy_(self.made_mask())


def try_graphs(backend: str, device: torch.device) -> list[Tried]:
    """What one backend survives of GRAPH_SITUATIONS, each captured afresh."""
    if device.type != "cuda":
        sentence = "CUDA graphs need a CUDA device."
        return [_tried(backend, situation, "not_tried", sentence=sentence) for situation in GRAPH_SITUATIONS]
    return [_try(backend, situation, device, _replayed) for situation in GRAPH_SITUATIONS]


def try_compile(backend: str, device: torch.device) -> list[Tried]:
    """What one backend survives of COMPILE_SITUATIONS; a graph break fails, since the function is compiled whole."""
    tries = [_try(backend, COMPILE_SITUATIONS[0], device, _compiled)]
    if device.type == "cuda":
        tries.append(_try(backend, COMPILE_SITUATIONS[1], device, _compiled_and_replayed))
    return tries


def step_function(backend: str, situation: str, step: Step) -> Run:
    """The step under that backend, in the form that the situation needs."""
    if backend == "flex":
        return _flex_function(situation, step)
    mask_of: Callable[[], torch.Tensor | None] = {
        "mask changed": lambda: step.mask_B11T,
        "lengths changed": step.made_mask,
    }.get(situation, lambda: None)
    kind = SDPA_BACKENDS[backend]

    def run() -> torch.Tensor:
        with sdpa_kernel(kind):
            return scaled_dot_product_attention(step.q_BHLD, step.k_BHTD, step.v_BHTD, attn_mask=mask_of())

    return run


def _flex_function(situation: str, step: Step) -> Run:
    """Flex attention whose mask reads the lengths; its block mask stays as it was made for the first lengths."""
    lengths_B = step.lengths_B
    block_mask = None
    if situation in ("mask changed", "lengths changed"):

        def is_real(row: Any, head: Any, query: Any, key: Any) -> Any:
            return key < lengths_B[row]

        block_mask = create_block_mask(is_real, _ROWS, None, 1, _TOKENS, device=str(step.device))
    compiled: Any = torch.compile(flex_attention, dynamic=False)

    def run() -> torch.Tensor:
        out: torch.Tensor = compiled(step.q_BHLD, step.k_BHTD, step.v_BHTD, block_mask=block_mask)
        return out

    return run


def _expected(situation: str, step: Step) -> torch.Tensor:
    """The eager answer of the math backend in float32 on what the tensors hold now."""
    mask = step.made_mask() if situation in ("mask changed", "lengths changed") else None
    q_BHLD, k_BHTD, v_BHTD = (tensor.float() for tensor in (step.q_BHLD, step.k_BHTD, step.v_BHTD))
    with sdpa_kernel(SDPA_BACKENDS["math"]):
        return scaled_dot_product_attention(q_BHLD, k_BHTD, v_BHTD, attn_mask=mask)


def _replayed(run: Run, step: Step, situation: str) -> Run:
    replay = capture(run)
    step.overwrite(situation)
    return replay


def _compiled(run: Run, step: Step, situation: str) -> Run:
    compiled: Run = torch.compile(run, fullgraph=True, dynamic=False)
    compiled()
    step.overwrite("cache contents changed")
    return compiled


def _compiled_and_replayed(run: Run, step: Step, situation: str) -> Run:
    replay = capture(torch.compile(run, fullgraph=True, dynamic=False))
    step.overwrite("cache contents changed")
    return replay


def capture(run: Run) -> Run:
    """The run as a CUDA graph: what is returned replays it and gives the graph's own output buffer."""
    warm_up_aside(run)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = run()
    return Replay(graph, out, run)


@dataclass(frozen=True)
class Replay:
    """A captured run. It keeps the run, and so the tensors that the graph reads: a replay after those are gone would
    read whatever stands in their memory by then.
    """

    graph: torch.cuda.CUDAGraph
    out: torch.Tensor
    captured: Run

    def __call__(self) -> torch.Tensor:
        self.graph.replay()
        return self.out


def _try(backend: str, situation: str, device: torch.device, perform: Callable[[Run, Step, str], Run]) -> Tried:
    step = Step(device)
    try:
        run = step_function(backend, situation, step)
        run()
    except CALL_ERRORS as problem:
        reason, sentence = explain(problem)
        return _tried(
            backend, situation, "not_tried", sentence=sentence if reason == sentence else f"{reason}: {sentence}"
        )
    try:
        again = perform(run, step, situation)
        out, expected = again(), _expected(situation, step)
        error_ratio = float((out.float() - expected).norm() / expected.norm())
    except CALL_ERRORS as problem:
        return _tried(backend, situation, "fails", sentence=explain(problem)[1])
    survival: Survival = "survives" if error_ratio <= _LARGEST_ERROR else "wrong"
    return GraphTry(backend=backend, situation=situation, survival=survival, error_ratio=error_ratio), again


def _tried(backend: str, situation: str, survival: Survival, *, sentence: str) -> Tried:
    return GraphTry(backend=backend, situation=situation, survival=survival, sentence=sentence), None


KEPT_PAIRS = (("math", "flash"), ("flash", "math"))


def compiled_under(first: str, then: str, device: torch.device) -> Run:
    """A function without a backend of its own, compiled while only `first` is allowed; the run calls it under `then`.

    Dynamo guards no backend, so the function keeps the first. Each pair has a length of its own: otherwise Dynamo would
    take the code of the other pair, for the same reason.
    """
    step = Step(device, _TOKENS + 64 * (1 + KEPT_PAIRS.index((first, then))))

    def attend() -> torch.Tensor:
        return scaled_dot_product_attention(step.q_BHLD, step.k_BHTD, step.v_BHTD)

    compiled: Run = torch.compile(attend, fullgraph=True, dynamic=False)
    with sdpa_kernel(SDPA_BACKENDS[first]):
        compiled()

    def call() -> torch.Tensor:
        with sdpa_kernel(SDPA_BACKENDS[then]):
            return compiled()

    return call
