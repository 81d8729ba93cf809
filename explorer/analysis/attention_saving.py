"""What would another attention backend save a run's step, by a probe of the same call?"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.attention_call import AttentionCall
from explorer.attention_calls import call_of_run
from explorer.attention_names import BACKEND_LABELS
from explorer.model_shapes import ModelShape
from explorer.probe_results import CallResult, Cell, ProbeResults
from explorer.settings import CHOICES, RunSettings
from explorer.units import text


@dataclass(frozen=True)
class Alternative:
    """Another way for a run's attention: the probe's call and cell, and what it would save a step, ns."""

    result: CallResult
    cell: Cell
    saving_ns: float


def alternatives(call: AttentionCall, ran: str | None, attention_ns: float, results: ProbeResults) -> list[Alternative]:
    """What the probe measured that would be faster than what ran, the largest saving first.

    Compared are the same call under other backends, and the same without its mask (rows of equal length can be cut).
    `attention_ns` is the run's own attention a step; a saving is the part of it by which the probe's time shrinks.
    Empty where the probe has no such call, or nothing faster.
    """
    own = _matching(call, results)
    now = own.cell(ran or "") if own else None
    if own is None or now is None or now.time_ns is None:
        return []
    bare = _matching_fields({**_fields(call), "mask": "none"}, results)
    limit_ns = now.time_ns - (now.spread_ns or 0.0)
    found = [
        Alternative(result, cell, attention_ns * (1 - cell.time_ns / now.time_ns))
        for result in (own, *((bare,) if bare and bare is not own else ()))
        for cell in result.cells
        if cell.time_ns is not None and cell.time_ns < limit_ns
    ]
    return sorted(found, key=lambda alternative: -alternative.saving_ns)


def saving_sentence(found: list[Alternative], step_ns: float | None) -> str:
    """What the best alternative would save, with its share of the step; says so where nothing would."""
    if not found:
        return "The probe has nothing faster for this run's attention, or did not try its call."
    best = found[0]
    share = "" if not step_ns else f" of {text(step_ns, 'ns')} ({text(best.saving_ns / step_ns, 'ratio')})"
    without = " without a mask" if best.result.call.mask == "none" else ""
    return (
        f"{BACKEND_LABELS[best.cell.backend]}{without} would save {text(best.saving_ns, 'ns')} a step{share}, if "
        "attention shrinks as in the probe; only a run tells."
    )


def run_to_check(
    settings: RunSettings, shape: ModelShape, found: list[Alternative]
) -> tuple[RunSettings, Alternative] | None:
    """The best alternative that a run can be made of, with its settings: where the engine would make that very call."""
    for alternative in found:
        if alternative.cell.backend not in CHOICES["attention"]:
            continue
        wanted = RunSettings.from_json({**settings.to_json(), "attention": alternative.cell.backend})
        if not wanted.refusals() and call_of_run(wanted, shape).mask == alternative.result.call.mask:
            return wanted, alternative
    return None


def _matching(call: AttentionCall, results: ProbeResults) -> CallResult | None:
    return _matching_fields(_fields(call), results)


def _matching_fields(fields: dict[str, object], results: ProbeResults) -> CallResult | None:
    return next((result for result in results.calls if _fields(result.call) == fields), None)


def _fields(call: AttentionCall) -> dict[str, object]:
    """What decides a call's cost; how its tensors lie and what a mask hides are left out."""
    names = (
        *("dtype", "batch_size", "query_head_count", "kv_head_count", "query_tokens", "kv_tokens"),
        *("head_size", "value_head_size", "is_causal", "dropout_ratio"),
    )
    return {**{name: getattr(call, name) for name in names}, "mask": call.mask}
