"""What does torch.compile make of an expression: which kernels from which operators, and where does it give up?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType

import torch

from explorer.engine.gallery_expressions import Expression, Function
from explorer.engine.generated_code import (
    GraphNode,
    Program,
    kept_programs,
    kernel_texts,
    program_calls,
    without_cache_folder,
)
from explorer.gallery_results import GeneratedKernel, GraphBreak

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


@dataclass(frozen=True)
class CompiledExpression:
    """The compiled function, its generated code (one text a graph), and the kernels it calls in their order."""

    function: Function
    generated_code: list[str]
    kernels: list[GeneratedKernel]
    graph_breaks: list[GraphBreak]
    graph_count: int


def prepare_inductor(device: torch.device) -> None:
    """Asks Inductor for a mark of every generated kernel in the CPU's traces, and to compile equal graphs anew.

    A graph that two expressions share would come out of its cache the second time, without what it was made of.
    """
    from torch._inductor import config

    config.cpp.enable_kernel_profile = device.type == "cpu"
    config.fx_graph_cache = False


def compile_expression(expression: Expression) -> CompiledExpression:
    """Compiles for exactly these shapes; Dynamo's caches are emptied first, so earlier expressions compile again."""
    graph_count, breaks = _explain(expression)
    torch._dynamo.reset()
    compiled = torch.compile(expression.function, dynamic=False)
    with kept_programs() as programs:
        compiled(*expression.inputs)
    kernels = [kernel for program in programs for kernel in _kernels(program, _code_of(expression))]
    codes = [without_cache_folder(program.code) for program in programs]
    return CompiledExpression(compiled, codes, kernels, breaks, graph_count)


def _explain(expression: Expression) -> tuple[int, list[GraphBreak]]:
    told = torch._dynamo.explain(expression.function)(*expression.inputs)
    code = _code_of(expression)
    breaks = []
    for one in told.break_reasons:
        frame = one.user_stack[-1] if one.user_stack else None
        inside = frame is not None and frame.filename == code.co_filename
        breaks.append(
            GraphBreak(
                reason=str(one.reason).strip(),
                place=f"{frame.filename.rpartition('/')[2]}, line {frame.lineno}" if frame is not None else "",
                line=frame.lineno - code.co_firstlineno + 1 if frame is not None and inside else None,
            )
        )
    return int(told.graph_count), breaks


def _code_of(expression: Expression) -> CodeType:
    code: CodeType = expression.function.__code__
    return code


def _kernels(program: Program, source: CodeType) -> list[GeneratedKernel]:
    """The kernels that the program calls, in order; one called twice stands twice."""
    texts = kernel_texts(program)
    return [
        GeneratedKernel(
            name=call.name,
            operators=list(dict.fromkeys(node.operator.rpartition("::")[2] for node in call.nodes)),
            lines=_lines(call.nodes, source),
            code=without_cache_folder(texts.get(call.name, call.text)),
        )
        for call in program_calls(program)
    ]


def _lines(nodes: Sequence[GraphNode], source: CodeType) -> list[int]:
    """The expression's own lines in those nodes' stacks, 1 being its first."""
    return sorted(
        {
            int(line) - source.co_firstlineno + 1
            for node in nodes
            for file, line in _FRAME.findall(node.stack)
            if file == source.co_filename
        }
    )
