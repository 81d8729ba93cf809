"""Do whole runs on a GPU leave the numbers that facts of this field are known for?"""

from __future__ import annotations

import statistics
from collections.abc import Callable

import pytest
import torch

from explorer.attention_names import backend_of_name
from explorer.model_shapes import TINY
from explorer.recording import Recording
from explorer.settings import AttentionBackend, Mode

pytestmark = pytest.mark.gpu

FinishedRun = tuple[Recording, int]
MakeRun = Callable[..., FinishedRun]


def test_eager_step_has_about_1700_kernels(eager_run: FinishedRun) -> None:
    profile = eager_run[0].facts().profile
    assert profile is not None
    assert len(set(profile.kernel_counts)) == 1
    assert 1600 <= profile.kernel_counts[0] <= 1800


def test_eager_run_is_complete_and_correct(eager_run: FinishedRun) -> None:
    facts = eager_run[0].facts()
    assert (eager_run[1], facts.state) == (0, "finished")
    assert facts.correctness is not None
    assert facts.correctness.passed
    assert facts.peak_memory_bytes is not None
    assert facts.weight_bytes is not None
    assert facts.peak_memory_bytes > facts.weight_bytes
    assert eager_run[0].trace_path.stat().st_size < 2_000_000


@pytest.mark.parametrize("mode", ["cuda_graph", "compile_cuda_graph"])
def test_replayed_graph_has_the_kernels_of_the_captured_step(make_run: MakeRun, mode: Mode) -> None:
    profile = make_run(mode=mode, compile_scope="layer")[0].facts().profile
    assert profile is not None
    assert profile.note == ""
    assert set(profile.kernel_counts) == {profile.expected_kernel_count}


def test_compiled_graph_step_is_many_times_shorter_than_eager(eager_run: FinishedRun, make_run: MakeRun) -> None:
    graph_facts = make_run(model="qwen3-0.6b", mode="compile_cuda_graph")[0].facts()
    assert graph_facts.correctness is not None
    assert graph_facts.correctness.passed
    eager_ns = statistics.median(eager_run[0].facts().steady_latencies_ns)
    graph_ns = statistics.median(graph_facts.steady_latencies_ns)
    # 10 to 20 times were measured: the eager step is the host's, and hosts differ by a factor of two.
    assert eager_ns / graph_ns > 5


@pytest.mark.parametrize("backend", ["flash", "efficient", "cudnn", "math"])
def test_chosen_attention_backend_really_runs(make_run: MakeRun, backend: AttentionBackend) -> None:
    facts = make_run(attention=backend)[0].facts()
    assert facts.state == "finished", facts.failure
    assert {backend_of_name(name) for name in facts.attention_kernels} == {backend}
    assert facts.correctness is not None
    assert facts.correctness.passed


def test_memory_that_cannot_suffice_is_said_before_trying(make_run: MakeRun) -> None:
    recording, exit_code = make_run(model="qwen3-8b", batch_size=4096, context_tokens=1000, cache_tokens=32768)
    failure = recording.failure()
    assert failure is not None
    assert (exit_code, failure.kind, failure.stage) == (1, "out_of_memory", "build")
    assert "qwen3-8b needs" in failure.message


def test_running_out_of_memory_leaves_a_recording_that_says_so(make_run: MakeRun) -> None:
    cache_bytes_per_row = 16384 * TINY.kv_bytes_per_token("bfloat16")
    # The cache takes half of the memory, and a prefill's activations more than the other half.
    rows = min(4096, torch.cuda.mem_get_info()[0] // 2 // cache_bytes_per_row)
    recording, exit_code = make_run(phase="prefill", batch_size=rows, context_tokens=16384, cache_tokens=16384)
    failure = recording.failure()
    assert failure is not None
    assert (exit_code, failure.kind, failure.stage) == (1, "out_of_memory", "correctness")
    assert "were asked for" in failure.message
