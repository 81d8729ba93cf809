"""What code did Inductor write while a model compiled, and which operators and lines does each kernel hold?

Listened to while it compiles, never by compiling again: Inductor hands every finished program to a listener, and its
provenance says at each call which nodes of the graph that call computes.

    # [Provenance debug handles] triton_poi_fused_mul_silu_3:57      the handle 57 names the nodes silu, mul_12
    triton_poi_fused_mul_silu_3.run(buf9, ...)                       each node knows its operator and its stack
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import explorer
from explorer.engine.compile_caches import CACHE_VARIABLES
from explorer.generated_code import GeneratedCode, KernelCall, KernelText, OperatorSource, SourceLine, code_to_json
from explorer.recording import CODE_FILE

_DEFINITION = re.compile(r"^(?:#[^\n]*\n)*(\w+) = async_compile\.\w+\(.*?^''',?[^\n]*$", re.DOTALL | re.MULTILINE)
_CALL = re.compile(
    r"^\s+(?:\w+ = )?(?:((?:triton|cpp)_\w+?)(?:\.run)?|(extern_kernels\.\w+|torch\.ops\.\w+\.\w+)[\w.]*)\("
)
_HANDLE = re.compile(r"# \[Provenance debug handles\] (\S+)")
_FILE = re.compile(r"^# kernel path: (?:.*/)?([\w.]+)\n", re.MULTILINE)
_TRACED_NAME = re.compile(r'"(graph_\d+_cpp_\w+)"')
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (.+)\n(?:\s+(.*\S))?')
_BASIC_PROVENANCE = 2
_ROOT = Path(explorer.__file__).parents[1]


@dataclass(frozen=True)
class GraphNode:
    """A node of a compiled graph: the operator that it was (`aten::silu`) and the stack that called it."""

    operator: str
    stack: str


@dataclass(frozen=True)
class Program:
    """One graph's whole output; `handles` names the nodes that each call computes, by the handle in its comment."""

    code: str
    nodes: dict[str, GraphNode] = field(default_factory=dict)
    handles: dict[str, list[str]] = field(default_factory=dict)

    def nodes_of(self, handle: str) -> list[GraphNode]:
        """The nodes of a call in the order of the graph."""
        named = set(self.handles.get(handle, ()))
        return [node for name, node in self.nodes.items() if name in named]


@contextmanager
def kept_programs(compiles: bool = True) -> Iterator[list[Program]]:
    """The programs that Inductor writes meanwhile; the list fills while the context is open, and stays.

    Inductor itself is imported with the first compilation, as it would be without a listener.
    """
    programs: list[Program] = []
    if not compiles:
        yield programs
        return
    from torch._dynamo.callback import callback_handler

    with ExitStack() as undo:

        def listen(*_: object) -> None:
            _send_programs_to(programs, undo)

        callback_handler.register_start_callback(listen)
        undo.callback(_forget, callback_handler.start_callbacks, listen)
        yield programs


def _send_programs_to(programs: list[Program], undo: ExitStack) -> None:
    from torch._inductor import config
    from torch._inductor.graph import GraphLowering

    if GraphLowering.save_output_code is not None:  # every compilation comes here, the first one was enough
        return
    undo.callback(setattr, GraphLowering, "save_output_code", None)
    GraphLowering.save_output_code = lambda code: programs.append(_program(code))
    undo.callback(setattr, config.trace, "provenance_tracking_level", config.trace.provenance_tracking_level)
    config.trace.provenance_tracking_level = _BASIC_PROVENANCE


def _forget(callbacks: list[Callable[..., None]], callback: Callable[..., None]) -> None:
    """For a listener whose compilation never came."""
    if callback in callbacks:
        callbacks.remove(callback)


def _program(code: str) -> Program:
    """Called by Inductor at the end of code generation, when the graph and its provenance are at hand."""
    from torch._inductor import debug
    from torch._inductor.graph import GraphLowering
    from torch._inductor.virtualized import V

    lowering: Any = V.graph
    if not isinstance(lowering, GraphLowering):  # a program that came out of the compile cache has no graph
        return Program(code)
    nodes = {
        node.name: GraphNode(_operator(node), str(node.meta.get("stack_trace") or ""))
        for node in lowering.graph.nodes
        if node.op == "call_function"
    }
    return Program(code, nodes, {name: list(held) for name, held in _handles(debug).items()})


def _handles(debug: Any) -> dict[str, Any]:
    found: dict[str, Any] = getattr(debug, "_inductor_triton_kernel_to_post_grad_node_info", {})
    return found


def _operator(node: Any) -> str:
    """`aten::silu` of a node that silu was decomposed into."""
    name = str(node.meta.get("original_aten") or node.target)
    space, _, rest = name.partition(".")
    return f"{space}::{rest.partition('.')[0]}" if rest else name


@dataclass(frozen=True)
class ProgramCall:
    """One call of a program and the nodes that it computes."""

    name: str
    text: str
    nodes: list[GraphNode]


def kernel_texts(program: Program) -> dict[str, str]:
    """Every generated kernel's definition by name, with the comments before it."""
    return {match[1]: match[0] for match in _DEFINITION.finditer(program.code)}


def program_calls(program: Program) -> list[ProgramCall]:
    """What the program calls, in order; a kernel called twice stands twice."""
    calls, handle = [], ""
    for line in _DEFINITION.sub("", program.code).splitlines():
        handle = match[1] if (match := _HANDLE.search(line)) else handle
        if (match := _CALL.match(line)) is not None:
            calls.append(ProgramCall(match[1] or match[2], line.strip(), program.nodes_of(handle)))
            handle = ""
    return calls


def without_cache_folder(text: str) -> str:
    """Generated code without the folder that this process compiles in, which nobody else has."""
    for variable in CACHE_VARIABLES:
        if folder := os.environ.get(variable):
            text = text.replace(f"{folder}/", "")
    return text


def generated_code(programs: Sequence[Program]) -> GeneratedCode:
    """The kernels, calls and lines of all programs of a run."""
    lines: dict[SourceLine, int] = {}
    kernels = [
        _kernel_text(name, index, text)
        for index, program in enumerate(programs)
        for name, text in kernel_texts(program).items()
    ]
    calls = [
        KernelCall(name=call.name, graph_index=index, uses=_uses(call.nodes, lines))
        for index, program in enumerate(programs)
        for call in program_calls(program)
    ]
    graphs = [without_cache_folder(program.code) for program in programs]
    return GeneratedCode(kernels=kernels, calls=calls, lines=list(lines), graphs=graphs)


def _kernel_text(name: str, graph_index: int, text: str) -> KernelText:
    file, traced = _FILE.search(text), _TRACED_NAME.search(text)
    return KernelText(
        name=name,
        traced_name=traced[1] if traced else name,
        graph_index=graph_index,
        code=without_cache_folder(_FILE.sub("", text)),
        file=file[1] if file else "",
    )


def _uses(nodes: Sequence[GraphNode], lines: dict[SourceLine, int]) -> list[OperatorSource]:
    """Each pair of operator and line once; lines that are new get the next number."""
    uses = [OperatorSource(operator=node.operator, line_index=_line_index(node.stack, lines)) for node in nodes]
    return list(dict.fromkeys(uses))


def _line_index(stack: str, lines: dict[SourceLine, int]) -> int | None:
    """The number of the stack's innermost line, its callers having theirs; None for an empty stack."""
    index = None
    for file, line, function, text in _FRAME.findall(stack):
        path = Path(file)
        shown = path.relative_to(_ROOT) if path.is_relative_to(_ROOT) else Path(path.name)
        frame = SourceLine(file=str(shown), line=int(line), function=function, text=text, caller_index=index)
        index = lines.setdefault(frame, len(lines))
    return index


def write_generated_code(programs: Sequence[Program], folder: Path) -> None:
    """Writes the programs' code into the recording; nothing where none was generated."""
    if programs:
        packed = gzip.compress(json.dumps(code_to_json(generated_code(programs))).encode(), mtime=0)
        draft = folder / f".{CODE_FILE}"
        draft.write_bytes(packed)
        draft.replace(folder / CODE_FILE)
