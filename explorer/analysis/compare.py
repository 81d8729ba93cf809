"""What differs between two runs, by how much, and may they be compared at all?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from explorer.analysis.step import CPU_LAUNCHES_NOTHING
from explorer.analysis.windows import WindowKind
from explorer.facts import Facts
from explorer.report import Delta, Metric, Report
from explorer.settings import RunSettings
from explorer.units import Number, listed, significant, text

_STUDIED = frozenset({"mode", "attention", "joined_projections", "compile_scope", "autotune"})
"""Settings that this product is for: they may differ without making two runs incomparable."""
_IRRELEVANT = frozenset({"warmup_steps", "measured_steps", "profiled_steps"})
_TOLD_CHANGE_RATIO = 0.05
"""From which change on the GPU's own work is told beside a step that did not change the same way."""
_TOLD_SHARE_RATIO = 0.02
"""From which share of what is shown waiting counts as any."""
_NO_COMMON_STEPS = "Only one side marks steps, so the whole trace of each is compared, as one step."


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same on both sides. `is_studied` when it is what a person compares on purpose."""

    key: str
    label: str
    a: str
    b: str
    is_studied: bool


@dataclass(frozen=True)
class Comparability:
    """What differs, first what should not; `verdict` is a sentence."""

    differences: tuple[Difference, ...]
    verdict: str

    @property
    def is_fair(self) -> bool:
        """Whether only settings under study differ."""
        return all(difference.is_studied for difference in self.differences)


def common_window(*have_steps: bool) -> tuple[WindowKind, str]:
    """The one rule by which all sides are looked at, and a note where it takes one side's steps from it.

    For each side whether it has step windows. Where none has, "steps" means the whole trace, and its report says so.
    """
    return ("trace", _NO_COMMON_STEPS) if any(have_steps) and not all(have_steps) else ("steps", "")


def compare_reports(
    a: Report, b: Report, spread_a: Number | None = None, spread_b: Number | None = None
) -> tuple[Delta, ...]:
    """The metrics that both reports have, side by side.

    `spread_a` and `spread_b` are the spreads of the repeats of the step time (its middle half, nanoseconds): a change
    of `step_ns` below either is "no change measured". Other metrics have no measured spread.
    """
    keys_b = {metric.key for metric in b.metrics}
    return tuple(_delta(one, b.metric(one.key), spread_a, spread_b) for one in a.metrics if one.key in keys_b)


def compare_parts(a: Report, b: Report) -> tuple[Delta, ...]:
    """The parts of idle time a step on the first device of two gap reports, side by side; none where a side has no
    device. Nobody measured their spread.
    """
    if not a.children or not b.children:
        return ()
    devices = [next(iter(report.children.values())) for report in (a, b)]
    first_a, first_b = (device.table("parts") for device in devices)
    a_step = ", a step" if any(device.children for device in devices) else ""
    parts = first_a[["part", "label", "per_step_ns"]].merge(first_b[["part", "per_step_ns"]], on="part")
    return tuple(
        Delta(f"{part}_per_step_ns", f"{label}{a_step}", "ns", float(in_a), float(in_b), "lower")
        for part, label, in_a, in_b in parts.to_numpy()
    )


def _delta(one: Metric, other: Metric, spread_a: Number | None, spread_b: Number | None) -> Delta:
    exceeds = None
    known = [spread for spread in (spread_a, spread_b) if spread is not None]
    if one.key == "step_ns" and known and one.value is not None and other.value is not None:
        exceeds = abs(other.value - one.value) > max(known)
    reason = " ".join(f"{side}: {metric.reason}" for side, metric in (("A", one), ("B", other)) if metric.reason)
    return Delta(one.key, one.label, one.unit, one.value, other.value, one.better, exceeds, reason)


def comparable(a: tuple[RunSettings | None, Facts | None], b: tuple[RunSettings | None, Facts | None]) -> Comparability:
    """Whether two runs may be set side by side: same device kind, model, dtype, batch, context and weights.

    What a person studies (mode, attention, projections, compiling) may differ.
    """
    if a[0] is None or b[0] is None:
        return Comparability(
            (), "At least one side is an uploaded trace: nobody recorded what it ran, so only times and counts compare."
        )
    differences = sorted(_differences(a[0], a[1], b[0], b[1]), key=lambda one: (one.is_studied, one.key))
    unfair = [one.label for one in differences if not one.is_studied]
    studied = [one.label for one in differences if one.is_studied]
    if unfair:
        differ = f"{listed(unfair)} differ{'s' if len(unfair) == 1 else ''}"
        verdict = f"Not a fair comparison: {differ}{' too' if studied else ''}."
    elif len(studied) > 1:
        verdict = f"Several settings differ at once ({listed(studied)}); the change is of all of them together."
    elif studied:
        verdict = f"Only the {studied[0]} differs."
    else:
        verdict = "Both sides ran the same settings."
    return Comparability(tuple(differences), verdict)


def _differences(a: RunSettings, facts_a: Facts | None, b: RunSettings, facts_b: Facts | None) -> Iterator[Difference]:
    fields_a, fields_b = a.to_json(), b.to_json()
    for key, value in fields_a.items():
        if key not in _IRRELEVANT and value != fields_b[key]:
            label = key.replace("_", " ")
            yield Difference(key, label, str(value), str(fields_b[key]), key in _STUDIED)
    machines = [facts.environment if facts else None for facts in (facts_a, facts_b)]
    if machines[0] and machines[1]:
        for key in ("device_name", "torch_version", "cuda_version", "driver_version"):
            one, other = getattr(machines[0], key), getattr(machines[1], key)
            if one != other:
                yield Difference(key, key.replace("_", " "), str(one), str(other), False)


def comparison_sentence(a: Report, b: Report) -> str:
    """`B's step is 17.7 times shorter. Under the profiler the GPU waited for the host 86 % ...`, from step reports."""
    key = "step_ns" if a.value("step_ns") and b.value("step_ns") else "profiled_step_ns"
    step_a, step_b = a.value(key), b.value(key)
    if not step_a or not step_b:
        return "At least one side has no step to compare."
    is_profiled = key == "profiled_step_ns"
    under = " under the profiler" if is_profiled else ""
    what = _shown(a) if is_profiled else "step"
    spreads = [side.value("step_spread_ns") or 0 for side in (a, b)] if key == "step_ns" else [0]
    if 0 < abs(step_b - step_a) <= max(spreads):
        first = f"No change measured: {text(step_a, 'ns')} and {text(step_b, 'ns')} differ less than the repeats do"
        direction = 0
    else:
        first = _times_sentence(step_a, step_b, what, under)
        direction = _direction(step_a, step_b)
    return f"{first}{_own_work_clause(a, b, direction)}. {_waiting_sentence(a, b)}".strip()


def _times_sentence(step_a: Number, step_b: Number, what: str, under: str) -> str:
    if not _direction(step_a, step_b):
        return f"Both {what}s take the same{under}: {text(step_a, 'ns')} and {text(step_b, 'ns')}"
    return f"B's {what} is {_changed(step_a, step_b)}{under}"


def _shown(report: Report) -> str:
    """What the times of a trace are of."""
    return "whole trace" if report.value("step_count") is None else "step"


def _direction(in_a: Number, in_b: Number) -> int:
    """-1 where B is shorter, 1 where it is longer, 0 where both take the same to two percent."""
    if max(in_a, in_b) / min(in_a, in_b) < 1.02:
        return 0
    return -1 if in_b < in_a else 1


def _changed(in_a: Number, in_b: Number) -> str:
    """`17.7 times shorter`, `7.4 % longer`."""
    times = max(in_a, in_b) / min(in_a, in_b)
    how = f"{significant(times)} times" if times >= 1.95 else text(abs(in_b - in_a) / in_a, "ratio")
    return f"{how} {'shorter' if in_b < in_a else 'longer'}"


def _own_work_clause(a: Report, b: Report, direction: int) -> str:
    """`, although the GPU's own work is 22 % longer in B`: the host decides such a step and hides what the GPU won."""
    busy_a, busy_b = a.value("gpu_busy_ns"), b.value("gpu_busy_ns")
    if not (busy_a and busy_b and _on_gpu(a) and _on_gpu(b)):
        return ""
    if abs(busy_b - busy_a) / busy_a < _TOLD_CHANGE_RATIO or _direction(busy_a, busy_b) == direction:
        return ""
    return f", although the GPU's own work is {_changed(busy_a, busy_b)} in B"


def _on_gpu(report: Report) -> bool:
    return report.metric("host_launches_per_step").reason != CPU_LAUNCHES_NOTHING


def _waiting_sentence(a: Report, b: Report) -> str:
    """`Under the profiler the GPU waited for the host 80 % of A's step, for nobody in B.`, then what is unknown."""
    if not all(report.value("profiled_step_ns") for report in (a, b)):
        return ""
    if not _on_gpu(a) or not _on_gpu(b):
        return "" if _on_gpu(a) or _on_gpu(b) else "Both ran on the CPU, where host operators stand in for kernels."
    sides = {"A": a, "B": b}
    return " ".join(filter(None, (_known_sentence(sides), _unknown_sentence(sides))))


def _known_sentence(sides: Mapping[str, Report]) -> str:
    known = [letter for letter, report in sides.items() if report.value("late_host_ns") is not None]
    shares = {letter: _share_of_shown(sides[letter], "late_host_ns") for letter in known}
    waiting = _told_shares(sides, shares)
    calm = [letter for letter, share in shares.items() if share < _TOLD_SHARE_RATIO]
    clauses = [f"for the host {', '.join(waiting)}"] if waiting else []
    clauses += [f"for nobody in {listed(calm)}"] if calm else []
    return f"Under the profiler the GPU waited {', '.join(clauses)}." if clauses else ""


def _unknown_sentence(sides: Mapping[str, Report]) -> str:
    """`For what it idled 37 % of A's whole trace nobody can tell.`; empty where next to nothing is unattributed."""
    shares = {letter: _share_of_shown(report, "unattributed_ns") for letter, report in sides.items()}
    told = listed(_told_shares(sides, shares))
    return f"For what it idled {told} nobody can tell: no launch is known there." if told else ""


def _told_shares(sides: Mapping[str, Report], shares: Mapping[str, float]) -> list[str]:
    """`80 % of A's step`, `20 % of B's`: those worth telling."""
    told = [letter for letter, share in shares.items() if share >= _TOLD_SHARE_RATIO]
    return [
        f"{text(shares[letter], 'ratio')} of {letter}'s" + ("" if place else f" {_shown(sides[letter])}")
        for place, letter in enumerate(told)
    ]


def _share_of_shown(report: Report, key: str) -> float:
    return (report.value(key) or 0) / (report.value("profiled_step_ns") or 1)
