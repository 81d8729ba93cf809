"""What does every backend answer to one call? Asked, run, timed and compared; whatever is raised becomes its cell."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.nn.attention import sdpa_kernel

from explorer.attention_call import AttentionCall
from explorer.attention_calls import simple_changes, single_changes, with_changes
from explorer.engine import probe_ask as ask
from explorer.engine.probe_failures import CALL_ERRORS, explain
from explorer.engine.probe_flex import flex_refusal, flex_run
from explorer.engine.probe_inputs import CallInputs, error_ratio, make_inputs, reference_of, visible_pairs
from explorer.engine.probe_measure import Run, Stopwatch
from explorer.engine.probe_reasons import reason_of
from explorer.probe_results import PROBE_BACKENDS, CallResult, Cell, Change

_MOST_CHANGES = 3
_SETS_SHOWN = 4


@dataclass
class FlexBudget:
    """How much time compiling flex attention may still take, ns."""

    total_s: int
    left_ns: float

    @classmethod
    def of(cls, seconds: int) -> FlexBudget:
        return cls(seconds, seconds * 1e9)


@dataclass(frozen=True)
class Reference:
    """The right answer to a call, or why there is none."""

    out_BHLV: torch.Tensor | None
    note: str = ""


@dataclass(frozen=True)
class Examiner:
    """Puts calls to every backend; `keep_flex` receives each compiled flex run, which the profiler is shown later."""

    device: torch.device
    stopwatch: Stopwatch
    flex_budget: FlexBudget
    seed: int
    keep_flex: Callable[[AttentionCall, Run], None]

    def examine(self, call: AttentionCall) -> CallResult:
        """The answers of all backends to one call."""
        try:
            inputs = make_inputs(call, self.device, self.seed)
            pairs = visible_pairs(inputs)
        except CALL_ERRORS as problem:
            reason, sentence = explain(problem)
            cells = [
                Cell(backend=backend, outcome="failed", reason=f"{reason} while making the inputs", sentence=sentence)
                for backend in PROBE_BACKENDS
            ]
            return CallResult(call=call, chosen_error=sentence, cells=cells)
        chosen, chosen_error = ask.automatic_choice(inputs)
        reference = _reference(inputs)
        return CallResult(
            call=call,
            chosen=chosen,
            chosen_error=chosen_error,
            visible_pair_count=None if pairs is None else pairs[0],
            masked_row_count=None if pairs is None else pairs[1],
            mask_bytes=inputs.mask_bytes,
            cells=[self._cell(backend, inputs, reference) for backend in PROBE_BACKENDS],
        )

    def _cell(self, backend: str, inputs: CallInputs, reference: Reference) -> Cell:
        if backend == "flex":
            return self._flex_cell(inputs, reference)
        if not ask.accepts(backend, inputs):
            sentence = ask.refusal(backend, inputs)
            return Cell(backend=backend, outcome="refused", reason=reason_of(sentence), sentence=sentence)
        return self._measured(backend, run_under(backend, inputs), inputs, reference)

    def _flex_cell(self, inputs: CallInputs, reference: Reference) -> Cell:
        refusal = flex_refusal(inputs)
        if refusal:
            return Cell(backend="flex", outcome="refused", reason=refusal)
        if self.flex_budget.left_ns <= 0:
            return Cell(backend="flex", outcome="not_tried", reason=_spent(self.flex_budget))
        start_ns = time.perf_counter_ns()
        try:
            run = flex_run(inputs)
        except CALL_ERRORS as problem:
            return _failed("flex", problem)
        cell = self._measured("flex", run, inputs, reference)
        self.flex_budget.left_ns -= time.perf_counter_ns() - start_ns
        if cell.outcome == "ran":
            self.keep_flex(inputs.call, run)
        return cell

    def _measured(self, backend: str, run: Run, inputs: CallInputs, reference: Reference) -> Cell:
        try:
            timing = self.stopwatch.measure(run)
            error, error_note = _error(timing.out, inputs.call, reference)
        except CALL_ERRORS as problem:
            return _failed(backend, problem)
        return Cell(
            backend=backend,
            outcome="ran",
            time_ns=timing.time_ns,
            spread_ns=timing.spread_ns,
            repeat_count=timing.repeat_count,
            host_call_ns=timing.host_call_ns,
            first_call_ns=timing.first_call_ns,
            peak_extra_bytes=timing.peak_extra_bytes,
            error_ratio=error,
            error_note=error_note,
        )


def run_under(backend: str, inputs: CallInputs) -> Run:
    """The call with only that backend allowed."""
    kind = ask.SDPA_BACKENDS[backend]

    def run() -> torch.Tensor:
        with sdpa_kernel(kind):
            return inputs.attend()

    return run


def changes_of(call: AttentionCall, device: torch.device) -> list[Change]:
    """What would be chosen and accepted if one choice of the call were another; asked, not run."""
    changes = []
    for changed in single_changes(call):
        name, _, value = changed.label.partition(" = ")
        answer = _asked(changed, device)
        if answer is not None:
            changes.append(Change(name=name, value=value, chosen=answer[0], accepted=answer[1]))
    return changes


def enabling_changes(call: AttentionCall, backend: str, device: torch.device) -> list[list[str]]:
    """The smallest sets of simple changes, in words, with which a refusing backend accepts; empty when none does."""
    changes = simple_changes(call)
    for size in range(1, min(_MOST_CHANGES, len(changes)) + 1):
        enabling = []
        for chosen in itertools.combinations(changes, size):
            fields = {name: value for _, change in chosen for name, value in change.items()}
            if _accepted(with_changes(call, fields), backend, device):
                enabling.append([words for words, _ in chosen])
        if enabling:
            return enabling[:_SETS_SHOWN]
    return []


def _accepted(call: AttentionCall, backend: str, device: torch.device) -> bool:
    if call.refusals():
        return False
    try:
        return ask.accepts(backend, make_inputs(call, device, None))
    except CALL_ERRORS as problem:
        explain(problem)  # gives back what an allocation that failed had taken
        return False


def _asked(call: AttentionCall, device: torch.device) -> tuple[str | None, list[str]] | None:
    """(chosen, accepted); None for a call whose tensors cannot be made."""
    if call.refusals():
        return None
    try:
        inputs = make_inputs(call, device, None)
    except CALL_ERRORS as problem:
        explain(problem)
        return None
    accepted = [backend for backend in ask.build_backends(device) if ask.accepts(backend, inputs)]
    return ask.automatic_choice(inputs)[0], accepted


def _reference(inputs: CallInputs) -> Reference:
    if inputs.call.dropout_ratio:
        return Reference(None, "dropout makes the result random")
    try:
        return Reference(reference_of(inputs))
    except CALL_ERRORS as problem:
        return Reference(None, f"the float64 reference {explain(problem)[0]}")


def _error(out: torch.Tensor, call: AttentionCall, reference: Reference) -> tuple[float | None, str]:
    if reference.out_BHLV is None:
        return None, reference.note
    if not reference.out_BHLV.isfinite().any():
        return None, "no query sees a key"
    ratio = error_ratio(out, reference.out_BHLV)
    return (ratio, "") if math.isfinite(ratio) else (None, "the result is not finite")


def _failed(backend: str, problem: BaseException) -> Cell:
    reason, sentence = explain(problem)
    return Cell(backend=backend, outcome="failed", reason=reason, sentence=sentence)


def _spent(budget: FlexBudget) -> str:
    if budget.total_s == 0:
        return "flex attention was left out"
    return f"the {budget.total_s} s for compiling flex attention were used up"
