"""How long does a step take when nobody watches? Steps without the profiler, every latency kept.

A latency is host wall time from the call to the moment when the device has finished: each step starts on an idle
device and ends in a synchronisation, as a decode step does whose token the host needs before the next one.
"""

from __future__ import annotations

from collections.abc import Callable

from explorer.engine.clock import host_ns
from explorer.engine.workload import Step, Workload

CountListener = Callable[[int, int], None]


def run_steps(workload: Workload, step: Step, step_count: int, on_count: CountListener) -> list[int]:
    """Latencies of `step_count` steps in ns; `on_count(done, total)` is told after each, outside the measurement."""
    latencies_ns = []
    for index in range(step_count):
        latencies_ns.append(host_ns(lambda: step(workload.tokens_BL, workload.positions_B), workload.device))
        on_count(index + 1, step_count)
    return latencies_ns
