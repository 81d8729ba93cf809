"""What does each call of a sequence set off, and how long does it take?"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch._dynamo

from explorer.engine.clock import host_ns
from explorer.engine.compiler_stages import compiled_entries, forget_compilations, launch_autotune_ns
from explorer.engine.shapes_backend import CountingBackend, PieceRun, crossings_of
from explorer.engine.shapes_subjects import Subject, build_subject, padded_size
from explorer.shapes_results import Call, CallOutcome, SteadyTime, VariantResult
from explorer.shapes_settings import ShapesSettings, Variant

Writer = Callable[[VariantResult], None]
_PAGE_FILE = Path("/proc/self/statm")


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
        self._repeated: list[list[PieceRun]] = []
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
            forget_compilations()
            call = self._call(index, size)
            entries = compiled_entries()
            ids = [entry.compile_id for entry in entries]
            call = replace(call, entry_ids=ids, launch_autotune_ns=launch_autotune_ns())
            self.note(calls=[*self.result.calls, call], entries=[*self.result.entries, *entries])

    def call_again(self) -> None:
        """Every size again and again, now that the sequence is over."""
        for size in self._distinct_sizes():
            latencies_ns = self._latencies(self._compiled, self._padded(size))
            steady = SteadyTime(size=size, outcome=self._outcome(), latencies_ns=latencies_ns)
            # Between layers that are compiled one by one nothing is broken.
            crossings = crossings_of(size, self._repeated) if self._variant.scope == "model" else []
            self.note(steady=[*self.result.steady, steady], crossings=[*self.result.crossings, *crossings])

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
            ran_ids=list(dict.fromkeys(run.compile_id for run in self._backend.runs)),
            memory_bytes=_memory_bytes(self._device),
            error_ratio=self._error_ratio(index, answer),
        )

    def _outcome(self) -> CallOutcome:
        if self._backend.built:
            return "compiled"
        return "reused" if self._backend.runs else "eager"

    def _latencies(self, function: Callable[..., torch.Tensor], size: int) -> list[int]:
        arguments = self._subject.arguments(0, size)
        self._timed(function, arguments)
        self._backend.forget()
        self._repeated, latencies_ns = [], []
        for _ in range(self._settings.steady_call_count):
            before = len(self._backend.runs)
            latencies_ns.append(self._timed(function, arguments)[0])
            self._repeated.append(self._backend.runs[before:])
        return latencies_ns

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
