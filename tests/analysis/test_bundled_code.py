"""Does the compiled run that was recorded on an H200 hold its code, and does that prove which kernels became which?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.analysis.fusion import Fusion, fusion
from explorer.analysis.fusion_code import texts_of, with_code
from explorer.analysis.fusion_kernels import StepKernels, step_kernels
from explorer.generated_code import GeneratedCode, kernel_source
from explorer.recording import CODE_FILE, Recording
from explorer.trace import Trace

SAMPLES = Path(__file__).parents[2] / "traces" / "samples"
COMPILED = Recording(SAMPLES / "h200-compile")
Read = Callable[[Path], Trace]


@pytest.fixture(scope="module")
def code() -> GeneratedCode:
    found = COMPILED.generated_code()
    assert found is not None
    return found


def _step(trace: Trace) -> StepKernels:
    step = step_kernels(trace)
    assert step is not None
    return step


@pytest.fixture(scope="module")
def compiled(read: Read, code: GeneratedCode) -> StepKernels:
    return with_code(_step(read(COMPILED.trace_path)), code)


@pytest.fixture(scope="module")
def answer(read: Read, compiled: StepKernels) -> Fusion:
    return fusion(_step(read(SAMPLES / "h200-eager" / "trace.json.gz")), compiled)


def test_every_generated_kernel_of_the_step_has_one_text_of_triton(compiled: StepKernels, code: GeneratedCode) -> None:
    generated = [kernel for kernel in compiled.kernels if kernel.words is not None]
    assert len(generated) > 100
    for kernel in generated:
        (text,) = texts_of(kernel, code)
        assert "@triton.jit" in kernel_source(text.code)
    assert (COMPILED.folder / CODE_FILE).stat().st_size < 300_000


def test_all_kernels_know_their_operators_and_lines(compiled: StepKernels) -> None:
    unknown = [kernel.name for kernel in compiled.kernels if not kernel.held]
    assert not unknown
    swiglu = next(kernel for kernel in compiled.kernels if kernel.words == "_unsafe_view_mul_silu")
    assert {held.word for held in swiglu.held} == {"silu", "mul"}
    lines = {held.line.text for held in swiglu.held if held.line}
    assert len(lines) == 1
    assert "functional.silu" in lines.pop()


def test_a_replay_of_the_same_program_is_proven_as_well(read: Read) -> None:
    recording = Recording(SAMPLES / "h200-compile-cuda-graph")
    code = recording.generated_code()
    assert code is not None
    step = with_code(_step(read(recording.trace_path)), code)
    eager = _step(read(SAMPLES / "h200-eager" / "trace.json.gz"))
    folded = fusion(eager, step).folded
    certain = sum(len(one.kernels("eager")) for one in folded if one.first.match == "certain")
    assert certain >= 0.95 * len(eager.kernels)


def test_most_of_the_eager_kernel_time_is_matched_by_the_compilers_own_word(answer: Fusion) -> None:
    certain = [one for one in answer.folded if one.first.match == "certain"]
    time_ns = sum(kernel.time_ns for one in certain for kernel in one.kernels("eager"))
    assert time_ns >= 0.95 * sum(kernel.time_ns for one in answer.folded for kernel in one.kernels("eager"))
    assert {one.first.match for one in answer.folded} <= {"certain", "by_name"}
