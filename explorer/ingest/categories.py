"""Which of the product's kinds is an event, by its category?

The names of 2021 (`Operator`, `Runtime`, `Kernel`) to today's (`cpu_op`, `cuda_driver`, `xpu_runtime`), in any letter
case. What is not here (flow arrows, GPU shadows of annotations, synchronisation and overhead markers) is counted and
left out: it is neither work nor something a thread did.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

OPERATOR: Final = 0
CALL: Final = 1
ANNOTATION: Final = 2
FRAME: Final = 3
KERNEL: Final = 4
MEMCPY: Final = 5
MEMSET: Final = 6
FIRST_WORK_KIND: Final = KERNEL
"""Kinds from here on are GPU work, kinds before it belong to the host."""

WORK_KIND_NAMES: Mapping[int, str] = MappingProxyType({KERNEL: "kernel", MEMCPY: "memcpy", MEMSET: "memset"})

_KINDS: Mapping[str, int] = MappingProxyType(
    {
        "cpu_op": OPERATOR,
        "operator": OPERATOR,
        "user_annotation": ANNOTATION,
        "python_function": FRAME,
        "kernel": KERNEL,
        "gpu_memcpy": MEMCPY,
        "memcpy": MEMCPY,
        "gpu_memset": MEMSET,
        "memset": MEMSET,
        "runtime": CALL,
        "driver": CALL,
    }
)


def kind_of_category(category: str) -> int | None:
    """The kind of a complete event of that category, or None when no table takes it."""
    lowered = category.lower()
    if lowered in _KINDS:
        return _KINDS[lowered]
    return CALL if lowered.endswith(("_runtime", "_driver")) else None


def kind_without_category(process: str) -> int | None:
    """The kind of an event of the autograd profiler's old export, which says it by its process alone."""
    if process == "CUDA functions":
        return KERNEL
    return OPERATOR if process == "CPU functions" else None
