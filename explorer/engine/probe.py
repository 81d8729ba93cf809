"""How is attention probed? Every call asked and timed under every backend, then what surrounds the calls is tried.

The word of this experiment is `probe`: engine/attention.py is the model's own attention, while analysis, charts and
pages say `attention`. results.json is rewritten after every call, so whatever ends the probe loses no earlier answer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.nn.attention import sdpa_kernel

from explorer.attention_call import AttentionCall
from explorer.attention_names import backend_of_name, backend_that_ran
from explorer.engine import probe_ask as ask
from explorer.engine import probe_graphs as graphs
from explorer.engine import probe_ragged as ragged
from explorer.engine.calibrate import calibrate
from explorer.engine.environment import read_environment
from explorer.engine.journal import Journal
from explorer.engine.probe_cells import Examiner, FlexBudget, changes_of, enabling_changes, run_under
from explorer.engine.probe_failures import CALL_ERRORS, explain
from explorer.engine.probe_flex import allow_many_compilations
from explorer.engine.probe_inputs import make_inputs
from explorer.engine.probe_kernels import Marked, kernels_of
from explorer.engine.probe_measure import Run, Stopwatch
from explorer.probe_results import KeptBackend, ProbeResults, results_to_json
from explorer.probe_settings import ProbeSettings
from explorer.recording import RESULTS_FILE, write_json

_KERNELS_KEPT = 16


def run(settings: ProbeSettings, folder: Path, journal: Journal) -> None:
    """Makes the whole probe; a call that is refused or fails is a cell, and whatever else is raised ends the probe."""
    torch.set_grad_enabled(False)
    torch.set_warn_always(True)  # several refusals are said once a process otherwise
    device = torch.device(settings.device)
    with journal.stage("environment"):
        journal.update(environment=read_environment(device))  # before anything else asks for a device that is not there
        probe = _Probe(settings, folder, journal, device)
        probe.look_around()
    with journal.stage("calls"):
        probe.examine_calls()
    if settings.tries_changes:
        with journal.stage("changes"):
            probe.turn_choices()
    if settings.tries_ragged:
        with journal.stage("ragged"):
            probe.call_ragged_rows()
    with journal.stage("graphs"):
        probe.try_graphs()
    with journal.stage("kernels"):
        probe.name_kernels()
    journal.finish()


class _Probe:
    """The results as they grow, and the runs that the profiler will be shown at the end."""

    def __init__(self, settings: ProbeSettings, folder: Path, journal: Journal, device: torch.device) -> None:
        self._settings = settings
        self._folder = folder
        self._journal = journal
        self._device = device
        self._stopwatch = Stopwatch(self._device, settings.repeat_count)
        self._results = ProbeResults()
        self._marked: list[tuple[Marked, Callable[[list[str]], None]]] = []
        self._flex_runs: dict[str, Run] = {}

    def look_around(self) -> None:
        """Ceilings, and the priority order before and after a first call of every backend."""
        before = ask.priority_order()
        _warm_up(self._device)
        self._write(
            priority_before=before,
            priority_order=ask.priority_order(),
            build_backends=ask.build_backends(self._device),
        )
        calibration = calibrate(self._device, torch.bfloat16)
        self._journal.update(calibration=calibration)
        rates = {"bfloat16": calibration.matmul_flops_per_s}
        for dtype in {call.dtype for call in self._settings.calls()} - {"bfloat16"}:
            rates[dtype] = calibrate(self._device, getattr(torch, dtype)).matmul_flops_per_s
        self._write(matmul_flops_per_s=rates)

    def examine_calls(self) -> None:
        """Every call under every backend."""
        if self._settings.compiles:
            allow_many_compilations()
        examiner = Examiner(
            self._device,
            self._stopwatch,
            FlexBudget.of(self._settings.flex_seconds),
            self._settings.seed,
            lambda call, flex_run: self._flex_runs.__setitem__(call.label, flex_run),
        )
        calls = self._settings.calls()
        for index, call in enumerate(calls):
            self._results.calls.append(examiner.examine(call))
            self._write()
            self._mark_cells(index)
            self._journal.count(index + 1, len(calls))

    def turn_choices(self) -> None:
        """What one changed choice would do, and what would make each refusing backend accept."""
        for index, result in enumerate(self._results.calls):
            cells = [
                dataclasses.replace(cell, enabling=enabling_changes(result.call, cell.backend, self._device))
                if cell.outcome == "refused" and cell.backend in self._results.build_backends
                else cell
                for cell in result.cells
            ]
            changes = changes_of(result.call, self._device)
            self._results.calls[index] = dataclasses.replace(result, cells=cells, changes=changes)
            self._journal.count(index + 1, len(self._results.calls))
        self._write()

    def call_ragged_rows(self) -> None:
        """Rows of unequal length, every way."""
        for phase, ways in ragged.WAYS.items():
            batch = ragged.ragged_batch(phase, self._settings.scale, self._device, self._settings.seed)
            reference = ragged.ragged_reference(batch)
            for way in ways:
                self._call_ragged(batch, way, reference)
        self._write()

    def try_graphs(self) -> None:
        """What every backend survives, and which backend a compiled function keeps."""
        backends = [*self._results.build_backends, *(["flex"] if self._settings.flex_seconds else [])]
        for backend in backends:
            tries = graphs.try_graphs(backend, self._device) if self._settings.tries_graphs else []
            tries += graphs.try_compile(backend, self._device) if self._settings.tries_compile else []
            for tried, again in tries:
                self._results.graph_tries.append(tried)
                self._mark(again, self._results.graph_tries)
            self._write()
        if self._settings.tries_compile:
            for first, then in graphs.KEPT_PAIRS:
                self._compile_under(first, then)
        self._write()

    def name_kernels(self) -> None:
        """The kernels of everything that ran, from one profiler session."""
        names = kernels_of([marked for marked, _ in self._marked], self._device, self._folder, self._journal.count)
        for (_, keep), kernels in zip(self._marked, names, strict=True):
            keep(kernels)
        self._write()
        missing = sum(not kernels for kernels in names)
        if missing:
            self._journal.note(f"The profiler recorded nothing for {missing} of {len(names)} calls.")

    def _mark_cells(self, index: int) -> None:
        result = self._results.calls[index]
        for position, cell in enumerate(result.cells):
            if cell.outcome != "ran":
                continue

            def keep(kernels: list[str], position: int = position) -> None:
                cells = self._results.calls[index].cells
                cells[position] = dataclasses.replace(
                    cells[position], kernels=kernels[:_KERNELS_KEPT], ran_backend=backend_that_ran(kernels)
                )

            self._marked.append((Marked(self._preparation(result.call, cell.backend)), keep))

    def _preparation(self, call: AttentionCall, backend: str) -> Callable[[], Run]:
        """What makes a cell's run again; a compiled flex attention is kept instead, or it would be compiled again."""
        if backend == "flex":
            flex_run = self._flex_runs[call.label]
            return lambda: flex_run
        return lambda: run_under(backend, make_inputs(call, self._device, self._settings.seed))

    def _mark(self, again: Run | None, entries: list[Any]) -> None:
        """Shows a run to the profiler; its kernels go to the last of `entries`."""
        if again is None:
            return
        place = len(entries) - 1

        def keep(kernels: list[str]) -> None:
            entries[place] = dataclasses.replace(
                entries[place], kernels=kernels[:_KERNELS_KEPT], ran_backend=backend_that_ran(kernels)
            )

        self._marked.append((Marked(lambda: again), keep))

    def _call_ragged(self, batch: ragged.RaggedBatch, way: ragged.Way, reference: torch.Tensor) -> None:
        result, calls = ragged.ragged_result(batch, way), ragged.ragged_run(batch, way)
        entries = self._results.ragged
        try:
            timing = self._stopwatch.measure(calls)
            error_ratio = float((timing.out.double() - reference).norm() / reference.norm())
        except CALL_ERRORS as problem:
            entries.append(dataclasses.replace(result, outcome="failed", sentence=explain(problem)[1]))
            return
        entries.append(
            dataclasses.replace(
                result,
                time_ns=timing.time_ns,
                host_call_ns=timing.host_call_ns,
                error_ratio=error_ratio,
                peak_extra_bytes=timing.peak_extra_bytes,
            )
        )
        place = len(entries) - 1

        def keep(kernels: list[str]) -> None:
            told = {backend_of_name(name) for name in kernels} - {None}
            backends = sorted(str(backend) for backend in (told - {"math"} or told))
            entries[place] = dataclasses.replace(entries[place], kernels=kernels[:_KERNELS_KEPT], ran_backends=backends)

        self._marked.append((Marked(lambda: calls), keep))

    def _compile_under(self, first: str, then: str) -> None:
        again, sentence = None, ""
        try:
            again = graphs.compiled_under(first, then, self._device)
        except CALL_ERRORS as problem:
            sentence = explain(problem)[1]
        self._results.kept_backends.append(
            KeptBackend(compiled_under=first, called_under=then, kernels=[], ran_backend=None, sentence=sentence)
        )
        self._mark(again, self._results.kept_backends)

    def _write(self, **fields: Any) -> None:
        self._results = dataclasses.replace(self._results, **fields)
        write_json(self._folder / RESULTS_FILE, results_to_json(self._results))


def _warm_up(device: torch.device) -> None:
    """A small call of every backend, so that loading libraries is no call's first-shape cost."""
    inputs = make_inputs(AttentionCall(label="warm-up", query_tokens=64, kv_tokens=64), device, 0)
    inputs.attend()
    for kind in ask.SDPA_BACKENDS.values():
        try:
            with sdpa_kernel(kind):
                inputs.attend()
        except RuntimeError as problem:
            print(f"warm-up of {kind}: {explain(problem)[1]}")
