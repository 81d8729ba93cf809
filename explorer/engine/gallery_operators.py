"""Which operators does an eager expression call, and which tensors does each read and write?

A dispatch mode sees every operator below autograd with its real tensors, so bytes are exact and no profiler is needed.
Tensors are told apart by their storage: `x0` the first input, `t1` the first temporary, `out` the result.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from explorer.engine.gallery_expressions import Expression
from explorer.gallery_results import OperatorUse

RESULT = "out"


@dataclass(frozen=True)
class EagerOperators:
    """What one eager call did; bytes of tensors count each distinct element once."""

    operators: list[OperatorUse]
    temporary_count: int
    temporary_bytes: int
    fused_bytes: int
    out: torch.Tensor


def watch_operators(expression: Expression) -> EagerOperators:
    """Calls the expression eagerly once and tells what it did."""
    watcher = _Watcher(expression)
    with watcher:
        out = expression.function(*expression.inputs)
    return watcher.summary(out)


class _Watcher(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, expression: Expression) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._code = expression.function.__code__
        self._inputs = expression.inputs
        self._letters = {_storage(tensor): f"x{place}" for place, tensor in enumerate(expression.inputs)}
        self._bytes: dict[int, int] = {}
        self._kept: list[torch.Tensor] = []  # a freed storage's address could come back as another tensor
        self._uses: list[tuple[str, list[int], list[int], int, int, bool, int | None]] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        read = _tensors((args, kwargs or {}))
        written = _tensors(out)
        self._kept += written
        sources = {_storage(tensor) for tensor in read}
        is_view = bool(written) and not func._schema.is_mutable and all(_storage(one) in sources for one in written)
        if not is_view:
            for tensor in written:
                self._bytes[_storage(tensor)] = tensor.untyped_storage().nbytes()
        self._uses.append(
            (
                f"aten::{func._schema.name.partition('::')[2]}",
                [_storage(tensor) for tensor in read],
                [_storage(tensor) for tensor in written],
                sum(_distinct_bytes(tensor) for tensor in read),
                sum(_distinct_bytes(tensor) for tensor in written),
                is_view,
                _line_in(self._code, sys._getframe(1)),
            )
        )
        return out

    def summary(self, out: torch.Tensor) -> EagerOperators:
        """Letters for all storages, the result's last, and the bytes of what came and went."""
        temporaries = [one for one in self._bytes if one not in self._letters and one != _storage(out)]
        letters = {**{one: f"t{place + 1}" for place, one in enumerate(temporaries)}, **self._letters}
        letters.setdefault(_storage(out), RESULT)
        operators = [
            OperatorUse(
                name=name,
                reads=[letters[one] for one in dict.fromkeys(reads)],
                writes=[letters[one] for one in dict.fromkeys(writes)],
                read_bytes=0 if is_view else read_bytes,
                written_bytes=0 if is_view else written_bytes,
                is_view=is_view,
                line=line,
            )
            for name, reads, writes, read_bytes, written_bytes, is_view, line in self._uses
        ]
        computes = any(not one.is_view for one in operators)
        inputs = sum(_distinct_bytes(tensor) for tensor in self._inputs)
        return EagerOperators(
            operators=operators,
            temporary_count=len(temporaries),
            temporary_bytes=sum(self._bytes[one] for one in temporaries),
            fused_bytes=inputs + _distinct_bytes(out) if computes else 0,
            out=out,
        )


def _tensors(values: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _distinct_bytes(tensor: torch.Tensor) -> int:
    """Bytes of the distinct elements: a dimension of stride 0 repeats the same ones."""
    sizes = [size for size, step in zip(tensor.shape, tensor.stride(), strict=True) if step != 0]
    return math.prod(sizes) * tensor.element_size()


def _line_in(code: CodeType, frame: FrameType | None) -> int | None:
    """The line of the expression that is running, 1 being its first; None outside of it."""
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return None if frame is None else frame.f_lineno - code.co_firstlineno + 1
