"""How is work recorded as a CUDA graph, several in one pool, and what memory does that take?"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch

from explorer.errors import SettingsError

Result = TypeVar("Result")
SIDE_STREAM_CALL_COUNT = 3


class Capture(Protocol):
    """Records work: gives what replays it, and the outputs that every replay overwrites."""

    def __call__(self, work: Callable[[], Result]) -> tuple[Callable[[], object], Result]: ...


class GraphPool:
    """Graphs that share one memory pool, which is safe as long as they are replayed one after another.

    What a graph needs only while it runs is given to the next one; an output that somebody holds is not. The largest
    graph comes first, so that the others fit into what it left.
    """

    def __init__(self) -> None:
        self._handle = torch.cuda.graph_pool_handle()

    def capture(self, work: Callable[[], Result]) -> tuple[Callable[[], object], Result]:
        """Records `work` without running it; whatever it raises leaves the current stream as it was."""
        graph = torch.cuda.CUDAGraph()
        # A capture that fails does not leave its own stream by itself.
        with torch.cuda.stream(torch.cuda.current_stream()), torch.cuda.graph(graph, pool=self._handle):
            outputs = work()
        return graph.replay, outputs


def require_shape(captured: torch.Tensor, given: torch.Tensor) -> None:
    """Raises SettingsError for inputs that the recorded buffers do not fit: a copy might broadcast them in silence."""
    if given.shape != captured.shape:
        raise SettingsError(
            f"The graph was captured for tokens of shape {tuple(captured.shape)}, not {tuple(given.shape)}; capture "
            "another one for it."
        )


@dataclass(frozen=True)
class CaptureCost:
    """What recording took: host time, memory of the allocator's pool, and memory that CUDA itself took beside it.

    The executable graph lives outside the allocator, and so does code that CUDA loads when a kernel is first used.
    """

    capture_ns: int
    pool_bytes: int
    outside_bytes: int

    @property
    def total_bytes(self) -> int:
        """What free device memory lost."""
        return self.pool_bytes + self.outside_bytes


def measure_capture(work: Callable[[], Result]) -> tuple[Result, CaptureCost]:
    """Calls `work`, which records graphs, and tells what that cost."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()  # so that what is reserved grows by the graphs alone
    reserved_bytes, free_bytes = torch.cuda.memory_reserved(), torch.cuda.mem_get_info()[0]
    start_ns = time.perf_counter_ns()
    result = work()
    torch.cuda.synchronize()
    capture_ns = time.perf_counter_ns() - start_ns
    pool_bytes = torch.cuda.memory_reserved() - reserved_bytes
    taken_bytes = free_bytes - torch.cuda.mem_get_info()[0]
    return result, CaptureCost(capture_ns, pool_bytes, taken_bytes - pool_bytes)


def warm_up_aside(work: Callable[[], object]) -> None:
    """Calls `work` on a side stream, as a capture will: libraries make their plans and workspaces before it."""
    side_stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side_stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side_stream):
        for _ in range(SIDE_STREAM_CALL_COUNT):
            work()
    torch.cuda.current_stream().wait_stream(side_stream)
