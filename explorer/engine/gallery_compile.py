"""What does torch.compile make of an expression: which kernels from which operators, and where does it give up?

Inductor's provenance (which operators and source lines each kernel holds) is written into PyTorch's structured log as
two artifacts; a log handler reads them while the expression compiles.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import Any

import torch

from explorer.engine.gallery_expressions import Expression, Function
from explorer.gallery_results import GeneratedKernel, GraphBreak

_NODES = "inductor_provenance_tracking_node_mappings"
_STACKS = "inductor_provenance_tracking_kernel_stack_traces"
_DEFINITION = re.compile(r"^(\w+) = async_compile\.\w+\(.*?^''',?.*?$", re.DOTALL | re.MULTILINE)
_CALL = re.compile(
    r"^\s+(?:\w+ = )?(?:((?:triton|cpp)_\w+?)(?:\.run)?|(extern_kernels\.\w+|torch\.ops\.\w+\.\w+)[\w.]*)\("
)
_NUMBER = re.compile(r"(?:_default)?(?:_\d+)?$")
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
    """Asks Inductor for provenance, and on the CPU for a mark of every generated kernel in the profiler's trace."""
    from torch._inductor import config

    config.cpp.enable_kernel_profile = device.type == "cpu"
    if hasattr(config.trace, "provenance_tracking_level"):  # older versions take it from the environment only
        config.trace.provenance_tracking_level = 1


def compile_expression(expression: Expression) -> CompiledExpression:
    """Compiles for exactly these shapes; Dynamo's caches are emptied first, so earlier expressions compile again."""
    from torch._inductor.utils import run_and_get_code

    graph_count, breaks = _explain(expression)
    torch._dynamo.reset()
    compiled = torch.compile(expression.function, dynamic=False)
    with _provenance() as said:
        _, codes = run_and_get_code(compiled, *expression.inputs)
    kernels = [kernel for code in codes for kernel in _kernels(code, said, _code_of(expression))]
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


class _Artifacts(logging.Handler):
    """Keeps the provenance artifacts of the structured log; of kernels of one name the later one counts."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.nodes: dict[str, list[str]] = {}
        self.stacks: dict[str, list[str]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        name = getattr(record, "metadata", {}).get("artifact", {}).get("name")
        payload = getattr(record, "payload", None)
        if name not in (_NODES, _STACKS) or not payload:
            return
        fields: dict[str, Any] = json.loads(payload)
        if name == _NODES:
            self.nodes.update(fields.get("cppCodeToPost", {}))
        else:
            self.stacks.update(fields)


@contextmanager
def _provenance() -> Iterator[_Artifacts]:
    artifacts, log = _Artifacts(), logging.getLogger("torch.__trace")
    log.addHandler(artifacts)
    try:
        yield artifacts
    finally:
        log.removeHandler(artifacts)


def _kernels(code: str, said: _Artifacts, source: CodeType) -> list[GeneratedKernel]:
    """The kernels that the wrapper's `call` runs, in order; one called twice stands twice."""
    texts = {match[1]: match[0] for match in _DEFINITION.finditer(code)}
    kernels = []
    for line in code.partition("def call(")[2].splitlines():
        match = _CALL.match(line)
        if match is None:
            continue
        name = match[1] or match[2]
        handles = {handle for handle in (*said.nodes, *said.stacks) if handle.partition(":")[0] == name}
        nodes = [node for handle in handles for node in said.nodes.get(handle, [])]
        stacks = [stack for handle in handles for stack in said.stacks.get(handle, [])]
        kernels.append(
            GeneratedKernel(
                name=name,
                operators=list(dict.fromkeys(_NUMBER.sub("", node) for node in nodes)),
                lines=_lines(stacks, source),
                code=texts.get(name, line.strip()),
            )
        )
    return kernels


def _lines(stacks: list[str], source: CodeType) -> list[int]:
    """The expression's own lines in those stack traces, 1 being its first."""
    return sorted(
        {
            int(line) - source.co_firstlineno + 1
            for stack in stacks
            for file, line in _FRAME.findall(stack)
            if file == source.co_filename
        }
    )
