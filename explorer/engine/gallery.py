"""What does compiling change about small expressions? Each run eagerly and compiled, watched, timed and profiled.

results.json is rewritten after every expression. The profiler's one session comes last and holds, for each
expression, calls under marks of their own: `gallery#sigmoid_chain/eager#0`, `gallery#sigmoid_chain/compiled#0`, ...
"""

from __future__ import annotations

import dataclasses
import inspect
from functools import partial
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from explorer.engine.calibrate import calibrate
from explorer.engine.clock import synchronize, unblocked_ns
from explorer.engine.environment import read_environment
from explorer.engine.gallery_compile import CompiledExpression, compile_expression, prepare_inductor
from explorer.engine.gallery_expressions import Expression, Function, Inputs, expression_of
from explorer.engine.gallery_operators import EagerOperators, watch_operators
from explorer.engine.journal import Journal
from explorer.engine.probe_failures import CALL_ERRORS, explain
from explorer.engine.probe_measure import Stopwatch
from explorer.gallery_results import ExpressionResult, GalleryResults, SideResult, results_to_json
from explorer.gallery_settings import GallerySettings
from explorer.recording import RESULTS_FILE, TRACE_FILE, write_json

MARK = "gallery#"
_DISCARDED_CALL_COUNT = 2


def run(settings: GallerySettings, folder: Path, journal: Journal) -> None:
    """Makes the whole gallery; an expression that fails says so in its result and the others go on."""
    torch.set_grad_enabled(False)
    device = torch.device(settings.device)
    with journal.stage("environment"):
        journal.update(environment=read_environment(device))  # before anything else asks for a device that is not there
        gallery = _Gallery(settings, folder, journal, device)
        journal.update(calibration=calibrate(device, getattr(torch, settings.dtype)))
        prepare_inductor(device)
    with journal.stage("expressions"):
        for place, name in enumerate(settings.names):
            gallery.examine(expression_of(name, settings))
            journal.count(place + 1, len(settings.names))
    with journal.stage("profile"):
        gallery.profile()
    journal.finish()


class _Gallery:
    """The results as they grow, and the pairs of functions to show to the profiler."""

    def __init__(self, settings: GallerySettings, folder: Path, journal: Journal, device: torch.device) -> None:
        self._settings = settings
        self._folder = folder
        self._journal = journal
        self._device = device
        self._stopwatch = Stopwatch(device, settings.repeat_count)
        self._results: list[ExpressionResult] = []
        self._pairs: list[tuple[Expression, Function]] = []

    def examine(self, expression: Expression) -> None:
        """One expression: operators, compilation, errors and times; writes the results."""
        result = ExpressionResult(
            name=expression.name,
            title=expression.title,
            source=inspect.getsource(expression.function),
            place=f"{Path(inspect.getfile(expression.function)).name}",
            inputs=[f"{' × '.join(map(str, one.shape))} {str(one.dtype)[6:]}" for one in expression.inputs],
        )
        try:
            result = self._with_operators(result, watch_operators(expression))
            compiled = compile_expression(expression)
            result = self._with_compiled(result, compiled)
            result = self._measured(result, expression, compiled.function)
            self._pairs.append((expression, compiled.function))
        except CALL_ERRORS as problem:
            result = dataclasses.replace(result, failure=explain(problem)[1])
            self._journal.note(f"{expression.title}: {result.failure}")
        self._results.append(result)
        write_json(self._folder / RESULTS_FILE, results_to_json(GalleryResults(expressions=self._results)))

    def _with_operators(self, result: ExpressionResult, eager: EagerOperators) -> ExpressionResult:
        return dataclasses.replace(
            result,
            operators=eager.operators,
            temporary_count=eager.temporary_count,
            temporary_bytes=eager.temporary_bytes,
            eager_bytes=sum(one.read_bytes + one.written_bytes for one in eager.operators),
            fused_bytes=eager.fused_bytes,
        )

    def _with_compiled(self, result: ExpressionResult, compiled: CompiledExpression) -> ExpressionResult:
        return dataclasses.replace(
            result,
            graph_count=compiled.graph_count,
            graph_breaks=compiled.graph_breaks,
            kernels=compiled.kernels,
            generated_code=compiled.generated_code,
        )

    def _measured(self, result: ExpressionResult, expression: Expression, compiled: Function) -> ExpressionResult:
        reference = expression.function(*(tensor.double() for tensor in expression.inputs)).double()
        eager = self._side(expression, expression.function, reference)
        return dataclasses.replace(result, eager=eager, compiled=self._side(expression, compiled, reference))

    def _side(self, expression: Expression, function: Function, reference: torch.Tensor) -> SideResult:
        timing = self._stopwatch.measure(lambda: function(*expression.inputs))
        difference = (timing.out.double() - reference).norm()
        return SideResult(
            time_ns=timing.time_ns,
            spread_ns=timing.spread_ns,
            host_call_ns=timing.host_call_ns,
            first_call_ns=timing.first_call_ns,
            peak_extra_bytes=timing.peak_extra_bytes,
            error_ratio=float(difference / reference.norm()),
        )

    def profile(self) -> None:
        """One profiler session over every pair; writes the trace."""
        sides = [
            (f"{MARK}{expression.name}/{side}", function, expression.inputs)
            for expression, compiled in self._pairs
            for side, function in (("eager", expression.function), ("compiled", compiled))
        ]
        for _ in range(_DISCARDED_CALL_COUNT):  # later expressions emptied Dynamo's caches of the earlier ones
            for _, function, inputs in sides:
                function(*inputs)
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if self._device.type == "cuda" else [])]
        session = profile(activities=activities, record_shapes=True)
        session.prepare_trace()
        torch.ones(8, device=self._device).softmax(0)
        synchronize(self._device)
        session.start_trace()
        for place, (mark, function, inputs) in enumerate(sides):
            for call in range(self._settings.profiled_calls):
                unblocked_ns(partial(_annotated, f"{mark}#{call}", function, inputs), self._device)
            self._journal.count(place + 1, len(sides))
        session.stop_trace()
        draft = self._folder / f".{TRACE_FILE}"  # the ending decides that the profiler compresses it
        session.export_chrome_trace(str(draft))
        draft.replace(self._folder / TRACE_FILE)


def _annotated(mark: str, function: Function, inputs: Inputs) -> None:
    with record_function(mark):
        function(*inputs)
