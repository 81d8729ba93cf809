"""What can this device do at best? Ceilings measured just before a run, in about a second.

Each is the best of a few repetitions: a ceiling is what the device reaches when nothing is in its way.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from explorer.engine.clock import device_ns, synchronize
from explorer.engine.environment import free_memory_bytes
from explorer.facts import Calibration

_BUFFER_BYTES = {"cuda": 2 * 2**30, "cpu": 64 * 2**20}
_MATRIX_SIZE = {"cuda": 8192, "cpu": 512}
_REPETITION_COUNT = 5
_LAUNCH_COUNT = 500


def calibrate(device: torch.device, dtype: torch.dtype) -> Calibration:
    """Read and copy bandwidth, time of an empty launch (GPU only) and matrix rate at `dtype`."""
    read_bytes_per_s, copy_bytes_per_s = _bandwidths_bytes_per_s(device)
    calibration = Calibration(
        read_bandwidth_bytes_per_s=read_bytes_per_s,
        copy_bandwidth_bytes_per_s=copy_bytes_per_s,
        empty_launch_ns=_empty_launch_ns(device) if device.type == "cuda" else None,
        matmul_flops_per_s=_matmul_flops_per_s(device, dtype),
    )
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)  # these buffers are no experiment's
    return calibration


def _bandwidths_bytes_per_s(device: torch.device) -> tuple[float, float]:
    """(reading by a reduction, copying: reads and writes counted)."""
    source = torch.ones(_buffer_bytes(device) // 4, dtype=torch.float32, device=device)
    target = torch.empty_like(source)
    read_ns = _best_ns(lambda: source.sum(), device)
    copy_ns = _best_ns(lambda: target.copy_(source), device)
    return source.nbytes / read_ns * 1e9, 2 * source.nbytes / copy_ns * 1e9


def _buffer_bytes(device: torch.device) -> int:
    wanted = _BUFFER_BYTES[device.type]
    free = free_memory_bytes(device)
    return wanted if free is None else min(wanted, free // 8)


def _best_ns(work: Callable[[], object], device: torch.device) -> float:
    work()
    return min(device_ns(work, device) for _ in range(_REPETITION_COUNT))


def _empty_launch_ns(device: torch.device) -> float:
    """Host time of launching a kernel that ends at once, without an operator around it."""
    _launch_nothing()
    synchronize(device)
    start_ns = time.perf_counter_ns()
    for _ in range(_LAUNCH_COUNT):
        _launch_nothing()
    elapsed_ns = time.perf_counter_ns() - start_ns
    synchronize(device)
    return elapsed_ns / _LAUNCH_COUNT


def _launch_nothing() -> None:
    torch.cuda._sleep(0)  # type: ignore[no-untyped-call]


def _matmul_flops_per_s(device: torch.device, dtype: torch.dtype) -> float:
    size = _MATRIX_SIZE[device.type]
    left = torch.randn(size, size, dtype=dtype, device=device)
    right = torch.randn(size, size, dtype=dtype, device=device)
    product = torch.empty_like(left)
    return 2 * size**3 / _best_ns(lambda: torch.mm(left, right, out=product), device) * 1e9
