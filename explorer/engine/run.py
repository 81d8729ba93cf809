"""In which order is a run made? The stages of `RunSettings`, each timed, announced and written down."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from explorer.attention_names import backend_of_name
from explorer.engine import correctness
from explorer.engine.attention import chosen_backend
from explorer.engine.calibrate import calibrate
from explorer.engine.costs import kv_read_bytes, kv_written_bytes, step_flops, tokens_per_step
from explorer.engine.environment import read_environment
from explorer.engine.generated_code import kept_programs, write_generated_code
from explorer.engine.journal import Journal
from explorer.engine.modes import prepare
from explorer.engine.piecewise import PiecewiseStep
from explorer.engine.profiling import profile_steps, summarize
from explorer.engine.steady import run_steps
from explorer.engine.workload import Step, Workload, build_workload, open_weights
from explorer.settings import RunSettings


def run(settings: RunSettings, folder: Path, journal: Journal) -> None:
    """Makes the whole run; whatever it raises ends it at the journal's current stage."""
    device = torch.device(settings.device)
    torch.set_grad_enabled(False)
    torch.manual_seed(settings.seed)
    torch.set_float32_matmul_precision("highest")
    with journal.stage("environment"):
        journal.update(environment=read_environment(device), attention_requested=settings.attention)
        journal.update(calibration=calibrate(device, getattr(torch, settings.dtype)))
    with journal.stage("build"):
        workload = _build(settings, journal)
    with journal.stage("correctness"):
        reference = _check_eagerly(workload, journal)
    if device.type == "cuda":
        torch.cuda.empty_cache()
    with journal.stage("cold_start"):
        with kept_programs(settings.compiles) as programs:
            step, cold_start = prepare(workload)
        journal.update(cold_start=cold_start)
        if isinstance(step, PiecewiseStep):
            journal.note(step.note())
        _check_measured_step(workload, step, reference, journal)
    write_generated_code(programs, folder)
    _measure(workload, step, folder, journal)
    if device.type == "cuda":
        journal.update(peak_memory_bytes=torch.cuda.max_memory_allocated(device))
    journal.finish()


def _build(settings: RunSettings, journal: Journal) -> Workload:
    source = open_weights(settings)
    shape = source.shape
    journal.update(
        parameter_count=shape.parameter_count,
        weight_bytes=shape.weight_bytes(settings.dtype),
        weight_read_bytes_per_step=shape.weight_read_bytes(settings.dtype),
        kv_read_bytes_per_step=kv_read_bytes(shape, settings),
        kv_written_bytes_per_step=kv_written_bytes(shape, settings),
        step_flops=step_flops(shape, settings),
        tokens_per_step=tokens_per_step(settings),
    )
    workload = build_workload(settings, source)
    journal.update(attention_chosen=chosen_backend(settings, shape))
    for note in workload.model.policy.notes():
        journal.note(note)
    return workload


def _check_eagerly(workload: Workload, journal: Journal) -> correctness.Reference | None:
    """The float32 reference, after comparing the eager form of the chosen settings with it."""
    if not correctness.reference_fits(workload):
        journal.note(
            f"Correctness was not checked: the float32 reference needs {correctness.reference_bytes(workload):,} "
            "bytes beside the model, and the device has less free."
        )
        return None
    reference = correctness.reference_of(workload)
    note = "The eager form of the chosen settings."
    journal.update(correctness=correctness.compare(workload, workload.model.next_logits, reference, note))
    return reference


def _check_measured_step(
    workload: Workload, step: Step, reference: correctness.Reference | None, journal: Journal
) -> None:
    """Replaces the eager form's correctness by that of the very step that is measured."""
    if reference is None or workload.settings.mode == "eager":
        return
    note = "The step that is measured, after its cold start."
    journal.update(correctness=correctness.compare(workload, step, reference, note))


def _measure(workload: Workload, step: Step, folder: Path, journal: Journal) -> None:
    settings = workload.settings
    with journal.stage("warm_up"):
        run_steps(workload, step, settings.warmup_steps, journal.count)
    with journal.stage("steady"):
        steady_latencies_ns = run_steps(workload, step, settings.measured_steps, journal.count)
        journal.update(steady_latencies_ns=steady_latencies_ns)
    with journal.stage("profile"):
        latencies_ns, counts = profile_steps(workload, step, folder, journal.count)
        summary = summarize(workload, latencies_ns, steady_latencies_ns, counts)
        journal.update(profile=summary, attention_kernels=counts.attention_kernels)
    if summary.note:
        journal.note(summary.note)
    mismatch = attention_mismatch(settings, counts.attention_kernels)
    if mismatch:
        journal.note(mismatch)


def attention_mismatch(settings: RunSettings, kernels: Sequence[str]) -> str:
    """What the profiled attention kernels say against the backend that was asked for; empty for nothing."""
    ran = {backend_of_name(name) for name in kernels} - {None}
    if settings.attention == "math" and settings.compiles and not ran:
        return ""  # compiled, math is generated kernels, which no name tells from other fused ones
    if settings.attention == "auto" or settings.attention in ran:
        return ""
    found = ", ".join(sorted(str(backend) for backend in ran)) or "no known attention kernel"
    return f"Attention {settings.attention} was asked for, and the profiled steps show {found}."
