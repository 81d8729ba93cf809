"""What does the engine measure of a run? The shape of facts.json, whose format has a version.

Standard library only: the engine imports this on machines that have nothing but torch and numpy.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from explorer.errors import RecordingError

FORMAT_VERSION = 1
"""Raised whenever an older reader would misread a file; `explorer/README.md` keeps its changelog."""

RunState = Literal["running", "finished", "failed", "cancelled", "lost"]
"""`lost`: the worker is gone and nobody saw it end (the machine or the launcher stopped first)."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The machine and the software that measured."""

    device_name: str
    python_version: str
    torch_version: str
    cuda_version: str | None = None
    cudnn_version: str | None = None
    driver_version: str | None = None
    triton_version: str | None = None
    device_memory_bytes: int | None = None
    processor_count: int | None = None
    host_thread_count: int | None = None


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Ceilings measured on this device just before the run; never a datasheet's."""

    read_bandwidth_bytes_per_s: float | None = None
    copy_bandwidth_bytes_per_s: float | None = None
    empty_launch_ns: float | None = None
    matmul_flops_per_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Correctness:
    """The chosen settings against eager float32 on the same weights and inputs.

    Errors are ‖out − reference‖ / ‖reference‖. `passed` applies `error_limit_ratio` to logits and KV cache.
    `layer_error_ratios` is the error of the keys and values that the last compared step wrote, a number a layer (empty
    in older recordings); `first_diverging_layer` is the first of them, from 0, that is more than rounding.
    """

    logits_error_ratio: float
    kv_cache_error_ratio: float
    token_agreement_ratio: float
    compared_token_count: int
    error_limit_ratio: float
    passed: bool
    note: str = ""
    layer_error_ratios: list[float] = field(default_factory=list)
    first_diverging_layer: int | None = None


@dataclass(frozen=True, kw_only=True)
class ColdStart:
    """What the first answer costs; the parts that do not apply are None.

    `compiler_import_ns` is spent before the first call and is no part of it (in older recordings it was, and is None).
    `compile_stage_ns` are the compiler's stages by name, exclusive of each other, summed over what was compiled.
    """

    first_call_ns: int | None = None
    compile_ns: int | None = None
    compiler_import_ns: int | None = None
    compile_stage_ns: dict[str, int] = field(default_factory=dict)
    capture_ns: int | None = None
    graph_memory_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The profiled steps, and what profiling cost."""

    step_latencies_ns: list[int]
    slowdown_ratio: float
    kernel_counts: list[int]
    expected_kernel_count: int | None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Where a run stopped and why; `kind` is out_of_memory, unsupported, crash or cancelled."""

    stage: str
    kind: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything the engine measured; what a run did not reach is None.

    `state` is what the engine itself last wrote: a folder whose engine was killed still says "running".
    `peak_memory_bytes` is the most that was allocated after the first call: what compiling took is no step's.
    `attention_chosen` is what PyTorch chose for the step's call when it was built, `attention_kernels` the names of the
    attention kernels that really ran: request, choice and reality side by side.
    """

    format_version: int = FORMAT_VERSION
    state: RunState = "running"
    stage: str | None = None
    started_unix_s: float = 0.0
    process_id: int | None = None
    settings_title: str = ""
    parameter_count: int | None = None
    weight_bytes: int | None = None
    weight_read_bytes_per_step: int | None = None
    kv_read_bytes_per_step: int | None = None
    kv_written_bytes_per_step: int | None = None
    step_flops: int | None = None
    tokens_per_step: int | None = None
    environment: Environment | None = None
    calibration: Calibration | None = None
    correctness: Correctness | None = None
    cold_start: ColdStart | None = None
    stage_ns: dict[str, int] = field(default_factory=dict)
    steady_latencies_ns: list[int] = field(default_factory=list)
    profile: Profile | None = None
    peak_memory_bytes: int | None = None
    attention_requested: str | None = None
    attention_chosen: str | None = None
    attention_kernels: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failure: Failure | None = None

    @property
    def is_wrong(self) -> bool:
        """Whether the correctness check failed; a run that was not checked is not known to be wrong."""
        return self.correctness is not None and not self.correctness.passed


_PARTS: Mapping[str, type] = {
    "environment": Environment,
    "calibration": Calibration,
    "correctness": Correctness,
    "cold_start": ColdStart,
    "profile": Profile,
    "failure": Failure,
}


def facts_to_json(facts: Facts) -> dict[str, Any]:
    """A plain dictionary that `facts_from_json` reads back."""
    return dataclasses.asdict(facts)


def facts_from_json(fields: Mapping[str, Any], path: Path) -> Facts:
    """Facts from a dictionary; `path` is named in errors. A newer format version raises RecordingError."""
    version = fields.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise RecordingError(
            f"{path} has format version {version!r} and this program reads up to {FORMAT_VERSION}; update the program."
        )
    try:
        parts = {name: kind(**fields[name]) for name, kind in _PARTS.items() if fields.get(name) is not None}
        return Facts(**{**fields, **parts})
    except TypeError as problem:
        raise RecordingError(f"{path} is malformed: {problem}. Record the run again.") from None
