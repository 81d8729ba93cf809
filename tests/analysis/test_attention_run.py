"""Is the backend told from operators and kernel names, and is a mismatch with the request loud?"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.analysis.attention_run import attention_share, backends_of_run
from explorer.analysis.attention_saving import alternatives, run_to_check, saving_sentence
from explorer.attention_calls import call_of_run
from explorer.attention_names import Backends
from explorer.facts import Facts
from explorer.ingest import read_trace
from explorer.model_shapes import MODEL_SHAPES
from explorer.probe_results import ProbeResults
from explorer.settings import RunSettings
from explorer.trace import Trace
from tests.drawn_probe import drawn_results
from tests.shared import SHARED, needs_shared

FLASH_OPERATOR = "aten::_scaled_dot_product_flash_attention"
MATH_OPERATOR = "aten::_scaled_dot_product_attention_math"


def traced(folder: Path, *pieces: tuple[str, str | None, int]) -> Trace:
    """A trace of kernels given as (name, operator around its launch, microseconds)."""
    events: list[dict[str, Any]] = []
    for number, (name, operator, duration) in enumerate(pieces, 1):
        at = number * 100
        here = {"pid": 1, "tid": 1, "ph": "X"}
        if operator:
            events.append({**here, "cat": "cpu_op", "name": operator, "ts": at, "dur": 20, "args": {}})
        launch = {**here, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 2, "dur": 5}
        events.append({**launch, "args": {"correlation": number}})
        work = {"pid": 0, "tid": 7, "ph": "X", "cat": "kernel", "name": name, "ts": at + 10, "dur": duration}
        events.append({**work, "args": {"correlation": number, "device": 0, "stream": 7}})
    path = folder / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    return read_trace(path)


def shares(trace: Trace) -> dict[str, float]:
    table = attention_share(trace).table("backends")
    return dict(zip(table["backend"], table["share_ratio"].tolist(), strict=True))


def test_operator_tells_what_kernel_names_do_not(tmp_path: Path) -> None:
    trace = traced(tmp_path, ("nvjet_gemm", MATH_OPERATOR, 30), ("softmax_warp_forward", MATH_OPERATOR, 10))
    report = attention_share(trace)
    assert shares(trace) == {"math": 1.0}
    assert report.table("backends")["told_by"].tolist() == ["operator"]
    assert report.value("attention_ratio") == 1.0


def test_matrix_product_and_softmax_elsewhere_are_no_attention(tmp_path: Path) -> None:
    trace = traced(
        tmp_path,
        ("nvjet_gemm", "aten::mm", 30),
        ("softmax_warp_forward", "aten::_softmax", 10),
        ("void pytorch_flash::flash_fwd_kernel", None, 60),
    )
    report = attention_share(trace)
    assert shares(trace) == {"flash": 1.0}
    assert report.value("attention_ratio") == pytest.approx(0.6)
    assert report.table("backends")["told_by"].tolist() == ["kernel name"]


def test_coverage_counts_attention_without_a_known_backend(tmp_path: Path) -> None:
    trace = traced(
        tmp_path, ("void pytorch_flash::flash_fwd_kernel", FLASH_OPERATOR, 30), ("merge_attn_states", None, 10)
    )
    assert attention_share(trace).value("coverage_ratio") == pytest.approx(0.75)
    assert shares(trace) == {"flash": 0.75, "not told": 0.25}


def test_trace_without_attention_says_so(tmp_path: Path) -> None:
    report = attention_share(traced(tmp_path, ("nvjet_gemm", "aten::mm", 30)))
    assert report.value("attention_ns") == 0
    assert report.value("coverage_ratio") is None
    assert any("No attention kernel was recognised" in note for note in report.notes)


@needs_shared
@pytest.mark.parametrize(
    ("name", "backend"),
    [
        ("h200_qwen3-0.6b_eager_b1", "cudnn"),
        ("h200_qwen3-0.6b_graph_b1", "cudnn"),
        ("h100_qwen1.5-0.5b_eager", "flash"),
        ("h200_sdpa_backends", "math"),
        ("mi300_sglang_qwen3-8b_decode_hipgraph", "paged"),
        ("mi300_vllm_decode_fullgraph", "triton"),
        ("mi300_qwen1.5-0.5b_eager", "flash"),
    ],
)
def test_backend_of_shared_traces_is_told_with_full_coverage(
    name: str, backend: str, read: Callable[[Path], Trace]
) -> None:
    report = attention_share(read(SHARED / "traces" / f"{name}.json.gz"))
    assert report.table("backends")["backend"][0] == backend
    assert report.value("coverage_ratio") == 1.0


def test_forcing_flash_around_what_was_compiled_under_math_is_a_mismatch() -> None:
    backends = Backends("flash", "math", "math")
    assert backends.is_mismatch
    assert "a compiled function keeps the backend that it was compiled under" in backends.sentence


@pytest.mark.parametrize(
    ("requested", "chosen", "ran_backend", "is_mismatch"),
    [
        ("auto", "cudnn", "cudnn", False),
        ("auto", "flash", "cudnn", True),
        ("flash", "flash", "flash", False),
        ("flash", None, "cudnn", True),
        ("auto", None, "cudnn", False),
        ("flash", "flash", None, False),
        (None, None, "flash", False),
    ],
)
def test_mismatch_needs_a_known_wish_and_a_known_reality(
    requested: str | None, chosen: str | None, ran_backend: str | None, is_mismatch: bool
) -> None:
    assert Backends(requested, chosen, ran_backend).is_mismatch == is_mismatch


def test_what_ran_comes_from_the_trace_before_the_recorded_names(tmp_path: Path) -> None:
    facts = Facts(attention_chosen="flash", attention_kernels=["void pytorch_flash::flash_fwd_kernel"])
    settings = RunSettings(attention="flash")
    assert not backends_of_run(settings, facts, None).is_mismatch
    trace = traced(tmp_path, ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop", None, 30))
    assert backends_of_run(settings, facts, trace) == Backends("flash", "flash", "cudnn")


def test_alternatives_are_the_same_call_and_the_call_without_its_mask() -> None:
    settings = RunSettings(model="qwen3-0.6b", cache_tokens=1024)
    call = call_of_run(settings, MODEL_SHAPES["qwen3-0.6b"])
    found = alternatives(call, "cudnn", 3e6, drawn_results())
    assert [(one.cell.backend, one.result.call.label) for one in found] == [("cudnn", "decode"), ("flash", "decode")]
    savings = [3e6 * (150 - 55) / 150, 3e6 * (150 - 110) / 150]
    assert [one.saving_ns for one in found] == pytest.approx(savings)
    assert saving_sentence(found, 5e6).startswith("cuDNN without a mask would save 1.90 ms a step of 5.00 ms (38 %)")


def test_a_run_checks_the_best_alternative_that_the_engine_can_make() -> None:
    settings, shape = RunSettings(model="qwen3-0.6b", device="cuda"), MODEL_SHAPES["qwen3-0.6b"]
    found = alternatives(call_of_run(settings, shape), "cudnn", 3e6, drawn_results())
    check = run_to_check(settings, shape, found)
    assert check is not None
    wanted, alternative = check
    assert (wanted.attention, alternative.cell.backend) == ("flash", "flash")  # cuDNN would read the mask again
    assert run_to_check(settings, shape, []) is None


def test_nothing_faster_is_said() -> None:
    call = dataclasses.replace(drawn_results().calls[0].call, label="other")
    assert alternatives(call, "cudnn", 3e6, drawn_results()) == []
    assert "nothing faster" in saving_sentence([], None)
    assert alternatives(call, "cudnn", 3e6, ProbeResults()) == []


def test_run_under_flash_reads_a_cut_cache_without_a_mask() -> None:
    shape = MODEL_SHAPES["qwen3-0.6b"]
    flash = call_of_run(RunSettings(attention="flash", context_tokens=500), shape)
    assert (flash.kv_tokens, flash.mask) == (501, "none")
    auto = call_of_run(RunSettings(context_tokens=500), shape)
    assert (auto.kv_tokens, auto.mask) == (1024, "padding")
    prefill = call_of_run(RunSettings(phase="prefill", context_tokens=500), shape, repeats_heads=True)
    assert (prefill.query_tokens, prefill.kv_tokens, prefill.is_causal, prefill.kv_head_count) == (500, 500, True, 16)
