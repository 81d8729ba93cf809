"""What stands in for a CUDA graph on a machine without one?

Work that is called again on every replay, its results copied over those of the first call: outputs stay where they
are, and inputs are read where they were. What it cannot show is that a real graph runs no Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch

Result = TypeVar("Result")


def record(work: Callable[[], Result]) -> tuple[Callable[[], object], Result]:
    """A `Capture`: (replay, outputs that every replay overwrites)."""
    outputs = work()

    def replay() -> None:
        for kept, new in zip(_tensors(outputs), _tensors(work()), strict=True):
            kept.copy_(new)

    return replay, outputs


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _tensors(part)
