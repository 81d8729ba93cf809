"""A probe of attention, drawn by hand: four calls whose answers are known."""

from __future__ import annotations

from pathlib import Path

from explorer.attention_call import AttentionCall
from explorer.facts import Calibration, Environment, Facts, facts_to_json
from explorer.probe_results import (
    CallResult,
    Cell,
    Change,
    GraphTry,
    KeptBackend,
    ProbeResults,
    RaggedResult,
    results_to_json,
)
from explorer.probe_settings import ProbeSettings
from explorer.recording import FACTS_FILE, RESULTS_FILE, Recording, create_recording, write_json

DECODE = AttentionCall(label="decode", query_tokens=1, kv_head_count=8)
MASKED = AttentionCall(label="decode with mask", query_tokens=1, kv_head_count=8, mask="padding", mask_shape="B11T")
CHUNK = AttentionCall(label="chunked prefill", query_tokens=128, is_causal=True)
HUGE = AttentionCall(label="huge <prefill>", query_tokens=65536, kv_tokens=65536, is_causal=True)


def ran(backend: str, time_us: float, spread_us: float = 1.0) -> Cell:
    return Cell(
        backend=backend,
        outcome="ran",
        time_ns=time_us * 1000,
        spread_ns=spread_us * 1000,
        repeat_count=15,
        host_call_ns=20_000.0,
        first_call_ns=1e8,
        error_ratio=0.002,
        peak_extra_bytes=4096,
        kernels=[f"{backend}_kernel"],
        ran_backend=backend,
    )


def refused(backend: str, reason: str, *enabling: list[str]) -> Cell:
    sentence = f"PyTorch's sentence about {backend}."
    return Cell(backend=backend, outcome="refused", reason=reason, sentence=sentence, enabling=list(enabling))


def drawn_results() -> ProbeResults:
    failed = Cell(backend="math", outcome="failed", reason="ran out of memory", sentence="CUDA out of memory.")
    flex = Cell(backend="flex", outcome="not_tried", reason="flex attention was left out")
    no_mask = Change(name="mask", value="none", chosen="cudnn", accepted=["flash", "cudnn", "math"])
    grouped, unequal = "takes no grouped heads", "takes no is_causal with unequal lengths"
    repeated = ["KV heads repeated to the query heads"]
    calls = [
        CallResult(
            call=DECODE,
            chosen="cudnn",
            visible_pair_count=1024,
            masked_row_count=0,
            cells=[
                ran("flash", 110),
                refused("efficient", grouped, repeated),
                ran("cudnn", 55),
                ran("math", 391),
                flex,
            ],
        ),
        CallResult(
            call=MASKED,
            chosen="cudnn",
            visible_pair_count=896,
            masked_row_count=0,
            mask_bytes=1024,
            cells=[
                refused("flash", "takes no mask", ["no mask"]),
                refused("efficient", grouped, repeated),
                ran("cudnn", 150),
                ran("math", 495),
                flex,
            ],
            changes=[no_mask],
        ),
        CallResult(
            call=CHUNK,
            chosen="cudnn",
            visible_pair_count=8256,
            masked_row_count=0,
            cells=[
                refused("flash", unequal),
                ran("efficient", 58),
                ran("cudnn", 82),
                ran("math", 594),
                ran("flex", 40),
            ],
        ),
        CallResult(call=HUGE, chosen="flash", cells=[ran("flash", 30_000), failed]),
    ]
    return ProbeResults(
        priority_before=["flash", "efficient", "math", "cudnn"],
        priority_order=["cudnn", "flash", "efficient", "math"],
        build_backends=["flash", "efficient", "cudnn", "math"],
        matmul_flops_per_s={"bfloat16": 7e14},
        calls=calls,
        ragged=[
            RaggedResult(
                phase="extend",
                way="square",
                row_lengths=[10, 4],
                query_lengths=[4, 4],
                call_count=2,
                useful_pair_count=44,
                computed_pair_count=65,
                copied_bytes=1000,
                time_ns=5000.0,
                ran_backends=["cudnn"],
            )
        ],
        graph_tries=[
            GraphTry(
                backend="cudnn", situation="captured", survival="survives", error_ratio=0.001, ran_backend="cudnn"
            ),
            GraphTry(backend="flex", situation="lengths changed", survival="wrong", error_ratio=0.7),
        ],
        kept_backends=[
            KeptBackend(compiled_under="math", called_under="flash", kernels=["softmax_kernel"], ran_backend="math")
        ],
    )


def drawn_facts(device: str = "NVIDIA H200") -> Facts:
    return Facts(
        state="finished",
        settings_title="attention probe · 4 calls · cuda",
        environment=Environment(
            device_name=device, python_version="3.12.3", torch_version="2.11.0", cudnn_version="9.19.0"
        ),
        calibration=Calibration(read_bandwidth_bytes_per_s=4e12, matmul_flops_per_s=7e14),
    )


def write_probe(folder: Path, results: ProbeResults | None = None, device: str = "NVIDIA H200") -> Recording:
    """The drawn probe as a recording's folder."""
    settings = ProbeSettings(device="cuda", own_calls=(DECODE, MASKED, CHUNK, HUGE), call_sets=())
    recording = create_recording(folder, settings)
    write_json(folder / FACTS_FILE, facts_to_json(drawn_facts(device)))
    write_json(folder / RESULTS_FILE, results_to_json(results or drawn_results()))
    return recording
