"""How is the same step run: eagerly, compiled, as a CUDA graph or several, or both?

Every mode gives a `Step` with the same meaning; what differs is who submits the work. Preparing a step is its cold
start, and each part of it is timed apart:

    compiler_import_ns  loading the compiler, where the mode compiles
    first_call_ns       the first call, from an idle device to logits; with compilation where the mode compiles
    compile_ns          the part of the first call that its repetition does not need, or what the compiler says it
                        took, if that is longer: a repetition is late too on a busy machine
    compile_stage_ns    of that, what Dynamo's metrics tell apart; the rest is guards, code loading and first launches
    capture_ns          recording the graph, after the first call; PyTorch's graph trees do it on the second call
    graph_memory_bytes  what free device memory lost by capturing: the graph's pool and the executable graph

The kernels of the eager step have run before (the context was prefilled, the correctness checked), so an eager first
call pays for new shapes only.
"""

from __future__ import annotations

import torch
from torch import nn

from explorer.engine.attention import under_backend
from explorer.engine.clock import host_ns
from explorer.engine.compiler_stages import forget_compilations, import_compiler, stage_sums
from explorer.engine.graphs import GraphPool, measure_capture, require_shape, warm_up_aside
from explorer.engine.model import LayerRunner, StepInputs, run_layer
from explorer.engine.piecewise import PiecewiseStep, compiled_functions
from explorer.engine.workload import Step, Workload
from explorer.facts import ColdStart
from explorer.settings import COMPILED_MODES, PIECEWISE_MODES, RunSettings

INPUT_COPY_KERNEL_COUNT = 1
"""Kernels of a replayed step beside the captured ones: all inputs are copied in one."""


def prepare(workload: Workload) -> tuple[Step, ColdStart]:
    """The step in the chosen mode, ready to be called, and what it cost to get there."""
    mode = workload.settings.mode
    compiler_import_ns = _ready_compiler(workload.device) if mode in COMPILED_MODES else None
    pieces = _piecewise_step(workload) if mode in PIECEWISE_MODES else None
    step = pieces.captured if pieces else _uncaptured_step(workload)
    calls_ns = [_call_ns(step, workload)]
    stage_ns = stage_sums() if mode in COMPILED_MODES else {}
    if workload.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(workload.device)  # what compiling and autotuning took is no step's
    calls_ns += [_call_ns(step, workload) for _ in range(2 if mode in COMPILED_MODES else 0)]
    capture_ns = max(0, calls_ns[1] - calls_ns[2]) if mode == "reduce_overhead" else None
    graph_memory_bytes = None
    if pieces:
        warm_up_aside(pieces.pieces.plain)
        _, cost = measure_capture(lambda: pieces.pieces.capture(GraphPool().capture))
        step, capture_ns, graph_memory_bytes = pieces, cost.capture_ns, cost.total_bytes
    elif mode in ("cuda_graph", "compile_cuda_graph"):
        graph = GraphStep(step, workload.tokens_BL, workload.positions_B)
        step, capture_ns, graph_memory_bytes = graph, graph.cost.capture_ns, graph.cost.total_bytes
    cold_start = ColdStart(
        first_call_ns=calls_ns[0],
        compile_ns=max(calls_ns[0] - calls_ns[-1], sum(stage_ns.values())) if mode in COMPILED_MODES else None,
        compiler_import_ns=compiler_import_ns,
        compile_stage_ns=stage_ns,
        capture_ns=capture_ns,
        graph_memory_bytes=graph_memory_bytes,
    )
    return step, cold_start


def _ready_compiler(device: torch.device) -> int:
    """Loads the compiler, ns, and empties its list of compilations."""
    import_ns = import_compiler(device)
    forget_compilations()
    return import_ns


def _call_ns(step: Step, workload: Workload) -> int:
    return host_ns(lambda: step(workload.tokens_BL, workload.positions_B), workload.device)


def _uncaptured_step(workload: Workload) -> Step:
    return compiled_step(workload) if workload.settings.compiles else workload.model.next_logits


def _piecewise_step(workload: Workload) -> PiecewiseStep:
    settings = workload.settings
    functions = compiled_functions(_compile_mode(settings)) if settings.compiles else None
    return PiecewiseStep(workload.model, workload.tokens_BL, workload.positions_B, functions)


def compiled_step(workload: Workload) -> Step:
    """The step under torch.compile: the whole model as one function, or one function that every layer shares."""
    settings, model = workload.settings, workload.model
    if settings.device == "cpu":
        from torch._inductor import config  # only here: runs that do not compile start a second sooner without it

        # Without this Inductor's fused C++ kernels leave no trace, and a compiled run would seem to do nothing.
        config.cpp.enable_kernel_profile = True
    if settings.compile_scope == "layer":
        model.run_layer = compiled_layer(settings)
        return model.next_logits
    compiled = torch.compile(model.next_logits, fullgraph=True, dynamic=False, mode=_compile_mode(settings))
    if settings.mode != "reduce_overhead":
        return compiled

    def step(tokens_BL: torch.Tensor, positions_B: torch.Tensor) -> torch.Tensor:
        # From here on the logits of the call before may be overwritten.
        torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
        return compiled(tokens_BL, positions_B)

    return step


def compiled_layer(settings: RunSettings) -> LayerRunner:
    """One layer under torch.compile, compiled anew for every shape and shared by all layers."""
    backend = settings.attention

    def run_layer_under_backend(layer: nn.Module, x_BLE: torch.Tensor, step: StepInputs) -> torch.Tensor:
        with under_backend(backend):
            return run_layer(layer, x_BLE, step)

    return torch.compile(run_layer_under_backend, fullgraph=True, dynamic=False, mode=_compile_mode(settings))


def _compile_mode(settings: RunSettings) -> str | None:
    if settings.mode == "reduce_overhead":
        return "max-autotune" if settings.autotune else "reduce-overhead"
    return "max-autotune-no-cudagraphs" if settings.autotune else None


class GraphStep:
    """A step as a CUDA graph: new inputs are copied into the graph's own buffers, then it is replayed.

    Rebinding instead of copying would replay the old inputs without an error. The logits it returns are the graph's
    own buffer and last until the next call.
    """

    def __init__(self, step: Step, tokens_BL: torch.Tensor, positions_B: torch.Tensor) -> None:
        self.captured = step
        self._tokens_BL = tokens_BL.clone()
        self._positions_B = positions_B.clone()
        warm_up_aside(lambda: step(self._tokens_BL, self._positions_B))
        (self._replay, self._logits_BV), self.cost = measure_capture(
            lambda: GraphPool().capture(lambda: step(self._tokens_BL, self._positions_B))
        )

    def __call__(self, tokens_BL: torch.Tensor, positions_B: torch.Tensor) -> torch.Tensor:
        require_shape(self._tokens_BL, tokens_BL)
        # Both inputs in one kernel: a second small launch before every replay would be measured with it.
        torch._foreach_copy_([self._tokens_BL, self._positions_B], [tokens_BL, positions_B])
        self._replay()
        return self._logits_BV
