"""What does a sequence of shapes make torch.compile do? A process a variant, cold and then warm, one after another.

eager   the sequence without torch.compile, which remains whatever happens afterwards
cold    every variant with caches of its own that are empty
warm    every variant again, on the caches that its cold process filled
breaks  does the function fit into one graph?
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from explorer.engine.calibrate import calibrate
from explorer.engine.compile_caches import CACHE_VARIABLES
from explorer.engine.environment import read_environment
from explorer.engine.journal import Journal
from explorer.engine.shapes_logs import keep_log, log_text
from explorer.errors import RunError
from explorer.recording import RESULTS_FILE, TORCH_TRACE_FILE, write_json
from explorer.shapes_results import (
    EAGER,
    WHOLE_GRAPH,
    CompiledEntry,
    Missing,
    ShapesResults,
    VariantResult,
    results_to_json,
    variant_from_json,
    whole_from_json,
)
from explorer.shapes_settings import ShapesSettings, Variant
from explorer.torch_trace_log import CompileLog, read_log


def run(settings: ShapesSettings, folder: Path, journal: Journal) -> None:
    """Makes the whole experiment; a variant that cannot compile says so in the results and the others go on."""
    device = torch.device(settings.device)
    torch.set_grad_enabled(False)
    torch.set_float32_matmul_precision("highest")
    with journal.stage("environment"):
        journal.update(environment=read_environment(device))
        journal.update(calibration=calibrate(device, getattr(torch, settings.dtype)))
    with tempfile.TemporaryDirectory(prefix="kernel-explorer-shapes-", ignore_cleanup_errors=True) as work_folder:
        experiment = Experiment(settings, folder, Path(work_folder), journal)
        with journal.stage("eager"):
            experiment.call_eagerly()
        with journal.stage("cold"):
            experiment.measure(settings.variants("cold"))
        with journal.stage("warm"):
            experiment.measure(settings.variants("warm") if settings.tries_warm else [])
        with journal.stage("breaks"):
            experiment.explain()
    journal.finish()


@dataclass
class Experiment:
    """The experiment so far: what it keeps is on disk at once."""

    settings: ShapesSettings
    folder: Path
    work_folder: Path
    journal: Journal
    results: ShapesResults = field(default_factory=ShapesResults)

    def keep(self, **fields: Any) -> None:
        """Sets fields of the results and writes them."""
        self.results = replace(self.results, **fields)
        write_json(self.folder / RESULTS_FILE, results_to_json(self.results))

    def call_eagerly(self) -> None:
        """The sequence without torch.compile; raises RunError when even that fails, since nothing else can succeed."""
        answer, exit_code = self._ask(EAGER, EAGER, self._own_caches(EAGER))
        result = None if answer is None else variant_from_json(answer)
        if result is None or exit_code != 0:
            said = result.missing.message if result and result.missing else "worker.log has its output."
            raise RunError(f"The sequence could not be called without compiling (exit code {exit_code}): {said}")
        self.keep(eager=result.eager)

    def measure(self, variants: Sequence[Variant]) -> None:
        """One process a variant, in order; what is missing is noted once."""
        for done, variant in enumerate(variants):
            result = self._measured(variant)
            self.keep(variants=[*self.results.variants, result])
            if result.missing and result.missing.message not in self.journal.facts.notes:
                self.journal.note(result.missing.message)
            self.journal.count(done + 1, len(variants))

    def explain(self) -> None:
        """Whether the function fits into one graph; a note where even that cannot be told."""
        answer, exit_code = self._ask(WHOLE_GRAPH, WHOLE_GRAPH, self._own_caches(WHOLE_GRAPH))
        if answer is None:
            self.journal.note(f"Dynamo could not explain the function (exit code {exit_code}); see worker.log.")
        else:
            self.keep(whole_graph=whole_from_json(answer))

    def _measured(self, variant: Variant) -> VariantResult:
        answer, exit_code = self._ask(json.dumps(asdict(variant)), variant.key, self._environment(variant))
        result = VariantResult(variant=variant) if answer is None else variant_from_json(answer)
        log = log_text(self._trace_folder(variant.key))
        keep_log(self.folder / TORCH_TRACE_FILE, variant.key, log)
        if exit_code != 0 and result.missing is None:
            message = f"Its process ended with exit code {exit_code}; worker.log has its output."
            result = replace(result, missing=Missing(message=message))
        return with_log(result, read_log(log.splitlines()))

    def _environment(self, variant: Variant) -> dict[str, str]:
        """Caches of its own for a scope and `dynamic`, inside the folder that the variable names where it is set."""
        own = f"{variant.scope}-{variant.dynamic}"
        caches = {}
        for name in CACHE_VARIABLES:
            base = Path(os.environ.get(name, self.work_folder))
            caches[name] = str(base / own / name.lower())
        return {**os.environ, **caches}

    def _own_caches(self, name: str) -> dict[str, str]:
        """Caches that can be written, whatever the environment says: importing Dynamo already makes the folder."""
        return {**os.environ, **{variable: str(self.work_folder / name / variable) for variable in CACHE_VARIABLES}}

    def _ask(self, asked: str, name: str, environment: dict[str, str]) -> tuple[dict[str, Any] | None, int]:
        """(what the process wrote, its exit code); None when it wrote nothing."""
        answer = self.work_folder / f"{name}.json"
        process = subprocess.run(
            [sys.executable, "-m", "explorer.engine.shapes_child", str(self.folder), asked, str(answer)],
            env={**environment, "TORCH_TRACE": str(self._trace_folder(name))},
            check=False,
        )
        if not answer.exists():
            return None, process.returncode
        fields: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return fields, process.returncode

    def _trace_folder(self, name: str) -> Path:
        return self.work_folder / "torch_trace" / name


def with_log(result: VariantResult, log: CompileLog) -> VariantResult:
    """The result with what only the log knows: guards, sizes of inputs, graph breaks."""
    logged = {entry.compile_id: entry for entry in log.entries}

    def completed(entry: CompiledEntry) -> CompiledEntry:
        other = logged.get(entry.compile_id)
        if other is None:
            return entry
        return replace(entry, guards=other.guards, input_sizes=other.input_sizes or entry.input_sizes)

    return replace(result, entries=[completed(entry) for entry in result.entries], breaks=list(log.breaks))
