"""Is the code that Inductor writes kept while it compiles, with the operators and lines of every call?"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from explorer.analysis.fusion_names import generated_words
from explorer.engine.generated_code import (
    GraphNode,
    Program,
    generated_code,
    kept_programs,
    kernel_texts,
    program_calls,
)
from explorer.generated_code import GeneratedCode, OperatorSource, kernel_source
from explorer.ingest import read_trace
from explorer.recording import Recording
from tests.engine.conftest import EngineRun

STACK = '  File "/somewhere/model.py", line {line}, in forward\n    x = functional.silu(gate)\n        ^^^^^\n'
TRITON = """
# kernel path: {folder}/h4/ch4yqj.py
# Topologically Sorted Source Nodes: [silu, mul], Original ATen: [aten.silu, aten.mul]
triton_poi_fused_mul_silu_0 = async_compile.triton('triton_poi_fused_mul_silu_0', '''
import triton
def triton_poi_fused_mul_silu_0(in_ptr0):
    tl.load(in_ptr0)
''', device_str='cuda')

async_compile.wait(globals())

def partition_0(args):
    # [Provenance debug handles] extern_kernels.mm:1
    extern_kernels.mm(buf0, arg1_1, out=buf1)
    # [Provenance debug handles] triton_poi_fused_mul_silu_0:2
    triton_poi_fused_mul_silu_0.run(buf1, 3072, stream=stream0)
    triton_poi_fused_mul_silu_0.run(buf2, 3072, stream=stream0)
"""


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/cache/here")
    nodes = {
        "mm": GraphNode("aten::mm", STACK.format(line=7)),
        "neg": GraphNode("aten::silu", STACK.format(line=8)),
        "exp": GraphNode("aten::silu", STACK.format(line=8)),
        "mul_1": GraphNode("aten::mul", ""),
    }
    handles = {"extern_kernels.mm:1": ["mm"], "triton_poi_fused_mul_silu_0:2": ["mul_1", "exp", "neg"]}
    return Program(TRITON.format(folder="/cache/here"), nodes, handles)


def test_calls_come_in_order_with_the_nodes_of_their_own_handle(program: Program) -> None:
    calls = program_calls(program)
    assert [call.name for call in calls] == [
        *("extern_kernels.mm", "triton_poi_fused_mul_silu_0", "triton_poi_fused_mul_silu_0")
    ]
    assert [[node.operator for node in call.nodes] for call in calls] == [
        *(["aten::mm"], ["aten::silu", "aten::silu", "aten::mul"], [])
    ]


def test_a_kernel_keeps_its_comments_and_its_file_but_no_folder_of_the_machine(program: Program) -> None:
    code = generated_code([program])
    (kernel,) = code.kernels
    assert kernel.code.startswith("# Topologically Sorted Source Nodes: [silu, mul]")
    assert kernel.code.endswith("''', device_str='cuda')")
    assert (kernel.file, kernel.traced_name) == ("ch4yqj.py", kernel.name)
    assert "/cache/here" not in code.graphs[0]


def test_operators_of_one_line_are_told_once_with_that_line(program: Program) -> None:
    code = generated_code([program])
    assert code.calls[1].uses == [
        OperatorSource(operator="aten::silu", line_index=1),
        OperatorSource(operator="aten::mul"),
    ]
    line = code.lines[1]
    assert (line.file, line.line, line.function, line.text) == ("model.py", 8, "forward", "x = functional.silu(gate)")


def test_nothing_is_listened_to_where_nothing_compiles() -> None:
    with kept_programs(compiles=False) as programs:
        pass
    assert programs == []


@pytest.mark.slow
def test_listening_ends_with_its_context_and_hears_the_real_compiler() -> None:
    from torch._inductor import config
    from torch._inductor.graph import GraphLowering

    def gated(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.silu(gate) * up

    # A program that comes out of the cache of an earlier run does not say what its kernels hold.
    with config.patch(fx_graph_cache=False), kept_programs() as programs:
        torch.compile(gated, dynamic=False)(torch.ones(64), torch.ones(64))
    assert GraphLowering.save_output_code is None
    assert config.trace.provenance_tracking_level == 0
    torch.compile(gated, dynamic=False)(torch.ones(96), torch.ones(96))
    (program,) = programs
    ((name, text),) = kernel_texts(program).items()
    assert "kernel(" in text
    (call,) = program_calls(program)
    assert call.name == name
    assert {node.operator for node in call.nodes} == {"aten::silu", "aten::mul"}


@pytest.fixture(scope="module")
def compiled_run(run_engine: Callable[..., EngineRun]) -> Recording:
    short = {"warmup_steps": 1, "measured_steps": 2, "profiled_steps": 1}
    recording, exit_code, _ = run_engine(mode="compile", compile_scope="layer", **short)
    assert exit_code == 0
    return recording


@pytest.fixture(scope="module")
def code(compiled_run: Recording) -> GeneratedCode:
    found = compiled_run.generated_code()
    assert found is not None
    return found


@pytest.mark.slow
def test_every_generated_kernel_of_the_trace_has_its_code(compiled_run: Recording, code: GeneratedCode) -> None:
    names = read_trace(compiled_run.trace_path).operators["name"].unique().to_pylist()
    ran = {name for name in names if generated_words(name) is not None}
    assert ran == {kernel.traced_name for kernel in code.kernels}
    assert all(kernel_source(kernel.code).startswith("#include") for kernel in code.kernels)


@pytest.mark.slow
def test_calls_name_the_models_own_operators_and_lines(code: GeneratedCode) -> None:
    uses = [use for call in code.calls for use in call.uses]
    assert all(call.uses for call in code.calls)
    silu = next(use for use in uses if use.operator == "aten::silu")
    assert silu.line_index is not None
    line = code.lines[silu.line_index]
    assert line.file == "explorer/engine/model.py"
    assert "silu" in line.text
    assert line.caller_index is not None
    assert "mlp(" in code.lines[line.caller_index].text
