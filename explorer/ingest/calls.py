"""What does a runtime or driver call do: launch, copy, wait, allocate? By name, over all vendors' runtimes.

Only for telling what the host thread was doing. Which call launched a piece of work is never decided by its name.
"""

from __future__ import annotations

import re

_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("graph_launch", re.compile(r"GraphLaunch|GraphExec.*Launch|urEnqueueCommandBuffer|aclmdlRIExecute", re.I)),
    (
        "sync",
        re.compile(
            r"(?:Device|Stream|Event|Ctx|Context|Thread)Synchronize(?:WithTimeout)?$|HostSynchronize$"
            r"|QueueSync(?:hronize)?$|urQueueFinish|urEventWait|Synchronize(?:Device|Stream|Event)|StreamWaitComplete",
            re.I,
        ),
    ),
    # A prefetch or an advice moves pages and leaves no GPU work in a trace: nothing of it can be lost.
    ("other", re.compile(r"Prefetch|urEnqueueUSMAdvise", re.I)),
    # CUDA's memset returns before the device has set anything, with Async in its name or without.
    ("copy", re.compile(r"Mem(?:cpy|set).*Async|^cu(?:da)?Memset(?!Access)|urEnqueue(?:USM|Mem)|AppendMemory", re.I)),
    ("sync_copy", re.compile(r"Memcpy(?!.*Node)|Memset(?!.*Node|Access)", re.I)),
    (
        "allocator",
        re.compile(
            r"^(?:cuda|hip(?:Ext)?|cu|aclrt|musa|cnrt)(?:Malloc|Free|Host(?:Alloc|Malloc|Free|Register|Unregister)"
            r"|Mem(?:Alloc|Free|Create|Map|Unmap|Release|SetAccess|Address|HostAlloc|Pool))"
            r"|urUSM(?:Host|Device|Shared)?(?:Alloc|Free)|zeMem(?:Alloc|Free)",
            re.I,
        ),
    ),
    ("launch", re.compile(r"Launch(?!HostFunc)", re.I)),
)
# The same call of another interface version or of the default stream of a thread: cuMemcpyHtoDAsync_v2_ptsz.
_VARIANT = re.compile(r"(?:_(?:ptsz|ptds|spt|v\d+))+$")
_BLOCKING_KINDS = frozenset({"sync", "sync_copy"})


def call_kind(name: str) -> str:
    """launch, graph_launch, copy, sync, sync_copy, allocator or other."""
    plain = _VARIANT.sub("", name)
    return next((kind for kind, pattern in _RULES if pattern.search(plain)), "other")


def is_blocking_kind(kind: str) -> bool:
    """Whether a call of that kind returns only when the device has finished."""
    return kind in _BLOCKING_KINDS


def copies_pageable_memory(work_name: str) -> bool:
    """Whether a copy, by the name of its GPU work, goes from or to pageable memory: the host waits for it then."""
    return "Pageable" in work_name
