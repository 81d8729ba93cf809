"""How many bytes must a kernel at least move? From its operator's shapes, strides and types, where they decide it.

Each input element is read once and each output element written once (definitions.md, "moved bytes"); a dimension of
stride 0 counts once. Known for matrix products, copies and plain elementwise operators that launched one kernel;
for everything else the answer is None, never 0.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from explorer.analysis.timeline_places import word_in
from explorer.spans import NO_ROW
from explorer.trace import Trace, codes_and_words, values_or

BYTES_OF_TYPE: Mapping[str, int] = MappingProxyType(
    {
        "c10::BFloat16": 2,
        "c10::Half": 2,
        "float": 4,
        "double": 8,
        "long int": 8,
        "long": 8,
        "int": 4,
        "short int": 2,
        "signed char": 1,
        "unsigned char": 1,
        "bool": 1,
        "unsigned short": 2,
        "unsigned int": 4,
        "unsigned long": 8,
        "c10::Float8_e4m3fn": 1,
        "c10::Float8_e4m3fnuz": 1,
        "c10::Float8_e5m2": 1,
        "c10::Float8_e5m2fnuz": 1,
        "c10::Float8_e8m0fnu": 1,
        "c10::complex<c10::Half>": 4,
        "c10::complex<float>": 8,
        "c10::complex<double>": 16,
    }
)
"""Bytes an element, by the profiler's names of element types."""
_NO_TENSORS = ("", "Scalar")
_POINTWISE = (
    "add",
    "sub",
    "mul",
    "div",
    "neg",
    "abs",
    "silu",
    "gelu",
    "relu",
    "sigmoid",
    "tanh",
    "exp",
    "rsqrt",
    "pow",
    "cos",
    "sin",
)
_GENERATED = re.compile(r"(?:graph_\d+_)?(?:triton|cpp)_")
_PARTIAL = re.compile(r"embedding|index|gather|scatter|slice|select|attention")
_MATRIX_PRODUCTS = ("aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm")


@dataclass(frozen=True)
class _Tensor:
    """One input; `read_count` are its distinct elements."""

    shape: tuple[int, ...]
    read_count: int
    element_bytes: int
    is_complex: bool


def moved_bytes(trace: Trace, operator: int) -> int | None:
    """Bytes that the one kernel of an operator must move at least, or None where that is not decided."""
    kinds, words = codes_and_words(trace.work, "kind")
    is_kernel = kinds == (words.index("kernel") if "kernel" in words else NO_ROW)
    # A fill that clears the kernel's workspace first does not change what the kernel moves.
    if int((is_kernel & (values_or(trace.work, "operator_row", NO_ROW) == operator)).sum()) != 1:
        return None
    return operator_bytes(trace, operator)


def operator_bytes(trace: Trace, operator: int) -> int | None:
    """Bytes that an operator must move at least, whatever kernels it launched; None where that is not decided.

    A kernel that Inductor generated is launched by an operator of its own name, whose inputs are all tensors that it
    reads or writes; one that gathers or scatters touches an unknown part of them, so it has None.
    """
    name = word_in(trace, "operators", "name", operator) or ""
    tensors = _tensors(trace, operator)
    if tensors is None:
        return None
    if _GENERATED.match(name):
        if not tensors or _PARTIAL.search(name):
            return None
        return sum(tensor.read_count * tensor.element_bytes for tensor in tensors)
    if name in _MATRIX_PRODUCTS:
        tensors = tensors[: 3 if "add" in name else 2]  # compiled code names the output behind the inputs
    written = _written_count(name, [tensor.shape for tensor in tensors])
    if written is None:
        return None
    if name == "aten::copy_":  # its first input is only written to
        return written * tensors[0].element_bytes + tensors[1].read_count * tensors[1].element_bytes
    read = sum(tensor.read_count * tensor.element_bytes for tensor in tensors)
    return read + written * _written_element_bytes(name, tensors)


def _written_element_bytes(name: str, tensors: Sequence[_Tensor]) -> int:
    """The widest input's; the magnitude of a complex number is as wide as one of its two parts."""
    widest = max(tensor.element_bytes for tensor in tensors)
    return widest // 2 if name == "aten::abs" and tensors[0].is_complex else widest


def _written_count(name: str, shapes: Sequence[tuple[int, ...]]) -> int | None:
    """Elements of the output, or None where the operator's name and inputs do not decide them."""
    if name in _MATRIX_PRODUCTS and len(shapes) >= 2 and min(len(shape) for shape in shapes[-2:]) >= 2:
        return math.prod((*shapes[-2][:-1], shapes[-1][-1]))
    if name == "aten::copy_" and len(shapes) == 2:
        return math.prod(shapes[0])
    if name.removeprefix("aten::") in _POINTWISE and shapes:
        try:
            return math.prod(np.broadcast_shapes(*shapes))
        except ValueError:
            return None
    return None


def _tensors(trace: Trace, operator: int) -> list[_Tensor] | None:
    """The operator's inputs that are tensors, or None where the element type of one is not known."""
    columns = ("input_dims", "input_strides", "input_types")
    dims, strides, types = (_parsed(word_in(trace, "operators", column, operator)) for column in columns)
    found = []
    for shape, stride, word in zip(dims, strides or [None] * len(dims), types, strict=False):
        if not isinstance(shape, list) or not all(isinstance(size, int) for size in shape):
            continue
        if isinstance(word, str) and word in BYTES_OF_TYPE:
            found.append(_Tensor(tuple(shape), _distinct_count(shape, stride), BYTES_OF_TYPE[word], "complex" in word))
        elif shape and word not in _NO_TENSORS:
            return None
    return found


def _parsed(cell: str | None) -> list[Any]:
    """The list in a cell; an empty one for a missing or damaged cell."""
    try:
        parsed = json.loads(cell) if cell else []
    except ValueError:
        return []
    return parsed if isinstance(parsed, list) else []


def _distinct_count(shape: list[int], stride: Any) -> int:
    """Distinct elements of a tensor: a dimension of stride 0 repeats the same ones."""
    if not isinstance(stride, list) or len(stride) != len(shape):
        return math.prod(shape)
    return math.prod(size for size, step in zip(shape, stride, strict=True) if step != 0)
