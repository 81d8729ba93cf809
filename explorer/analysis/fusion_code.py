"""Which generated code stands behind each kernel of a compiled step, and which operators does it hold?

    step        MM | triton_0 | MM | triton_1 | MM | triton_0      the n-th time that a kernel runs is the n-th call of
    program     mm |    f0    | mm |    f1    | mm |    f0         it; a program that every layer shares starts again

Where the counts do not fit together, a kernel holds whatever any call of it holds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from explorer.analysis.fusion_groups import is_finishing
from explorer.analysis.fusion_kernels import HeldOperator, Kernel, StepKernels
from explorer.analysis.fusion_names import operator_word
from explorer.generated_code import GeneratedCode, KernelCall, KernelText
from explorer.spans import NO_ROW

_VIEWS = frozenset(
    {"view", "unsafe_view", "t", "transpose", "permute", "unsqueeze", "squeeze", "slice", "split", "select", "expand",
     "reshape", "as_strided", "alias", "detach", "unbind"}
)  # fmt: skip
"""Operators that move nothing: the compiler names them, and no eager kernel runs for them."""


def with_code(step: StepKernels, code: GeneratedCode) -> StepKernels:
    """The step with what the compiler says of each kernel; kernels that it does not know stay as they are."""
    library = _library_calls(step.kernels, code)
    counts = Counter(kernel.name for kernel in step.kernels)
    turns: defaultdict[str, int] = defaultdict(int)
    kernels = []
    for place, kernel in enumerate(step.kernels):
        calls = library.get(place, ()) if kernel.words is None else _calls_of(kernel, code)
        if kernel.words is not None and calls and counts[kernel.name] % len(calls) == 0:
            calls = [calls[turns[kernel.name] % len(calls)]]
            turns[kernel.name] += 1
        kernels.append(replace(kernel, held=_held(calls, code)))
    return replace(step, kernels=tuple(kernels))


def texts_of(kernel: Kernel, code: GeneratedCode) -> list[KernelText]:
    """The kernel's code; several texts where graphs share its name and the trace does not tell them apart."""
    named = [text for text in code.kernels if kernel.name in (text.traced_name, text.name)]
    return [text for text in named if kernel.file and text.file == kernel.file] or named


def _calls_of(kernel: Kernel, code: GeneratedCode) -> Sequence[KernelCall]:
    places = {(text.name, text.graph_index) for text in texts_of(kernel, code)}
    return [call for call in code.calls if (call.name, call.graph_index) in places]


def _library_calls(kernels: Sequence[Kernel], code: GeneratedCode) -> dict[int, list[KernelCall]]:
    """The program's library calls by the places of the kernels that they became; empty where the orders disagree."""
    generated = {(text.name, text.graph_index) for text in code.kernels}
    calls = [call for call in code.calls if (call.name, call.graph_index) not in generated]
    units = _units_by_operator(kernels, calls) or _units_by_family(kernels)
    if not calls or len(units) % len(calls):
        return {}
    paired = [(unit, calls[place % len(calls)]) for place, unit in enumerate(units)]
    if not all(_is_of(kernels[unit[0]], call) for unit, call in paired):
        return {}
    return {place: [_of_itself(call)] for unit, call in paired for place in unit}


def _units_by_operator(kernels: Sequence[Kernel], calls: Sequence[KernelCall]) -> list[list[int]]:
    """Places of the kernels of each operator that a library call names, in order; none in a replay."""
    words = {_library_word(call) for call in calls}
    units: dict[int, list[int]] = {}
    for place, kernel in enumerate(kernels):
        if kernel.operator_row != NO_ROW and words.intersection(kernel.operators):
            units.setdefault(kernel.operator_row, []).append(place)
    return list(units.values())


def _units_by_family(kernels: Sequence[Kernel]) -> list[list[int]]:
    """Places of the kernels of each product and attention call of a replay, which has no operators."""
    units: list[list[int]] = []
    for place, kernel in enumerate(kernels):
        if kernel.words is None and kernel.operator_row == NO_ROW and units and is_finishing(kernel):
            units[-1].append(place)
        elif kernel.words is None and kernel.operator_row == NO_ROW and kernel.family in ("matmul", "attention"):
            units.append([place])
    return units


def _is_of(kernel: Kernel, call: KernelCall) -> bool:
    """Whether the kernel can be the call's: by its operator, or in a replay by its family."""
    word = _library_word(call)
    if kernel.operators:
        return word in kernel.operators
    return kernel.family == ("attention" if "attention" in word else "matmul" if word.endswith("mm") else "")


def _library_word(call: KernelCall) -> str:
    """`extern_kernels.mm` → `mm`."""
    return operator_word(call.name.rpartition(".")[2])


def _of_itself(call: KernelCall) -> KernelCall:
    """A library call with its own operator alone: the compiler also names what its inputs were made of."""
    own = [use for use in call.uses if operator_word(use.operator) == _library_word(call)]
    return replace(call, uses=own or call.uses)


def _held(calls: Sequence[KernelCall], code: GeneratedCode) -> tuple[HeldOperator, ...]:
    held = []
    for use in (use for call in calls for use in call.uses):
        word = operator_word(use.operator)
        if word not in _VIEWS:
            line = None if use.line_index is None else code.lines[use.line_index]
            caller = None if line is None or line.caller_index is None else code.lines[line.caller_index]
            held.append(HeldOperator(word, line, caller))
    return tuple(dict.fromkeys(held))
