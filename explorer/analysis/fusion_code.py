"""Which generated code stands behind each kernel of a compiled step, and which operators does it hold?

    step        MM | triton_0 | MM | triton_1 | MM | triton_0      the n-th time that a kernel runs is the n-th call of
    program     mm |    f0    | mm |    f1    | mm |    f0         it; a program that every layer shares starts again

Where the counts do not fit together, a kernel holds whatever any call of it holds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

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
    for kernel in step.kernels:
        calls = library.get(kernel.operator_row, ()) if kernel.words is None else _calls_of(kernel, code)
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
    """The program's library calls by the operator row that they became; empty where the orders do not agree."""
    generated = {(text.name, text.graph_index) for text in code.kernels}
    calls = [call for call in code.calls if (call.name, call.graph_index) not in generated]
    words = {_library_word(call) for call in calls}
    rows = {
        kernel.operator_row: kernel
        for kernel in kernels
        if kernel.operator_row != NO_ROW and words.intersection(kernel.operators)
    }
    if not calls or len(rows) % len(calls):
        return {}
    paired = [(row, kernel, calls[place % len(calls)]) for place, (row, kernel) in enumerate(rows.items())]
    if any(_library_word(call) not in kernel.operators for _, kernel, call in paired):
        return {}
    return {row: [_of_itself(call)] for row, _, call in paired}


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
