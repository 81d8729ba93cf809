"""What does anybody's TORCH_TRACE log say, in the shapes in which an experiment's results are shown?

A log knows compilations and no calls: each compilation stands for the call that set it off, with what compiling took
as its time. One that failed, or that the limit refused, left its call eager.
"""

from __future__ import annotations

from explorer.analysis.compilation import START_LABELS
from explorer.shapes_results import Call, CompiledEntry, VariantResult
from explorer.shapes_settings import Variant
from explorer.torch_trace_log import CompileLog
from explorer.units import text

SHOWN_COUNT = 500
"""Compilations of a log that are shown; a page with more says nothing that these do not."""
_LONGEST_COUNT = 8


def result_of_log(log: CompileLog) -> VariantResult:
    """The log's first compilations as calls, its guards and breaks; how it was compiled is not known."""
    entries = list(log.entries[:SHOWN_COUNT])
    calls = [
        Call(
            index=at,
            size=at + 1,
            padded_size=at + 1,
            outcome="eager" if entry.failure else "compiled",
            time_ns=entry.total_ns or 0,
            built_ids=[] if entry.failure else [entry.compile_id],
            entry_ids=[entry.compile_id],
        )
        for at, entry in enumerate(entries)
    ]
    return VariantResult(
        variant=Variant(dynamic="none", scope="model", cache="cold"),
        calls=calls,
        entries=entries,
        breaks=list(log.breaks[:SHOWN_COUNT]),
    )


def entry_name(entry: CompiledEntry) -> str:
    """Such as `0/1 next_logits`."""
    return f"{entry.compile_id} {entry.frame}".strip()


def longest_stages(log: CompileLog) -> list[tuple[str, dict[str, int]]]:
    """The compilations that took longest, in their order, each by stage, ns; those without times are left out."""
    timed = [entry for entry in log.entries if entry.stage_ns]
    shown = sorted(timed, key=lambda entry: sum(entry.stage_ns.values()), reverse=True)[:_LONGEST_COUNT]
    return [
        (entry_name(entry), {START_LABELS[stage]: time_ns for stage, time_ns in entry.stage_ns.items() if time_ns})
        for entry in timed
        if entry in shown
    ]


def log_headline(log: CompileLog) -> str:
    """The finding: how often was compiled, how often again, how long that took, and how often a graph broke."""
    failed = sum(bool(entry.failure) for entry in log.entries)
    again = sum(bool(entry.recompile_reason) for entry in log.entries)
    total_ns = sum(entry.total_ns or 0 for entry in log.entries)
    words = [
        f"{_counted(len(log.entries), 'compilation')}, {again:,} of them because a guard failed, took "
        f"{text(total_ns, 'ns')} in all",
        f"graphs broke {_counted(len(log.breaks), 'time')}" if log.breaks else "no graph broke",
    ]
    if failed:
        words.append(f"{_counted(failed, 'time')} nothing was compiled")
    return f"{'; '.join(words)}."


def log_note(log: CompileLog) -> str:
    """What is not shown; empty where everything is."""
    count = len(log.entries)
    return f"Of {count:,} compilations the first {SHOWN_COUNT} are shown." if count > SHOWN_COUNT else ""


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
