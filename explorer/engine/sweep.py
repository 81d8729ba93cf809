"""What does a step cost at every batch size, eagerly and replayed, and what do its graphs cost? A sweep's stages.

The order keeps sizes comparable: everything that is measured at one size is measured at all sizes in turns, forwards
and backwards, so that a device that slows down shows in the spread and not in the curve.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch

from explorer.engine.bucketed import Batch, BucketedStep
from explorer.engine.calibrate import calibrate
from explorer.engine.clock import host_ns
from explorer.engine.compiler_stages import import_compiler
from explorer.engine.environment import read_environment
from explorer.engine.graphs import GraphPool, measure_capture, warm_up_aside
from explorer.engine.journal import Journal
from explorer.engine.model import LayerRunner
from explorer.engine.modes import compiled_layer
from explorer.engine.padding_check import check_padding
from explorer.engine.piecewise import Inputs
from explorer.engine.traps import can_capture, is_alive, walk_into_traps
from explorer.engine.workload import Workload, build_workload, open_weights
from explorer.graph_modes import OWN_SUPPORT, Decision, GraphKind, resolve_mode
from explorer.recording import RESULTS_FILE, write_json
from explorer.sweep_settings import (
    GraphMeasurement,
    ServedBatch,
    SizeMeasurement,
    SweepResults,
    SweepSettings,
    results_to_json,
)

_ROUND_COUNT = 2
_SERVED_STEP_COUNT = 5
_CHECKED_SIZE_COUNT = 5
_PROMPT_TOKENS = 3


def run(settings: SweepSettings, folder: Path, journal: Journal) -> None:
    """Makes the whole sweep; whatever it raises ends it at the journal's current stage."""
    device = torch.device(settings.device)
    torch.set_grad_enabled(False)
    torch.manual_seed(settings.seed)
    torch.set_float32_matmul_precision("highest")
    with journal.stage("environment"):
        journal.update(environment=read_environment(device), attention_requested=settings.attention)
        journal.update(calibration=calibrate(device, getattr(torch, settings.dtype)))
    with journal.stage("build"):
        pool = GraphPool() if device.type == "cuda" else None
        sweep = Sweep(settings, _build(settings, journal), folder, journal, pool)
    with journal.stage("eager"):
        sweep.measure_eager()
    with journal.stage("capture"):
        sweep.capture()
    with journal.stage("replay"):
        sweep.measure_replays()
    with journal.stage("padding"):
        sweep.check_padding()
    with journal.stage("batches"):
        sweep.serve_batches()
    with journal.stage("traps"):
        sweep.walk_into_traps()
    if device.type == "cuda":
        journal.update(peak_memory_bytes=torch.cuda.max_memory_allocated(device))
    journal.finish()


def _build(settings: SweepSettings, journal: Journal) -> Workload:
    run_settings = settings.run_settings()
    source = open_weights(run_settings)
    journal.update(parameter_count=source.shape.parameter_count, weight_bytes=source.shape.weight_bytes(settings.dtype))
    workload = build_workload(run_settings, source)
    for note in workload.model.policy.notes():
        journal.note(note)
    return workload


class Sweep:
    """A sweep under way: its model, its graphs, and its results, which are on disk after every size."""

    def __init__(
        self, settings: SweepSettings, workload: Workload, folder: Path, journal: Journal, pool: GraphPool | None
    ) -> None:
        self._settings = settings
        self._pool = pool
        self._workload = workload
        self._path = folder / RESULTS_FILE
        self._journal = journal
        self._sizes = sorted(settings.sizes, reverse=True)
        resolved = resolve_mode(settings.graph_mode, OWN_SUPPORT)
        for reason in resolved.reasons:
            journal.note(reason)
        self._kinds: list[GraphKind] = [
            kind for kind in ("FULL", "PIECEWISE") if kind in (resolved.decode, resolved.mixed)
        ]
        self._bucketed = BucketedStep(workload.model, self._sizes[0], resolved, settings.read_lengths)
        self.results = SweepResults(
            graph_mode=resolved.mode,
            mode_reasons=list(resolved.reasons),
            sizes=[SizeMeasurement(size=size) for size in self._sizes],
        )
        if pool is None:
            reason = (
                "CUDA graphs need a CUDA device, and this sweep ran on the CPU: its times are those of eager steps."
            )
            self._update(no_graphs_reason=reason)
            journal.note(reason)

    def measure_eager(self) -> None:
        """Latencies of the eager step at every size."""
        model = self._workload.model
        for done, (place, step_count) in enumerate(self._rounds(self._settings.eager_steps)):
            given = self._given(self._sizes[place])
            step = partial(model.next_logits, given.tokens_BL, given.positions_B)
            step()  # a new shape makes new plans
            new = self._latencies_ns(step, step_count)
            measured = self.results.sizes[place]
            self._replace_size(place, eager_latencies_ns=[*measured.eager_latencies_ns, *new])
            self._journal.count(done + 1, _ROUND_COUNT * len(self._sizes))

    def capture(self) -> None:
        """Records every size, largest first, full graphs before pieces, all into one pool."""
        if self._pool is None:
            return
        self._raise_recompile_limit()
        todo = [(kind, place, length) for kind in self._kinds for place, length in self._places_and_lengths(kind)]
        for done, (kind, place, length) in enumerate(todo):
            measured = self._capture_one(self._pool, kind, self._sizes[place], length)
            self._replace_size(place, graphs=[*self.results.sizes[place].graphs, measured])
            self._journal.count(done + 1, len(todo))

    def measure_replays(self) -> None:
        """Latencies of a step on each graph: inputs copied in, replayed, finished."""
        for done, (place, step_count) in enumerate(self._rounds(self._settings.replayed_steps)):
            size = self._sizes[place]
            graphs = []
            for graph in self.results.sizes[place].graphs:
                longest_tokens = self._longest(graph.read_tokens)
                given, decision = self._given(size, longest_tokens), Decision(graph.kind, size, "")
                step = partial(self._bucketed.run, Batch(size), decision, given, longest_tokens)
                step()
                new = self._latencies_ns(step, step_count)
                graphs.append(dataclasses.replace(graph, replay_latencies_ns=[*graph.replay_latencies_ns, *new]))
            self._replace_size(place, graphs=graphs)
            self._journal.count(done + 1, _ROUND_COUNT * len(self._sizes))

    def check_padding(self) -> None:
        """Pads a few batches, each just above the size before, and compares them with the unpadded step."""
        if self._pool is None:
            return
        padded = [(low + 1, high) for low, high in zip([0, *self._sizes[:0:-1]], self._sizes[::-1], strict=True)]
        padded = [(batch, size) for batch, size in padded if batch < size]
        stride = max(1, len(padded) // _CHECKED_SIZE_COUNT)
        longest_tokens = self._settings.context_tokens + 1
        checks = [
            check_padding(
                self._workload, self._bucketed, batch=batch, size=size, kind=kind, longest_tokens=longest_tokens
            )
            for batch, size in padded[::-stride]
            for kind in self._kinds
        ]
        self._update(padding_checks=checks)

    def serve_batches(self) -> None:
        """Runs a few decodes and mixed batches as vLLM's rules decide, one of them larger than every size."""
        largest = self._sizes[0]
        decodes = sorted({1, min(3, largest), largest // 2 + 1, largest, largest + 1})
        prompt_tokens = min(largest + 1, self._settings.cache_tokens)
        mixed = [Batch(min(2, largest), _PROMPT_TOKENS), Batch(1, max(2, prompt_tokens))]
        self._update(batches=[self._serve(batch) for batch in [*map(Batch, decodes), *mixed]])

    def walk_into_traps(self) -> None:
        """The traps, on a GPU only, and whether the process is still usable afterwards."""
        if self._pool is None:
            return
        self._update(traps=walk_into_traps(self._workload.device))
        device = self._workload.device
        self._update(is_alive_after_traps=is_alive(device), can_capture_after_traps=can_capture(device))

    @cached_property
    def _compiled_layer(self) -> LayerRunner:
        """One layer under torch.compile; loads the compiler first, which is no part of compiling."""
        import_compiler(self._workload.device)
        return compiled_layer(self._workload.settings)

    def _capture_one(self, pool: GraphPool, kind: GraphKind, size: int, length: int | None) -> GraphMeasurement:
        model, device = self._workload.model, self._workload.device
        plain_layer = model.run_layer
        compiles = kind == "FULL" and size in self._settings.compiled_sizes
        if compiles:
            model.run_layer = self._compiled_layer

        def warm_up() -> None:
            self._bucketed.warm_up(kind, size, length)

        first_ns, second_ns = host_ns(warm_up, device), host_ns(warm_up, device)
        warm_up_ns = host_ns(lambda: warm_up_aside(warm_up), device)
        count, cost = measure_capture(lambda: self._bucketed.capture(kind, size, pool.capture, length))
        model.run_layer = plain_layer
        return GraphMeasurement(
            kind=kind,
            read_tokens=length,
            graph_count=count,
            compile_ns=max(0, first_ns - second_ns) if compiles else None,
            warm_up_ns=warm_up_ns,
            capture_ns=cost.capture_ns,
            pool_bytes=cost.pool_bytes,
            outside_bytes=cost.outside_bytes,
        )

    def _serve(self, batch: Batch) -> ServedBatch:
        longest_tokens = self._settings.context_tokens + 1
        decision = self._bucketed.decide(batch, longest_tokens)
        given = self._mixed_inputs(batch)

        def step() -> torch.Tensor:
            return self._bucketed.run(batch, decision, given, longest_tokens)

        step()
        return ServedBatch(
            decode_count=batch.decode_count,
            prompt_count=batch.prompt_count,
            kind=decision.kind,
            size=decision.size,
            reason=decision.reason,
            latencies_ns=self._latencies_ns(step, _SERVED_STEP_COUNT),
        )

    def _mixed_inputs(self, batch: Batch) -> Inputs:
        """The first rows' next tokens, then the prompt, which goes to the row behind the largest size's."""
        decode, model = self._given(batch.decode_count), self._workload.model
        if not batch.prompt_count:
            return decode
        device = self._workload.device
        tokens = torch.arange(batch.prompt_count, device=device) % model.shape.vocab_size
        positions = torch.arange(batch.prompt_count, device=device)
        starts = model.row_starts_B[self._sizes[0]].expand(batch.prompt_count)
        return Inputs(
            torch.cat((decode.tokens_BL, tokens.unsqueeze(1))),
            torch.cat((decode.positions_B, positions)),
            torch.cat((decode.starts_B, starts)),
        )

    def _given(self, row_count: int, longest_tokens: int | None = None) -> Inputs:
        """The first rows' inputs; where fewer tokens are read, rows stand at the last of them."""
        workload = self._workload
        positions_B = workload.positions_B[:row_count]
        if longest_tokens is not None:
            positions_B = positions_B.clamp(max=longest_tokens - 1)
        return Inputs(workload.tokens_BL[:row_count], positions_B, workload.model.row_starts_B[:row_count])

    def _longest(self, read_tokens: int | None) -> int:
        own = self._settings.context_tokens + 1
        return own if read_tokens is None else min(own, read_tokens)

    def _places_and_lengths(self, kind: GraphKind) -> Iterator[tuple[int, int | None]]:
        lengths: Sequence[int | None] = self._bucketed.read_lengths[::-1] if kind == "FULL" else [None]
        for place in range(len(self._sizes)):
            for length in lengths or [None]:
                yield place, length

    def _rounds(self, step_count: int) -> Iterator[tuple[int, int]]:
        """(place of a size, steps to take there), there and back again; together `step_count` steps a size."""
        order = range(len(self._sizes))
        for round_index in range(_ROUND_COUNT):
            steps = (step_count + round_index) // _ROUND_COUNT
            for place in order if round_index % 2 == 0 else reversed(order):
                yield place, steps

    def _latencies_ns(self, step: Callable[[], object], count: int) -> list[int]:
        return [host_ns(step, self._workload.device) for _ in range(count)]

    def _raise_recompile_limit(self) -> None:
        """Past the limit a function keeps what it has compiled and runs every new shape eagerly, in silence."""
        needed = len(self._settings.compiled_sizes) * max(1, len(self._settings.read_lengths)) + 1
        if self._settings.compiled_sizes:
            torch._dynamo.config.recompile_limit = max(torch._dynamo.config.recompile_limit, needed)
            self._update(recompile_limit=torch._dynamo.config.recompile_limit)

    def _replace_size(self, place: int, **fields: Any) -> None:
        sizes = list(self.results.sizes)
        sizes[place] = dataclasses.replace(sizes[place], **fields)
        self._update(sizes=sizes)

    def _update(self, **fields: Any) -> None:
        self.results = dataclasses.replace(self.results, **fields)
        write_json(self._path, results_to_json(self.results))
