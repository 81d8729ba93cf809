"""What did compiling change about one expression of the gallery? Groups from Inductor's own word, bytes, times.

A kernel holds the operators of the source lines that Inductor names for it; the only kernel of an unbroken graph holds
all. Where one line feeds several kernels and the operators' names do not decide between them, those kernels form one
group.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.analysis.fusion_names import operator_word
from explorer.facts import Calibration
from explorer.gallery_results import ExpressionResult, GeneratedKernel, OperatorUse, SideResult
from explorer.report import Metric, Report
from explorer.units import text

QUESTION = "What did compiling change about this expression?"
_NS_PER_S = 1e9
_HOST_READS = frozenset({"aten::_local_scalar_dense"})
"""Operators that give a number to Python, which is what breaks a graph: no generated kernel holds them."""
_NOT_MEASURED = "The expression was not measured to its end."


@dataclass(frozen=True)
class GalleryGroup:
    """Eager operators and the generated kernels that hold them, by Inductor's provenance: certain."""

    operators: tuple[OperatorUse, ...]
    kernels: tuple[GeneratedKernel, ...]


def gallery_groups(result: ExpressionResult) -> list[GalleryGroup]:
    """Every computing operator and every kernel in exactly one group; a group without kernels stayed outside graphs."""
    members = [{place} for place in range(len(result.kernels))]
    held: list[set[int]] = []
    for operator in result.computing_operators:
        kernels = _kernels_of(operator, result)
        held.append(kernels)
        joined = [one for one in members if one & kernels]
        if len(joined) > 1:
            members = [one for one in members if one not in joined] + [set().union(*joined)]
    groups = [
        GalleryGroup(
            tuple(
                operator
                for operator, kernels in zip(result.computing_operators, held, strict=True)
                if kernels and kernels <= one
            ),
            tuple(result.kernels[place] for place in sorted(one)),
        )
        for one in sorted(members, key=min)
    ]
    outside = [
        GalleryGroup((operator,), ())
        for operator, kernels in zip(result.computing_operators, held, strict=True)
        if not kernels
    ]
    return groups + outside


def _kernels_of(operator: OperatorUse, result: ExpressionResult) -> set[int]:
    """The places of the kernels that hold the operator; none for one that runs between two graphs."""
    kernels, word = result.kernels, operator_word(operator.name)
    if operator.name in _HOST_READS:
        return set()
    if result.graph_count == 1 and len(kernels) == 1:
        return {0}
    by_line = {place for place, kernel in enumerate(kernels) if operator.line in kernel.lines}
    by_name = {place for place, kernel in enumerate(kernels) if word in map(operator_word, kernel.operators)}
    both = by_line & by_name
    return both if len(both) == 1 else by_line or by_name


def gallery_report(result: ExpressionResult, calibration: Calibration | None = None) -> Report:
    """Operators and kernels, bytes of both sides with the predicted ratio, times with the measured one, errors.

    `achieved` is moved bytes per time as a share of the copy bandwidth that the recording's own calibration measured.
    The compiled side moves inputs and outputs once where it is one kernel; where it is several, its bytes are unknown.
    """
    fused_bytes = result.fused_bytes if len(result.kernels) <= 1 else None
    why = (
        "" if fused_bytes is not None else "Several kernels pass tensors to each other; only a trace with shapes knows."
    )
    ceiling = calibration.copy_bandwidth_bytes_per_s if calibration else None
    predicted = result.eager_bytes / fused_bytes if result.eager_bytes and fused_bytes else None
    times = (result.eager.time_ns, result.compiled.time_ns)
    measured = times[0] / times[1] if times[0] and times[1] else None
    metrics = (
        Metric("operator_count", "operators that compute", len(result.computing_operators), "count", "lower"),
        Metric("kernel_count", "kernels after compiling", len(result.kernels), "count", "lower"),
        Metric("temporary_count", "temporaries", result.temporary_count, "count", "lower"),
        Metric("temporary_bytes", "bytes of temporaries", result.temporary_bytes, "bytes", "lower"),
        Metric("eager_bytes", "moved, eager", result.eager_bytes, "bytes", "lower"),
        Metric("fused_bytes", "moved, compiled, at least", fused_bytes, "bytes", "lower", why),
        Metric("predicted_ratio", "traffic, predicted", predicted, "times", None, why),
        Metric("time_a_ns", "time, eager", times[0], "ns", "lower", _reason(times[0])),
        Metric("time_b_ns", "time, compiled", times[1], "ns", "lower", _reason(times[1])),
        Metric("measured_ratio", "time, measured", measured, "times", None, _reason(measured)),
        Metric("achieved_a_ratio", "of bandwidth, eager", _achieved(result.eager_bytes, times[0], ceiling), "ratio"),
        Metric("achieved_b_ratio", "of bandwidth, compiled", _achieved(fused_bytes, times[1], ceiling), "ratio"),
        Metric("error_a_ratio", "error, eager", result.eager.error_ratio, "ratio", "lower"),
        Metric("error_b_ratio", "error, compiled", result.compiled.error_ratio, "ratio", "lower"),
        Metric("error_growth_ratio", "error, compiled ÷ eager", _growth(result), "times", "lower"),
        Metric("graph_break_count", "graph breaks", len(result.graph_breaks), "count", "lower"),
    )
    return Report(QUESTION, result.title, metrics, (), _notes(result))


def gallery_headline(result: ExpressionResult, report: Report) -> str:
    """`3 operators became 1 kernel: 257 µs → 121 µs, ×2.12 where the traffic predicts ×2.`"""
    operators, kernels = len(result.computing_operators), len(result.kernels)
    if not operators:
        return f"{result.title} runs no kernel at all: views change how a tensor is read, not the tensor."
    head = f"{_counted(operators, 'operator')} became {_counted(kernels, 'kernel')}"
    times, ratio = (result.eager.time_ns, result.compiled.time_ns), report.value("measured_ratio")
    if ratio is None:
        return f"{head}; {_NOT_MEASURED.lower()}"
    predicted = report.value("predicted_ratio")
    end = f", {text(ratio, 'times')} where the traffic predicts {text(predicted, 'times')}" if predicted else ""
    slower = " (slower)" if ratio < 1 and _is_beyond_spread(result.eager, result.compiled) else ""
    return f"{head}: {text(times[0], 'ns')} → {text(times[1], 'ns')}{slower}{end}."


def traffic_finding(result: ExpressionResult, report: Report) -> str:
    """`8 tensors' worth of traffic became 4: ×2.00 predicted, ×2.04 measured. ...`, with temporaries and peak memory.

    Every operand of every operator counts, a small one like a large one; the ratio is of bytes. Where several kernels
    remain, what they pass to each other is unknown.
    """
    operators = result.computing_operators
    touched = sum(len(one.reads) + len(one.writes) for one in operators)
    words = f"Eager code reads and writes {touched} tensors"
    if report.value("predicted_ratio") is not None:
        inputs = {letter for one in operators for letter in one.reads if letter.startswith("x")}
        predicted, measured = (text(report.value(f"{word}_ratio"), "times") for word in ("predicted", "measured"))
        words = (
            f"{touched} tensors' worth of traffic became {len(inputs) + 1}: {predicted} predicted from the bytes, "
            f"{measured} measured in time"
        )
    temporaries = f"{_counted(result.temporary_count or 0, 'temporary', 'temporaries')} of the eager side"
    peaks = [text(side.peak_extra_bytes, "bytes") for side in (result.eager, result.compiled)]
    return (
        f"{words}. {temporaries}, {text(result.temporary_bytes, 'bytes')}; peak above the inputs {' → '.join(peaks)}."
    )


def _counted(count: int, word: str, many: str | None = None) -> str:
    return f"{count} {word if count == 1 else many or f'{word}s'}"


def _is_beyond_spread(eager: SideResult, compiled: SideResult) -> bool:
    change = abs((compiled.time_ns or 0) - (eager.time_ns or 0))
    return change > max(eager.spread_ns or 0, compiled.spread_ns or 0)


def _achieved(moved_bytes: int | None, time_ns: float | None, ceiling_bytes_per_s: float | None) -> float | None:
    if not moved_bytes or not time_ns or not ceiling_bytes_per_s:
        return None
    return moved_bytes / time_ns * _NS_PER_S / ceiling_bytes_per_s


def _growth(result: ExpressionResult) -> float | None:
    before, after = result.eager.error_ratio, result.compiled.error_ratio
    return after / before if before and after is not None else None


def _reason(value: float | None) -> str:
    return "" if value is not None else _NOT_MEASURED


def _notes(result: ExpressionResult) -> tuple[str, ...]:
    notes = [f"It ended early: {result.failure}"] if result.failure else []
    notes += [f"The graph breaks at {one.place}: {one.reason.splitlines()[0]}." for one in result.graph_breaks]
    if result.computing_operators and not any(kernel.operators for kernel in result.kernels):
        notes.append("This version of PyTorch gives no provenance; kernels are not tied to source lines.")
    return tuple(notes)
