"""What code did the compiler write for a run, kernel by kernel, and which source lines stand behind each call?

GeneratedCode ┬ kernels ─ KernelText      one generated kernel, written once however often it is called
              ├ calls ─ KernelCall        every call in the order of the generated program, library calls included
              │           └ uses ─ OperatorSource   an operator that the kernel holds, and the line it comes from
              ├ lines ─ SourceLine        the lines that calls refer to
              └ graphs                    the whole output, one text a graph

Kept in a run's generated_code.json.gz. Standard library only, as the engine needs it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal

from explorer.errors import RecordingError


@dataclass(frozen=True, kw_only=True)
class SourceLine:
    """A line of the program that was compiled; `file` is relative to the folder that the package lies in.

    `caller_index` is the row in `lines` of the line that called the function, None for the outermost.
    """

    file: str
    line: int
    function: str
    text: str
    caller_index: int | None = None

    @property
    def place(self) -> str:
        """`model.py:112`."""
        return f"{PurePosixPath(self.file).name}:{self.line}"


@dataclass(frozen=True, kw_only=True)
class KernelText:
    """A generated kernel: Triton or C++ as Inductor wrote it, with its comments.

    `traced_name` is what the profiler calls it, `file` the file that Triton kernels are traced with (its name alone).
    """

    name: str
    traced_name: str
    graph_index: int
    code: str
    file: str = ""


@dataclass(frozen=True, kw_only=True)
class OperatorSource:
    """An operator inside a kernel, `aten::silu`, and the row of its line in `lines`, None where nobody says."""

    operator: str
    line_index: int | None = None


@dataclass(frozen=True, kw_only=True)
class KernelCall:
    """One call of the generated program; `uses` is empty where the compiler says nothing."""

    name: str
    graph_index: int
    uses: list[OperatorSource] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class GeneratedCode:
    """Everything that was generated for one run."""

    kernels: list[KernelText] = field(default_factory=list)
    calls: list[KernelCall] = field(default_factory=list)
    lines: list[SourceLine] = field(default_factory=list)
    graphs: list[str] = field(default_factory=list)


def kernel_source(code: str) -> str:
    """The kernel itself, without the call that hands it to its compiler: comments first, then Triton or C++.

    # Topologically Sorted Source Nodes: [silu, mul]       kept, as // in C++
    k = async_compile.triton('k', '''
    import triton ...                                      kept
    ''', device_str='cuda')
    """
    before, quote, rest = code.partition("'''")
    if not quote:
        return code
    mark = "//" if kernel_language(code) == "cpp" else "#"
    comments = [mark + line[1:] for line in before.splitlines() if line.startswith("#")]
    return "\n".join([*comments[:1], rest.rpartition("'''")[0].strip("\n")])


def kernel_language(code: str) -> Literal["python", "cpp"]:
    """`python` for Triton, `cpp` for the CPU's kernels."""
    return "cpp" if "async_compile.cpp" in code else "python"


def code_to_json(code: GeneratedCode) -> dict[str, Any]:
    """A plain dictionary that `code_from_json` reads back."""
    return dataclasses.asdict(code)


def code_from_json(fields: Mapping[str, Any]) -> GeneratedCode:
    """Generated code from a dictionary; raises RecordingError when it is none."""
    try:
        return GeneratedCode(
            kernels=[KernelText(**entry) for entry in fields["kernels"]],
            calls=[
                KernelCall(**{**entry, "uses": [OperatorSource(**use) for use in entry["uses"]]})
                for entry in fields["calls"]
            ],
            lines=[SourceLine(**entry) for entry in fields["lines"]],
            graphs=list(fields["graphs"]),
        )
    except (TypeError, KeyError) as problem:
        raise RecordingError(f"The generated code is malformed ({problem}); record the run again.") from None
