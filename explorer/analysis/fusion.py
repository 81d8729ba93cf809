"""Which kernels became one, what did that save, and what did it not? Two steps, group by group, to the nanosecond.

    step B − step A  =  Σ change of the groups' kernels  +  Σ change of the gaps before them  −  change of overlap

A group's gap is what the device idled before its kernels. Overlap is time in which two streams ran at once; it is the
remainder, 0 on one stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from explorer.analysis.fusion_folding import FoldedGroup, fold
from explorer.analysis.fusion_groups import Group, Match, match_groups, named_kernels, proven
from explorer.analysis.fusion_kernels import Kernel, StepKernels, count_of, time_of
from explorer.report import Column, Metric, Report, ReportTable
from explorer.spans import NO_ROW
from explorer.units import text

QUESTION = "Which kernels became one, and what did that save?"
MATCH_LABELS: dict[Match, str] = {"certain": "certain", "by_name": "by name", "unmatched": "unmatched"}
_NO_BYTES = (
    "Moved bytes of some groups are not recorded: the trace has no shapes, or an operator's shapes do not decide them. "
    "Record with record_shapes=True, or in the gallery, which counts every tensor."
)
_SAME_WORK_RATIO = 0.5
"""Where less of either side's kernel time has a counterpart, the steps' difference says nothing about fusion."""
_MOST_SHARE_RATIO = 1.2
"""Two measurements of one bandwidth differ by less; what is faster did not come from memory."""
CPU_LIMIT = "No share of the limit on a CPU: what a step touches stays in its caches, which are faster than its memory."
CACHED_LIMIT = "No share of the limit where a group is faster than the memory can be: its data came from a cache."
_NO_LAUNCHES = "Some of the work has no known launch."
_CPU_LAUNCHES = "On the CPU nothing is launched."
_NS_PER_S = 1e9


@dataclass(frozen=True)
class Fusion:
    """The whole answer about a pair: its numbers, and the folded groups that they are of.

    `is_cpu` where operators stand in for kernels, `is_whole` where a side is its whole trace. `ceiling_bytes_per_s` is
    None where none was measured, and on the CPU, whose caches are no part of it.
    """

    report: Report
    folded: tuple[FoldedGroup, ...]
    is_cpu: bool
    is_whole: bool
    ceiling_bytes_per_s: float | None

    @property
    def word(self) -> str:
        """What is counted: `kernel` or `operator`."""
        return _word(self.is_cpu)


def fusion_report(eager: StepKernels, compiled: StepKernels, ceiling_bytes_per_s: float | None = None) -> Report:
    """The report of `fusion`."""
    return fusion(eager, compiled, ceiling_bytes_per_s).report


def fusion(eager: StepKernels, compiled: StepKernels, ceiling_bytes_per_s: float | None = None) -> Fusion:
    """The ledger of two steps; table `ledger` has one row a folded group, `groups` one a group.

    Metrics: both steps and their change, the groups', the gaps' and the remainder's part of it (they add up), launches
    saved, and the share of kernel time whose counterpart is known. `ceiling_bytes_per_s` is the bandwidth measured on
    the device; floors and the share of it are unknown without, and on a CPU.
    """
    is_cpu = eager.is_cpu and compiled.is_cpu
    ceiling = None if eager.is_cpu or compiled.is_cpu else ceiling_bytes_per_s
    groups = proven(match_groups(eager.kernels, compiled.kernels))
    folded = fold(groups)
    ledger = pd.DataFrame([_ledger_row(one, eager, compiled, ceiling) for one in folded])
    tables = (
        ReportTable("ledger", "What became of every group", _LEDGER, ledger[[column.key for column in _LEDGER]]),
        _groups_table(groups),
    )
    notes = (*_notes(eager, compiled, ledger), *_limit_notes(ledger, ceiling, is_cpu))
    report = Report(QUESTION, _window(eager, compiled), _metrics(groups, eager, compiled, is_cpu), tables, notes)
    return Fusion(report, tuple(folded), is_cpu, eager.is_whole or compiled.is_whole, ceiling)


def _window(eager: StepKernels, compiled: StepKernels) -> str:
    if eager.is_whole and compiled.is_whole:
        return "the whole trace of each"
    names = ["a whole trace" if side.is_whole else f"{side.window}, the first of its trace"
             for side in (eager, compiled)]  # fmt: skip
    return " and ".join(names)


def _word(is_cpu: bool) -> str:
    return "operator" if is_cpu else "kernel"


def headline(answer: Fusion) -> str:
    """`1,728 kernels became 436: ...`, the finding in one sentence with numbers, or that the two are not comparable."""
    report, word = answer.report, answer.word
    before, after = report.value("kernels_a_count"), report.value("kernels_b_count")
    step, groups, gaps = (report.value(key) or 0 for key in ("step_change_ns", "groups_change_ns", "gaps_change_ns"))
    matched = [report.value(f"matched_{side}_ratio") or 0 for side in ("a", "b")]
    if min(matched) < _SAME_WORK_RATIO:
        return (
            f"{text(before, 'count')} {word}s against {text(after, 'count')}, and of their time only "
            f"{text(matched[0], 'ratio')} and {text(matched[1], 'ratio')} have a counterpart: "
            "these are not the same work."
        )
    counts = f"{text(before, 'count')} {word}s became {text(after, 'count')}"
    if step >= 0:
        return f"{counts}, and the step is {text(step, 'ns')} longer: {word}s {_signed(groups)}, gaps {_signed(gaps)}."
    return (
        f"{counts}. Of {text(-step, 'ns')} saved under the profiler, {text(-groups, 'ns')} is {word} time and "
        f"{text(-gaps, 'ns')} is waiting between {word}s."
    )


def _signed(change_ns: float) -> str:
    return f"{'+' if change_ns > 0 else '−'}{text(abs(change_ns), 'ns')}"


_LEDGER = (
    Column("group", "group", "text"),
    Column("place", "where", "text"),
    Column("match", "match", "text"),
    Column("kernels_a_count", "kernels before", "count"),
    Column("kernels_b_count", "after", "count"),
    Column("time_a_ns", "time before", "ns"),
    Column("time_b_ns", "after", "ns"),
    Column("time_change_ns", "change", "ns"),
    Column("spread_ns", "spread over layers", "ns"),
    Column("gap_change_ns", "gap change", "ns"),
    Column("launches_saved_count", "launches saved", "count"),
    Column("bytes_a", "bytes before", "bytes"),
    Column("bytes_b", "after", "bytes"),
    Column("floor_ns", "fused floor", "ns"),
    Column("bandwidth_a_ratio", "of limit before", "ratio"),
    Column("bandwidth_b_ratio", "after", "ratio"),
    Column("verdict", "verdict", "text"),
)


def _ledger_row(
    one: FoldedGroup, eager: StepKernels, compiled: StepKernels, ceiling_bytes_per_s: float | None
) -> dict[str, object]:
    before, after = one.kernels("eager"), one.kernels("compiled")
    bytes_a, bytes_b = eager.bytes_of(before), compiled.bytes_of(after)
    is_one_kernel = all(len({kernel.operator_row for kernel in member.compiled}) == 1 for member in one.members)
    floor = _floor_ns(bytes_b if is_one_kernel else None, ceiling_bytes_per_s)
    return {
        "group": one.first.title,
        "place": one.place,
        "match": MATCH_LABELS[one.first.match],
        "kernels_a_count": count_of(before),
        "kernels_b_count": count_of(after),
        "time_a_ns": time_of(before),
        "time_b_ns": time_of(after),
        "time_change_ns": sum(one.changes_ns),
        "spread_ns": one.spread_ns,
        "gap_change_ns": _gap(after) - _gap(before),
        "launches_saved_count": _launches_saved(before, after),
        "bytes_a": bytes_a,
        "bytes_b": bytes_b,
        "floor_ns": floor,
        "bandwidth_a_ratio": _share(_floor_ns(bytes_a, ceiling_bytes_per_s), time_of(before)),
        "bandwidth_b_ratio": _share(_floor_ns(bytes_b, ceiling_bytes_per_s), time_of(after)),
        "verdict": one.verdict,
    }


def _floor_ns(moved_bytes: int | None, ceiling_bytes_per_s: float | None) -> float | None:
    return None if moved_bytes is None or not ceiling_bytes_per_s else moved_bytes / ceiling_bytes_per_s * _NS_PER_S


def _share(floor_ns: float | None, time_ns: int) -> float | None:
    """The share of the limit; None where it is unknown, or so large that the data cannot have come from memory."""
    share = None if floor_ns is None or not time_ns else floor_ns / time_ns
    return None if share is None or share > _MOST_SHARE_RATIO else share


def _groups_table(groups: Sequence[Group]) -> ReportTable:
    columns = (
        Column("group", "group", "text"),
        Column("layer", "layer", "text"),
        Column("match", "match", "text"),
        Column("eager", "eager kernels", "text"),
        Column("compiled", "compiled kernels", "text"),
        Column("time_a_ns", "time before", "ns"),
        Column("time_b_ns", "after", "ns"),
        Column("gap_a_ns", "gaps before", "ns"),
        Column("gap_b_ns", "after", "ns"),
    )
    rows = [
        (
            group.title,
            "" if group.layer is None else str(group.layer),
            MATCH_LABELS[group.match],
            ", ".join(kernel.word for kernel in group.eager),
            ", ".join(kernel.name for kernel in group.compiled),
            time_of(group.eager),
            time_of(group.compiled),
            _gap(group.eager),
            _gap(group.compiled),
        )
        for group in groups
    ]
    frame = pd.DataFrame(rows, columns=[column.key for column in columns])
    return ReportTable("groups", "Every group in the order of the step", columns, frame)


def _metrics(groups: Sequence[Group], eager: StepKernels, compiled: StepKernels, is_cpu: bool) -> tuple[Metric, ...]:
    step_change = compiled.span_ns - eager.span_ns
    groups_change = sum(time_of(group.compiled) - time_of(group.eager) for group in groups)
    gaps_change = sum(_gap(group.compiled) - _gap(group.eager) for group in groups)
    matched = [group for group in groups if group.match != "unmatched"]
    share_a = _share_of(sum(time_of(named_kernels(group)) for group in matched), eager)
    share_b = _share_of(sum(time_of(group.compiled) for group in matched), compiled)
    saved = _launches_saved(eager.kernels, compiled.kernels)
    why = "" if saved is not None else _CPU_LAUNCHES if is_cpu else _NO_LAUNCHES
    word, device = _word(is_cpu), "CPU" if is_cpu else "GPU"
    return (
        Metric("step_a_ns", "step, eager", eager.span_ns, "ns", "lower"),
        Metric("step_b_ns", "step, compiled", compiled.span_ns, "ns", "lower"),
        Metric("step_change_ns", "change of the step", step_change, "ns", "lower"),
        Metric("groups_change_ns", f"of it the groups' {word}s", groups_change, "ns", "lower"),
        Metric("gaps_change_ns", "of it the gaps", gaps_change, "ns", "lower"),
        Metric("remainder_ns", "remainder (streams overlapping)", step_change - groups_change - gaps_change, "ns"),
        Metric("kernels_a_count", f"{word}s, eager", count_of(eager.kernels), "count", "lower"),
        Metric("kernels_b_count", f"{word}s, compiled", count_of(compiled.kernels), "count", "lower"),
        Metric("launches_saved_count", "host launches saved", saved, "count", "higher", why),
        Metric("busy_a_ns", f"{device} busy, eager", eager.busy_ns, "ns", "lower"),
        Metric("busy_b_ns", f"{device} busy, compiled", compiled.busy_ns, "ns", "lower"),
        Metric("idle_a_ns", f"{device} idle, eager", eager.idle_ns, "ns", "lower"),
        Metric("idle_b_ns", f"{device} idle, compiled", compiled.idle_ns, "ns", "lower"),
        Metric("matched_a_ratio", f"eager {word} time with a counterpart", share_a, "ratio", "higher"),
        Metric("matched_b_ratio", f"compiled {word} time with a counterpart", share_b, "ratio", "higher"),
        Metric("left_out_count", "kernels left out", eager.left_out_count + compiled.left_out_count, "count"),
    )


def _notes(eager: StepKernels, compiled: StepKernels, ledger: pd.DataFrame) -> tuple[str, ...]:
    notes = []
    for letter, side in (("The eager side", eager), ("The compiled side", compiled)):
        if side.left_out_count:
            notes.append(
                f"{letter} leaves out {side.left_out_count:,} kernels that ran while something compiled or was tuned: "
                "trials are no part of the step."
            )
    if ledger["bytes_a"].isna().any() or ledger["bytes_b"].isna().any():
        notes.append(_NO_BYTES)
    slower = ledger[ledger["verdict"] == "slower"]
    if len(slower):
        notes.append(f"Slower than before: {', '.join(dict.fromkeys(slower['group']))}.")
    return tuple(notes)


def _limit_notes(ledger: pd.DataFrame, ceiling_bytes_per_s: float | None, is_cpu: bool) -> tuple[str, ...]:
    if is_cpu:
        return (CPU_LIMIT,)
    if not ceiling_bytes_per_s:
        return ()
    moved = ledger[["bytes_a", "bytes_b"]].notna().to_numpy() & (ledger[["time_a_ns", "time_b_ns"]].to_numpy() > 0)
    unknown = ledger[["bandwidth_a_ratio", "bandwidth_b_ratio"]].isna().to_numpy()
    return (CACHED_LIMIT,) if (moved & unknown).any() else ()


def _share_of(time_ns: int, side: StepKernels) -> float | None:
    total = time_of(side.kernels)
    return time_ns / total if total else None


def _gap(kernels: Sequence[Kernel]) -> int:
    return sum(kernel.gap_ns for kernel in kernels)


def _launches_saved(before: Sequence[Kernel], after: Sequence[Kernel]) -> int | None:
    """Host calls that launched the one and not the other; None where the launch of any of them is unknown."""
    calls = [{kernel.call_row for kernel in side} for side in (before, after)]
    return None if NO_ROW in calls[0] | calls[1] else len(calls[0]) - len(calls[1])
