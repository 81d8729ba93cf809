"""How long does a piece of work take, seen from the host and from the device?"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

_POLL_S = 50e-6


def synchronize(device: torch.device) -> None:
    """Blocks until the device has finished; on the CPU everything already has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def wait_without_blocking_call(device: torch.device) -> None:
    """Waits for the device by polling an event.

    Between profiled steps a blocking call would stand in the trace as a synchronisation, and the first gap of the
    next step would be blamed on it although the step itself never synchronises.
    """
    if device.type != "cuda":
        return
    event = torch.cuda.Event()  # type: ignore[no-untyped-call]
    event.record()
    while not event.query():  # type: ignore[no-untyped-call]
        time.sleep(_POLL_S)


def host_ns(work: Callable[[], object], device: torch.device) -> int:
    """Host wall time of `work` until the device has finished it, from an idle device; nanoseconds."""
    synchronize(device)
    start_ns = time.perf_counter_ns()
    work()
    synchronize(device)
    return time.perf_counter_ns() - start_ns


def device_ns(work: Callable[[], object], device: torch.device) -> float:
    """Time of `work` on the device between two events, nanoseconds; host wall time on the CPU."""
    if device.type != "cuda":
        return float(host_ns(work, device))
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    torch.cuda.synchronize(device)
    start.record()
    work()
    end.record()
    torch.cuda.synchronize(device)
    elapsed_ms: float = start.elapsed_time(end)
    return elapsed_ms * 1e6
