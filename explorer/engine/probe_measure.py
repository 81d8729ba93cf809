"""How long does one call take on the device and on the host, and how much memory does it want?

Every timed repeat on a GPU starts from a cold second-level cache, as attention does between the other layers of a
model: a large buffer is filled first. The device then sleeps long enough for the host to have submitted the whole
call, so that the two events around it enclose the device's work and no waiting for the host.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from explorer.engine.clock import device_ns, host_ns, synchronize

Run = Callable[[], torch.Tensor]

_FLUSHED_BYTES = 2**28
_BUDGET_NS = 400_000_000
_FEWEST_REPEATS = 3


@dataclass(frozen=True)
class Timing:
    """Times of one call, ns; `peak_extra_bytes` is above what stood before the call, None where nobody counts."""

    first_call_ns: float
    host_call_ns: float
    time_ns: float
    spread_ns: float
    repeat_count: int
    peak_extra_bytes: int | None
    out: torch.Tensor


class Stopwatch:
    """Measures calls on one device; holds the buffer whose filling empties the cache."""

    def __init__(self, device: torch.device, repeat_count: int) -> None:
        self._device = device
        self._repeat_count = repeat_count
        on_gpu = device.type == "cuda"
        self._flushed = torch.empty(_FLUSHED_BYTES if on_gpu else 0, dtype=torch.int8, device=device)

    def measure(self, run: Run) -> Timing:
        """Times of `run`, its first call apart; raises whatever `run` raises."""
        first_call_ns = host_ns(run, self._device)
        out, peak_extra_bytes = self._peak(run)
        settled_ns = host_ns(run, self._device)
        count = min(self._repeat_count, max(_FEWEST_REPEATS, int(_BUDGET_NS / max(1, settled_ns))))
        host_call_ns = statistics.median(self._submission_ns(run) for _ in range(count))
        times_ns = [self._device_ns(run, host_call_ns) for _ in range(count)]
        return Timing(
            first_call_ns=first_call_ns,
            host_call_ns=host_call_ns,
            time_ns=statistics.median(times_ns),
            spread_ns=_half_quartile_distance(times_ns),
            repeat_count=count,
            peak_extra_bytes=peak_extra_bytes,
            out=out,
        )

    def _peak(self, run: Run) -> tuple[torch.Tensor, int | None]:
        if self._device.type != "cuda":
            return run(), None
        torch.cuda.reset_peak_memory_stats(self._device)
        before = torch.cuda.memory_allocated(self._device)
        out = run()
        synchronize(self._device)
        return out, torch.cuda.max_memory_allocated(self._device) - before

    def _submission_ns(self, run: Run) -> float:
        """Host time until the call has returned, the device being idle before."""
        synchronize(self._device)
        start_ns = time.perf_counter_ns()
        run()
        return time.perf_counter_ns() - start_ns

    def _device_ns(self, run: Run, host_call_ns: float) -> float:
        self._flushed.zero_()
        return device_ns(run, self._device, host_call_ns)


def _half_quartile_distance(times_ns: list[float]) -> float:
    if len(times_ns) < 2:
        return 0.0
    low, _, high = statistics.quantiles(times_ns, n=4, method="inclusive")
    return (high - low) / 2
