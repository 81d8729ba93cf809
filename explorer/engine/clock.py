"""How long does a piece of work take, seen from the host and from the device?"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

_POLL_S = 50e-6
_CYCLES_PER_NS = 2.0
"""A little above the clock of today's GPUs: the device sleeps rather too long than too short."""
_LONGEST_SLEEP_NS = 50_000_000
_SLEEP_NS = 50_000


def synchronize(device: torch.device) -> None:
    """Blocks until the device has finished; on the CPU everything already has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def host_ns(work: Callable[[], object], device: torch.device) -> int:
    """Host wall time of `work` until the device has finished it, from an idle device; nanoseconds."""
    synchronize(device)
    start_ns = time.perf_counter_ns()
    work()
    synchronize(device)
    return time.perf_counter_ns() - start_ns


def device_ns(work: Callable[[], object], device: torch.device, host_call_ns: float = _SLEEP_NS) -> float:
    """Time of `work` on the device between two events, nanoseconds; host wall time on the CPU.

    The device sleeps first, for longer than the host needs to submit the work (`host_call_ns`), so that the events
    enclose no waiting for the host.
    """
    if device.type != "cuda":
        return float(host_ns(work, device))
    start, end = _timing_events()
    torch.cuda.synchronize(device)
    sleep_ns = min(_LONGEST_SLEEP_NS, _SLEEP_NS + 2 * host_call_ns)
    torch.cuda._sleep(int(sleep_ns * _CYCLES_PER_NS))  # type: ignore[no-untyped-call]
    start.record()
    work()
    end.record()
    torch.cuda.synchronize(device)
    return _between_ns(start, end)


def unblocked_ns(work: Callable[[], object], device: torch.device) -> int:
    """Time of `work` from an idle device until the device has finished it, without a blocking call; nanoseconds.

    Between profiled steps a blocking call would stand in the trace as a synchronisation, and the first gap of the
    next step would be blamed on it although the step itself never synchronises. So the end is waited for by polling
    an event, and the time read off the events, since a poll sees the end late. On the CPU it is host wall time.
    """
    if device.type != "cuda":
        return host_ns(work, device)
    start, end = _timing_events()
    start.record()
    work()
    end.record()
    while not end.query():  # type: ignore[no-untyped-call]
        time.sleep(_POLL_S)
    return round(_between_ns(start, end))


def _timing_events() -> tuple[torch.cuda.Event, torch.cuda.Event]:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    return start, end


def _between_ns(start: torch.cuda.Event, end: torch.cuda.Event) -> float:
    elapsed_ms: float = start.elapsed_time(end)
    return elapsed_ms * 1e6
