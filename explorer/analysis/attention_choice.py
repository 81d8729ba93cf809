"""Was the chosen attention backend the fastest, and how far from the device's ceilings was each?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.attention_names import BACKEND_LABELS
from explorer.facts import Facts
from explorer.probe_results import PROBE_BACKENDS, CallResult, Cell, ProbeResults
from explorer.units import significant

_NS_PER_S = 1e9
SDPA_BACKENDS = tuple(backend for backend in PROBE_BACKENDS if backend != "flex")
"""What PyTorch chooses among by itself; flex attention is called by another name."""


@dataclass(frozen=True)
class Rates:
    """What one cell achieved, against this device's ceilings; None where something is unknown.

    `flops_per_s` counts the pairs that the mask lets through, `bytes_per_s` each tensor once.
    """

    flops_per_s: float | None
    flops_ratio: float | None
    bytes_per_s: float | None
    bytes_ratio: float | None


def fastest_cell(result: CallResult, backends: Sequence[str] = SDPA_BACKENDS) -> Cell | None:
    """The quickest of those backends that ran this call; None when none did."""
    timed = [cell for cell in result.cells if cell.backend in backends and cell.time_ns is not None]
    return min(timed, key=lambda cell: cell.time_ns or 0.0, default=None)


def slowness(result: CallResult, cell: Cell) -> float | None:
    """Its time ÷ the fastest of all backends, flex included: 1.0 for the fastest; None for a cell without a time."""
    fastest = fastest_cell(result, PROBE_BACKENDS)
    if cell.time_ns is None or fastest is None or not fastest.time_ns:
        return None
    return cell.time_ns / fastest.time_ns


def is_slower_choice(result: CallResult) -> bool:
    """Whether another backend of PyTorch's was faster than the chosen one by more than the spread of either."""
    chosen = result.cell(result.chosen or "")
    fastest = fastest_cell(result)
    if chosen is None or fastest is None or chosen.time_ns is None or fastest.time_ns is None:
        return False
    return chosen.time_ns - fastest.time_ns > max(chosen.spread_ns or 0.0, fastest.spread_ns or 0.0)


def possible_gain(result: CallResult) -> float | None:
    """How many times faster the fastest backend was than the chosen one: 1.4; None where either was not timed."""
    chosen, fastest = result.cell(result.chosen or ""), fastest_cell(result)
    if chosen is None or fastest is None or chosen.time_ns is None or not fastest.time_ns:
        return None
    return chosen.time_ns / fastest.time_ns


def largest_gains(results: ProbeResults, count: int) -> list[CallResult]:
    """The calls whose choice was slower, the largest gain first."""
    slower = [result for result in results.calls if is_slower_choice(result)]
    return sorted(slower, key=lambda result: -(possible_gain(result) or 0))[:count]


def gain_sentence(result: CallResult) -> str:
    """`Chunked prefill: efficient is 1.41 × faster than the chosen cuDNN.`"""
    fastest, gain = fastest_cell(result), possible_gain(result)
    assert fastest is not None
    assert gain is not None
    label = result.call.label
    name = label if "_" in label else label[0].upper() + label[1:]  # `gqa_d512` is a name, not a word
    return (
        f"{name}: {BACKEND_LABELS[fastest.backend]} is {significant(gain)} × faster than the chosen "
        f"{BACKEND_LABELS[result.chosen or '']}."
    )


def rates_of(result: CallResult, cell: Cell, results: ProbeResults, facts: Facts) -> Rates:
    """FLOP/s and bytes/s of one cell, and their share of the ceilings that this device reached in calibration."""
    if not cell.time_ns:
        return Rates(None, None, None, None)
    pairs = result.visible_pair_count
    flops_per_s = None if pairs is None else result.call.flops(pairs) / cell.time_ns * _NS_PER_S
    bytes_per_s = result.call.moved_bytes(result.mask_bytes) / cell.time_ns * _NS_PER_S
    bandwidth = facts.calibration.read_bandwidth_bytes_per_s if facts.calibration else None
    matrix_rate = results.matmul_flops_per_s.get(result.call.dtype)
    return Rates(
        flops_per_s,
        None if flops_per_s is None or not matrix_rate else flops_per_s / matrix_rate,
        bytes_per_s,
        None if not bandwidth else bytes_per_s / bandwidth,
    )
