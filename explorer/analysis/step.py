"""How long is a step, how much of it does the GPU work, and how far is it from what the memory allows?

The cards of the Compare page. The step time that counts is the one measured without the profiler; the profiled one
stands beside it, because gaps and kernels are only seen there.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from explorer.analysis.findings import lost_work_finding
from explorer.analysis.metrics import DeviceFacts, device_facts, metric_values
from explorer.analysis.pieces import devices_of, no_pieces_text
from explorer.analysis.windows import WindowKind, default_window
from explorer.facts import Facts
from explorer.report import Better, Metric, Report
from explorer.settings import RunSettings
from explorer.spans import NO_ROW, distinct_rows
from explorer.trace import Trace
from explorer.units import Number, Unit, text

QUESTION = "How long is a step, and where is the limit?"
_NO_FACTS = "An uploaded trace has no recording beside it; only `explorer run` measures this."
_NS_PER_S = 1e9
CPU_LAUNCHES_NOTHING = "On the CPU nothing is launched."
WAITING_UNKNOWN = "No work that ends idle time has a known launch, so nobody can tell what it waited for."
_TRACE_METRICS: dict[str, tuple[Unit, Better | None]] = {
    "step_count": ("count", None),
    "profiled_step_ns": ("ns", "lower"),
    "gpu_busy_ns": ("ns", "lower"),
    "gpu_busy_ratio": ("ratio", "higher"),
    "late_host_ns": ("ns", "lower"),
    "idle_ns": ("ns", "lower"),
    "unattributed_ns": ("ns", "lower"),
    "kernels_per_step": ("count", "lower"),
    "host_launches_per_step": ("count", "lower"),
}
_CALM_SLOWDOWN_RATIO = 0.9
"""A profiler only adds work; steps of a quiet machine differ by less than this."""


def step_report(
    trace: Trace,
    settings: RunSettings | None = None,
    facts: Facts | None = None,
    window: WindowKind | None = None,
    device: str | None = None,
) -> Report:
    """The cards of one run; whatever is unknown says why. `settings` and `facts` are None for an uploaded trace.

    Counts and times a step are means over the profiled steps of `device`, by default the first; `window` defaults to
    the steps where there are any, and the whole trace counts as one. The floor is (weights + KV read + KV written) /
    measured read bandwidth, for prefill at least FLOPs / measured matrix rate.
    """
    devices = devices_of(trace)
    shown = device_facts(trace, device or devices[0], window or default_window(trace)) if devices else None
    latencies = facts.steady_latencies_ns if facts else []
    step_ns = statistics.median(latencies) if latencies else None
    metrics = (
        *_unprofiled(latencies, facts),
        *_from_trace(shown),
        *_limits(step_ns, settings, facts),
        _fact("peak_memory_bytes", "peak memory", "bytes", facts.peak_memory_bytes if facts else None, facts),
    )
    notes = tuple(facts.notes) if facts else ()
    if shown and (lost := lost_work_finding(shown)):
        notes += (lost,)
    if len(devices) > 1 and device is None:
        notes += (f"Of {len(devices)} devices the first, {devices[0]}, is shown.",)
    disturbed = _disturbed(facts, shown)
    looked_at = _window_text(shown, devices) if shown else no_pieces_text(trace)
    return Report(QUESTION, looked_at, metrics, (), (*notes, disturbed) if disturbed else notes)


def _disturbed(facts: Facts | None, shown: DeviceFacts | None) -> str:
    """A warning where the steps without the profiler took clearly longer than those with it, else nothing."""
    profile = facts.profile if facts else None
    if facts is None or profile is None or profile.slowdown_ratio >= _CALM_SLOWDOWN_RATIO:
        return ""
    without, under = (statistics.median(times) for times in (facts.steady_latencies_ns, profile.step_latencies_ns))
    in_trace = ""
    if shown and shown.windows.kind == "steps":
        in_trace = f" ({text(_a_step(shown)['profiled_step_ns'], 'ns')} on average in the trace)"
    return (
        f"The median step took {text(without, 'ns')} without the profiler and {text(under, 'ns')} under it{in_trace}, "
        "though a profiler only adds work: something else kept the machine busy meanwhile, so do not trust the step "
        "time. Run it again on a quiet machine."
    )


def _window_text(shown: DeviceFacts, devices: Sequence[str]) -> str:
    looked_at = "profiled steps" if shown.windows.kind == "steps" else "the whole trace"
    place = "the first" if shown.device == devices[0] else "one"
    others = f", {place} of {len(devices)}" if len(devices) > 1 else ""
    return f"{looked_at} of device {shown.device}{others}"


def _unprofiled(latencies: Sequence[int], facts: Facts | None) -> tuple[Metric, ...]:
    ordered = sorted(latencies)
    why = "" if ordered else (_NO_FACTS if facts is None else "The run did not reach its steady steps.")

    def quantile(share: float) -> Number | None:
        return _quantile(ordered, share) if ordered else None

    return (
        Metric("step_ns", "step, without the profiler (median)", quantile(0.5), "ns", "lower", why),
        Metric("step_p90_ns", "step, 90th percentile", quantile(0.9), "ns", "lower", why),
        Metric("step_p99_ns", "step, 99th percentile", quantile(0.99), "ns", "lower", why),
        Metric("step_spread_ns", "spread of the repeats (middle half)", middle_half(ordered), "ns", "lower", why),
        *_slowdown(facts, why or "The run did not reach its profiled steps."),
    )


def _slowdown(facts: Facts | None, why: str) -> tuple[Metric, ...]:
    """What profiling cost by the host's clock, medians on both sides; the trace has its own times, which are means."""
    profile = facts.profile if facts else None
    latency = statistics.median(profile.step_latencies_ns) if profile and profile.step_latencies_ns else None
    slowdown = profile.slowdown_ratio if profile else None
    return (
        Metric(
            "profiled_latency_ns",
            "step, under the profiler (median)",
            latency,
            "ns",
            "lower",
            why if latency is None else "",
        ),
        Metric(
            "profiler_slowdown_ratio",
            "profiled ÷ unprofiled (medians)",
            slowdown,
            "times",
            None,
            why if slowdown is None else "",
        ),
    )


def _quantile(ordered: Sequence[int], share: float) -> float:
    """Linear between the two nearest of the sorted values, as numpy's default."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def middle_half(ordered: Sequence[int]) -> Number | None:
    """The spread of sorted repeats: the distance of their quartiles; None where nothing repeats."""
    return _quantile(ordered, 0.75) - _quantile(ordered, 0.25) if len(ordered) > 1 else None


def _a_step(facts: DeviceFacts) -> dict[str, Number]:
    """Means a step of what the trace shows; the whole trace counts as one."""
    windows, found = facts.windows, metric_values(facts)
    calls = windows.pieces.call_row[windows.window_of_piece != NO_ROW]
    sums: dict[str, Number] = {
        "profiled_step_ns": found["span_ns"] or 0,
        "gpu_busy_ns": found["busy_ns"] or 0,
        "late_host_ns": found["late_host_ns"] or 0,
        "idle_ns": found["idle_ns"] or 0,
        "unattributed_ns": found["unattributed_ns"] or 0,
        "kernels_per_step": found["kernel_count"] or 0,
        "host_launches_per_step": len(distinct_rows(calls)),
    }
    span = sums["profiled_step_ns"]
    means = {key: value / max(facts.step_count, 1) for key, value in sums.items()}
    return {**means, "gpu_busy_ratio": sums["gpu_busy_ns"] / span if span else 0.0}


def _unknown_of(facts: DeviceFacts, found: Mapping[str, Number]) -> dict[str, str]:
    """Why a figure cannot be told, by its key: without a known launch nobody knows what idle time waited for."""
    why = {}
    if facts.windows.pieces.is_cpu:
        why["host_launches_per_step"] = CPU_LAUNCHES_NOTHING
    elif not found["host_launches_per_step"]:
        why["host_launches_per_step"] = "No piece of GPU work has a known launch."
    if is_waiting_unknown(found):
        why["late_host_ns"] = WAITING_UNKNOWN
    return why


def is_waiting_unknown(found: Mapping[str, Number | None]) -> bool:
    """Whether nothing of a device's idle time can be told, from `idle_ns` and `unattributed_ns`."""
    return bool(found["idle_ns"]) and found["unattributed_ns"] == found["idle_ns"]


def _from_trace(facts: DeviceFacts | None) -> tuple[Metric, ...]:
    """Without GPU work it is the CPU's own operators that are shown; the keys are the same."""
    found = _a_step(facts) if facts else {}
    why = _unknown_of(facts, found) if facts else dict.fromkeys(_TRACE_METRICS, "The trace has no work.")
    if facts and facts.windows.kind == "steps":
        found["step_count"] = facts.step_count
    elif facts:
        why["step_count"] = "The whole trace is taken as one step."
    labels = _labels(is_cpu=bool(facts and facts.windows.pieces.is_cpu), has_steps=found.get("step_count") is not None)
    return tuple(
        Metric(key, labels[key], None if key in why else found[key], unit, better, why.get(key, ""))
        for key, (unit, better) in _TRACE_METRICS.items()
    )


def _labels(*, is_cpu: bool, has_steps: bool) -> dict[str, str]:
    who, what = ("CPU", "operators") if is_cpu else ("GPU", "kernels")
    a_step, time = (" a step", "") if has_steps else ("", " time")
    return {
        "step_count": "profiled steps",
        "profiled_step_ns": "step, in the trace (mean)" if has_steps else "whole trace, first work to last",
        "gpu_busy_ns": f"{who} busy{time}{a_step}",
        "gpu_busy_ratio": f"{who} busy",
        "late_host_ns": f"{who} {'between operators' if is_cpu else 'waits for the host'}",
        "idle_ns": f"{who} idle{time}{a_step}",
        "unattributed_ns": f"{who} idle, for what nobody can tell",
        "kernels_per_step": f"{what}{a_step}",
        "host_launches_per_step": f"host launches{a_step}",
    }


def _limits(step_ns: Number | None, settings: RunSettings | None, facts: Facts | None) -> tuple[Metric, ...]:
    floor, why = step_floor_ns(settings, facts)
    share = floor / step_ns if floor is not None and step_ns else None
    tokens = facts.tokens_per_step if facts else None
    rate = tokens / step_ns * _NS_PER_S if tokens is not None and step_ns else None
    no_step = why or "The run did not reach its steady steps."
    return (
        Metric("floor_ns", "step floor", floor, "ns", None, why),
        Metric("floor_ratio", "of the limit", share, "ratio", "higher", "" if share is not None else no_step),
        Metric("tokens_per_s", "tokens", rate, "tokens_per_s", "higher", "" if rate is not None else no_step),
    )


def step_floor_ns(settings: RunSettings | None, facts: Facts | None) -> tuple[float | None, str]:
    """(the step floor of definitions.md in nanoseconds, "") or (None, why it is unknown)."""
    if facts is None or settings is None:
        return None, _NO_FACTS
    bandwidth = facts.calibration.read_bandwidth_bytes_per_s if facts.calibration else None
    parts = (facts.weight_read_bytes_per_step, facts.kv_read_bytes_per_step, facts.kv_written_bytes_per_step)
    if not bandwidth:
        return None, "The run did not measure this device's read bandwidth."
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None, "The run did not get as far as knowing its weights and KV cache."
    floor = sum(known) / bandwidth * _NS_PER_S
    if settings.phase == "prefill":
        rate = facts.calibration.matmul_flops_per_s if facts.calibration else None
        if not rate or facts.step_flops is None:
            return None, "The run did not measure this device's matrix rate."
        floor = max(floor, facts.step_flops / rate * _NS_PER_S)
    return floor, ""


def _fact(key: str, label: str, unit: str, value: Number | None, facts: Facts | None) -> Metric:
    why = "" if value is not None else (_NO_FACTS if facts is None else "The run did not measure it.")
    return Metric(key, label, value, "bytes" if unit == "bytes" else "count", "lower", why)
