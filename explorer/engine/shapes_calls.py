"""What does each call of a sequence set off, and how long does it take?

A backend of our own stands between Dynamo and the compiler: it notes under which compile id a graph is built, and, at
each call, which graphs run. A call in which none runs was eager, whatever Dynamo says.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
import torch._dynamo
from torch._dynamo.utils import clear_compilation_metrics, get_compilation_metrics

from explorer.engine.clock import host_ns
from explorer.engine.shapes_subjects import Subject, build_subject, padded_size
from explorer.shapes_results import Call, CallOutcome, SteadyTime, VariantResult
from explorer.shapes_settings import ShapesSettings, Variant
from explorer.torch_trace_log import entry_of_metrics

Writer = Callable[[VariantResult], None]
_PAGE_FILE = Path("/proc/self/statm")


class CountingBackend:
    """Builds graphs with Inductor, or leaves them as they are, and counts builds and runs by compile id."""

    def __init__(self, generates_code: bool) -> None:
        self._generates_code = generates_code
        self.built: list[str] = []
        self.ran: list[str] = []

    def __call__(self, graph: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        compile_id = str(torch._guards.CompileContext.current_compile_id())
        run_graph = self._code_of(graph, example_inputs)
        self.built.append(compile_id)

        def run(*inputs: Any) -> Any:
            self.ran.append(compile_id)
            return run_graph(*inputs)

        return run

    def forget(self) -> None:
        """Starts counting anew."""
        self.built.clear()
        self.ran.clear()

    def _code_of(self, graph: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        if not self._generates_code:
            return graph.forward
        from torch._inductor.compile_fx import compile_fx

        return compile_fx(graph, example_inputs)  # type: ignore[return-value]  # its other forms belong to export


class Caller:
    """Calls one variant's function with the sequence, first plainly, then compiled, then at every size again."""

    def __init__(self, settings: ShapesSettings, variant: Variant, write: Writer) -> None:
        self._settings = settings
        self._variant = variant
        self._device = torch.device(settings.device)
        self._backend = CountingBackend(settings.backend == "inductor")
        self._write = write
        torch._dynamo.config.recompile_limit = settings.recompile_limit
        self.result = VariantResult(
            variant=variant,
            recompile_limit=torch._dynamo.config.recompile_limit,
            accumulated_limit=torch._dynamo.config.accumulated_recompile_limit,
        )
        self._subject: Subject
        self._expected: list[torch.Tensor] = []
        self._compiled: Callable[..., torch.Tensor]

    def note(self, **fields: Any) -> None:
        """Sets fields of the result and writes it."""
        self.result = replace(self.result, **fields)
        self._write(self.result)

    def build(self) -> None:
        """Builds the model or expression."""
        variant = self._variant

        def build() -> None:
            self._subject = build_subject(self._settings, variant.dynamic, variant.scope)

        self.note(build_ns=host_ns(build, self._device))

    def call_eagerly(self) -> None:
        """Every call without torch.compile: the expected answers, and what the compiled form has to beat."""
        function = self._subject.plain()
        times: dict[int, list[int]] = {}
        for index, size in enumerate(self._settings.sizes):
            time_ns, answer = self._timed(function, self._subject.arguments(index, size))
            times.setdefault(size, []).append(time_ns)
            self._expected.append(answer.float().cpu())
        first_ns = times[self._settings.sizes[0]][0]
        for size in self._distinct_sizes():
            times[size] = self._latencies(function, size)
        eager = [SteadyTime(size=size, outcome="eager", latencies_ns=times[size]) for size in sorted(times)]
        self.note(first_eager_ns=first_ns, eager=eager)

    def call_compiled(self) -> None:
        """The sequence under torch.compile, each call timed alone."""
        dynamic = {"none": None, "mark_dynamic": None, "false": False, "buckets": False, "true": True}
        self._compiled = self._subject.compiled(
            lambda function: torch.compile(function, backend=self._backend, dynamic=dynamic[self._variant.dynamic])
        )
        for index, size in enumerate(self._settings.sizes):
            clear_compilation_metrics()  # Dynamo keeps the latest few dozen only
            call = self._call(index, size)
            entries = [entry_of_metrics(asdict(metrics)) for metrics in get_compilation_metrics() if not metrics.is_runtime]
            call = replace(call, entry_ids=[entry.compile_id for entry in entries])
            self.note(calls=[*self.result.calls, call], entries=[*self.result.entries, *entries])

    def call_again(self) -> None:
        """Every size again and again, now that the sequence is over."""
        for size in self._distinct_sizes():
            latencies_ns = self._latencies(self._compiled, self._padded(size))
            steady = SteadyTime(size=size, outcome=self._outcome(), latencies_ns=latencies_ns)
            self.note(steady=[*self.result.steady, steady])

    def _call(self, index: int, size: int) -> Call:
        self._backend.forget()
        padded = self._padded(size)
        if self._device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self._device)
        time_ns, answer = self._timed(self._compiled, self._subject.arguments(index, padded))
        return Call(
            index=index,
            size=size,
            padded_size=padded,
            outcome=self._outcome(),
            time_ns=time_ns,
            built_ids=list(self._backend.built),
            ran_ids=list(dict.fromkeys(self._backend.ran)),
            memory_bytes=_memory_bytes(self._device),
            error_ratio=self._error_ratio(index, answer),
        )

    def _outcome(self) -> CallOutcome:
        if self._backend.built:
            return "compiled"
        return "reused" if self._backend.ran else "eager"

    def _latencies(self, function: Callable[..., torch.Tensor], size: int) -> list[int]:
        arguments = self._subject.arguments(0, size)
        self._timed(function, arguments)
        self._backend.forget()
        return [self._timed(function, arguments)[0] for _ in range(self._settings.steady_call_count)]

    def _timed(self, function: Callable[..., torch.Tensor], arguments: tuple[Any, ...]) -> tuple[int, torch.Tensor]:
        answers: list[torch.Tensor] = []
        time_ns = host_ns(lambda: answers.append(function(*arguments)), self._device)
        return time_ns, answers[0]

    def _padded(self, size: int) -> int:
        return padded_size(size, self._variant.dynamic, max(self._settings.sizes))

    def _distinct_sizes(self) -> list[int]:
        """The sizes that can be called again and again: none where every call changes the function."""
        return [] if self._subject.is_stepwise else sorted(set(self._settings.sizes))

    def _error_ratio(self, index: int, answer: torch.Tensor) -> float:
        expected = self._expected[index]
        found = answer.float().cpu()
        rows = found[: len(expected)]  # padded rows stand behind the real ones
        norm = expected.double().norm().item()
        return (rows.double() - expected.double()).norm().item() / norm if norm else 0.0


def _memory_bytes(device: torch.device) -> int:
    """The device allocator's peak since the call began; on the CPU what the process holds."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if _PAGE_FILE.exists():
        return int(_PAGE_FILE.read_text(encoding="utf-8").split()[1]) * resource.getpagesize()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
