"""How long is a step, how much of it does the GPU work, and how far is it from what the memory allows?

The cards of the Compare page. The step time that counts is the one measured without the profiler; the profiled one
stands beside it, because gaps and kernels are only seen there.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from explorer.analysis.findings import lost_work_finding
from explorer.analysis.metrics import DeviceFacts, device_facts, metric_values
from explorer.analysis.pieces import devices_of, no_pieces_text
from explorer.analysis.windows import WindowKind, default_window
from explorer.facts import Facts
from explorer.report import Metric, Report
from explorer.settings import RunSettings
from explorer.spans import NO_ROW
from explorer.trace import Trace
from explorer.units import Number

QUESTION = "How long is a step, and where is the limit?"
_NO_FACTS = "An uploaded trace has no recording beside it; only `explorer run` measures this."
_NS_PER_S = 1e9
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
    profiled = _profiled(shown) if shown else {}
    latencies = facts.steady_latencies_ns if facts else []
    step_ns = statistics.median(latencies) if latencies else None
    metrics = (
        *_unprofiled(latencies, facts),
        *_from_trace(profiled, "The trace has no work." if not devices else ""),
        *_limits(step_ns, settings, facts),
        _fact("peak_memory_bytes", "peak memory", "bytes", facts.peak_memory_bytes if facts else None, facts),
    )
    notes = tuple(facts.notes) if facts else ()
    if shown and (lost := lost_work_finding(shown)):
        notes += (lost,)
    if len(devices) > 1 and device is None:
        notes += (f"Of {len(devices)} devices the first, {devices[0]}, is shown.",)
    disturbed = _disturbed(facts)
    looked_at = _window_text(shown, devices) if shown else no_pieces_text(trace)
    return Report(QUESTION, looked_at, metrics, (), (*notes, disturbed) if disturbed else notes)


def _disturbed(facts: Facts | None) -> str:
    """A warning where the steps without the profiler took clearly longer than those with it, else nothing."""
    slowdown = facts.profile.slowdown_ratio if facts and facts.profile else 1
    if slowdown >= _CALM_SLOWDOWN_RATIO:
        return ""
    return (
        f"Steps took {1 / slowdown:.2f} times as long without the profiler as with it: something else kept the machine "
        "busy meanwhile, so do not trust the step time. Run it again on a quiet machine."
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

    slowdown = facts.profile.slowdown_ratio if facts and facts.profile else None
    return (
        Metric("step_ns", "step, without the profiler", quantile(0.5), "ns", "lower", why),
        Metric("step_p90_ns", "step, 90th percentile", quantile(0.9), "ns", "lower", why),
        Metric("step_p99_ns", "step, 99th percentile", quantile(0.99), "ns", "lower", why),
        Metric("step_spread_ns", "spread of the repeats (middle half)", middle_half(ordered), "ns", "lower", why),
        Metric(
            "profiler_slowdown_ratio", "profiled ÷ unprofiled", slowdown, "times", None, why if slowdown is None else ""
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


def _profiled(facts: DeviceFacts) -> dict[str, Number]:
    """Means a step of what the trace shows; a pitch where there are several steps."""
    windows = facts.windows
    count = max(facts.step_count, 1)
    found = metric_values(facts)
    calls = windows.pieces.call_row[windows.window_of_piece != NO_ROW]
    launches = len(set(calls[calls != NO_ROW].tolist()))
    numbers = {
        key: (found[key] or 0) / count for key in ("span_ns", "busy_ns", "idle_ns", "late_host_ns", "kernel_count")
    }
    if not windows.pieces.is_cpu:
        numbers["host_launch_count"] = launches / count
    return numbers


def _from_trace(profiled: dict[str, Number], why: str) -> tuple[Metric, ...]:
    """Without launches it is the CPU's own operators that are shown; the keys are the same."""
    span, busy = profiled.get("span_ns"), profiled.get("busy_ns")
    ratio = busy / span if span and busy is not None else None
    launches = profiled.get("host_launch_count")
    who, what = ("CPU", "operators") if profiled and launches is None else ("GPU", "kernels")
    return (
        Metric("profiled_step_ns", "step, under the profiler", span, "ns", "lower", why),
        Metric("gpu_busy_ns", f"{who} busy a step", busy, "ns", "lower", why),
        Metric("gpu_busy_ratio", f"{who} busy", ratio, "ratio", "higher", why),
        Metric(
            "late_host_ns",
            f"{who} {'between operators' if who == 'CPU' else 'waits for the host'}",
            profiled.get("late_host_ns"),
            "ns",
            "lower",
            why,
        ),
        Metric("idle_ns", f"{who} idle a step", profiled.get("idle_ns"), "ns", "lower", why),
        Metric("kernels_per_step", f"{what} a step", profiled.get("kernel_count"), "count", "lower", why),
        Metric(
            "host_launches_per_step",
            "host launches a step",
            launches,
            "count",
            "lower",
            why or ("" if launches is not None else "On the CPU nothing is launched."),
        ),
    )


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
