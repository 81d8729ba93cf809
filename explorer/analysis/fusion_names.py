"""Which operators does a generated kernel's name tell, and what are groups of operators and kernels called?

triton_per_fused__to_copy_add_mean_mul_pow_rsqrt_4      a reduction of six operators, the fifth of its graph
graph_0_cpp_fused_add_mul_sigmoid_0                     Inductor's C++, as the profiler names it
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_GENERATED = re.compile(r"^(?:graph_\d+_)?(?:triton|cpp)_(?:[a-z]+_)?fused_(.*?)(?:_\d+)?$")
_PARTS = (
    (("embedding",), "embedding"),
    (("rsqrt", "mean"), "RMSNorm"),
    (("native_layer_norm",), "LayerNorm"),
    (("neg", "cat"), "rotary"),
    (("index_copy",), "cache write"),
    (("silu", "mul"), "SwiGLU"),
    (("gelu",), "GELU"),
    (("where",), "mask"),
)
"""Operators that together mean something, and its name."""
_SHOWN_OPERATORS = 4
_WRAPPERS = frozenset({"Kernel", "Kernel2", "kernel", "device_kernel"})
"""Templates whose argument tells the kernel."""


def generated_words(kernel_name: str) -> str | None:
    """What a generated kernel's name says of its operators, `add_mul_sigmoid`; None for any other kernel."""
    match = _GENERATED.match(kernel_name)
    return match[1] if match else None


def operator_word(name: str) -> str:
    """`aten::index_copy_` → `index_copy`, `aten::_to_copy` → `to_copy`."""
    return name.rpartition("::")[2].strip("_")


def is_named(operators: Iterable[str], words: Iterable[str]) -> bool:
    """Whether any of the operator's names (its own and those around it) stands in any of the kernels' words."""
    padded = [f"_{text}_" for text in words]
    return any(f"_{operator}_" in text for operator in operators for text in padded)


def group_title(operators: Sequence[str]) -> str:
    """`residual + RMSNorm` for add, pow, mean, ..., rsqrt; else the operators themselves."""
    present = set(operators)
    parts = [label for needed, label in _PARTS if present.issuperset(needed)]
    if parts and operators[0] == "add" and parts[0] in ("RMSNorm", "LayerNorm"):
        parts.insert(0, "residual")
    if parts:
        return " + ".join(parts)
    distinct = list(dict.fromkeys(operators))
    rest = len(distinct) - _SHOWN_OPERATORS
    return ", ".join(distinct[:_SHOWN_OPERATORS]) + (f" and {rest} more" if rest > 0 else "")


def kernel_label(name: str) -> str:
    """A kernel's own name without what surrounds it: `vectorized_elementwise_kernel` of a templated declaration."""
    bare = name.replace("(anonymous namespace)::", "").removeprefix("void ")
    outer, _, inside = bare.partition("<")
    label = re.split(r"[(,>]", outer)[0].strip().rpartition("::")[2]
    if label in _WRAPPERS and inside:
        return kernel_label(inside)
    return label or name
