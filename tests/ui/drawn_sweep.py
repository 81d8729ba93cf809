"""A sweep drawn for page tests: step times, memory and start-up by a rule, so that sums can be checked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from explorer.experiments import settings_to_json
from explorer.graph_modes import GraphKind
from explorer.recording import FACTS_FILE, RESULTS_FILE, SETTINGS_FILE, write_json
from explorer.settings import RunSettings
from explorer.sweep_settings import (
    GraphMeasurement,
    PaddingCheck,
    ServedBatch,
    SizeMeasurement,
    SweepResults,
    SweepSettings,
    Trap,
    results_to_json,
)
from tests.ui.drawn import facts_of


def replay_ns(size: int) -> int:
    """4 ms and 20 µs a row."""
    return 4_000_000 + 20_000 * size


def graph(kind: GraphKind, size: int, largest: int) -> GraphMeasurement:
    return GraphMeasurement(
        kind=kind,
        read_tokens=None,
        graph_count=1 if kind == "FULL" else 29,
        compile_ns=None,
        warm_up_ns=100_000_000,
        capture_ns=50_000_000,
        pool_bytes=200 * 2**20 if size == largest else 0,
        outside_bytes=30 * 2**20,
        replay_latencies_ns=[replay_ns(size) + shift for shift in (-1000, 0, 1000)],
    )


def write_sweep(folder: Path, sizes: Sequence[int], *, device: str = "cuda") -> Path:
    """A finished sweep of these sizes; on the CPU without graphs."""
    on_gpu = device == "cuda"
    settings = SweepSettings(model="qwen3-0.6b", device="cuda" if on_gpu else "cpu", sizes=tuple(sizes))
    measured = [
        SizeMeasurement(
            size=size,
            eager_latencies_ns=[24_000_000, 24_100_000],
            graphs=[graph("FULL", size, max(sizes)), graph("PIECEWISE", size, max(sizes))] if on_gpu else [],
        )
        for size in sorted(sizes, reverse=True)
    ]
    results = SweepResults(
        graph_mode="FULL_AND_PIECEWISE",
        sizes=measured,
        no_graphs_reason=None if on_gpu else "CUDA graphs need a CUDA device.",
        padding_checks=[
            PaddingCheck(
                batch=3,
                size=4,
                kind="FULL",
                logits_error_ratio=0.004,
                is_bit_equal=False,
                other_rows_are_unchanged=True,
                follows_inputs=True,
            )
        ],
        batches=[
            ServedBatch(
                decode_count=3, prompt_count=0, kind="FULL", size=4, reason="3 tokens are padded.", latencies_ns=[5]
            )
        ],
        traps=[
            Trap(
                name="rebinding an input",
                done="x = something else",
                found=3.0,
                expected=11.0,
                is_caught=True,
                explanation="A graph reads the memory that it was recorded with.",
            ),
            Trap(
                name="a synchronising call inside a capture",
                done=".item() while recording",
                found=None,
                expected=None,
                is_caught=True,
                explanation="Nothing runs while work is recorded.",
                error="AcceleratorError: operation not permitted",
                error_line="traps.py:1: z.sum().item()",
            ),
        ],
        is_alive_after_traps=True,
    )
    folder.mkdir(parents=True)
    write_json(folder / SETTINGS_FILE, settings_to_json(settings))
    write_json(folder / FACTS_FILE, facts_of(RunSettings()))
    write_json(folder / RESULTS_FILE, results_to_json(results))
    return folder
