"""Is the code of a compiled run kept on a GPU in every mode that compiles, and tied to the kernels that ran?"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from explorer.analysis.fusion_code import texts_of, with_code
from explorer.analysis.fusion_kernels import step_kernels
from explorer.generated_code import kernel_source
from explorer.ingest import read_trace
from tests.gpu.conftest import FinishedRun

pytestmark = pytest.mark.gpu

SHORT = {"warmup_steps": 2, "measured_steps": 5, "profiled_steps": 1}


@pytest.mark.parametrize("mode", ["compile", "compile_cuda_graph", "reduce_overhead", "compile_piecewise"])
def test_every_generated_kernel_that_ran_has_its_triton_code(make_run: Callable[..., FinishedRun], mode: str) -> None:
    recording, exit_code = make_run(mode=mode, **SHORT)
    assert exit_code == 0
    code, step = recording.generated_code(), step_kernels(read_trace(recording.trace_path))
    assert code is not None
    assert step is not None
    generated = [kernel for kernel in with_code(step, code).kernels if kernel.words is not None]
    assert generated
    for kernel in generated:
        texts = texts_of(kernel, code)
        assert texts, kernel.name
        assert all("@triton.jit" in kernel_source(text.code) for text in texts)
        assert kernel.held, kernel.name
