"""What does the first call pay, when is it paid again, and when does compiling silently stop?

From an experiment with shapes. Cold start of a variant = import + build + its first call; the compiler's stages are
exclusive of each other, and what of the first call no stage explains is "first call, rest".
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from explorer.analysis.compilation_reasons import Explanation, explain_reason
from explorer.report import Column, Metric, Report, ReportTable
from explorer.shapes_results import STAGES, Call, CompiledEntry, ShapesResults, SteadyTime, VariantResult
from explorer.shapes_settings import DYNAMIC_LABELS, ShapesSettings
from explorer.units import text

START_LABELS = {
    "import": "import",
    "build": "build",
    "dynamo": "Dynamo",
    "aot_autograd": "AOTAutograd",
    "inductor": "Inductor",
    "kernels": "kernels",
    "autotune": "autotune",
    "rest": "first call, rest",
}
_VARIANT_COLUMNS = (
    Column("variant", "variant", "text"),
    Column("graph_count", "graphs", "count"),
    Column("eager_call_count", "eager calls", "count"),
    Column("cold_start_ns", "cold start", "ns"),
    Column("compile_ns", "compiling in all", "ns"),
    Column("steady_ns", "steady call", "ns"),
    Column("eager_ns", "eager call", "ns"),
    Column("payback_count", "pays back after", "count"),
)
_START_COLUMNS = (Column("variant", "variant", "text"), Column("part", "part", "text"), Column("time_ns", "time", "ns"))


def variant_label(result: VariantResult) -> str:
    """Such as `dynamic=None · whole model · cold`."""
    variant = result.variant
    scope = "whole" if variant.scope == "model" else "per layer"
    return f"{DYNAMIC_LABELS[variant.dynamic]} · {scope} · {variant.cache}"


def compilation_report(settings: ShapesSettings, results: ShapesResults) -> Report:
    """A row a variant, a row a part of each cold start, and notes about limits, gaps and what is missing."""
    rows = [_variant_row(result) for result in results.variants]
    starts = [
        {"variant": variant_label(result), "part": START_LABELS[part], "time_ns": time_ns}
        for result in results.variants
        for part, time_ns in start_parts(result).items()
    ]
    notes = [*scope_sentences(results), *(note for result in results.variants for note in _notes(result))]
    frames = (
        ReportTable("variants", "Ways of compiling", _VARIANT_COLUMNS, _frame(rows, _VARIANT_COLUMNS)),
        ReportTable("starts", "Cold start by part", _START_COLUMNS, _frame(starts, _START_COLUMNS)),
    )
    metrics = tuple(
        Metric(f"graphs_{result.variant.key.replace('-', '_')}", variant_label(result), result.graph_count, "count")
        for result in results.variants
    )
    return Report(
        question="What does torch.compile cost, and when again?",
        window=settings.title,
        metrics=metrics,
        tables=frames,
        notes=tuple(dict.fromkeys(notes)),
    )


def headline(results: ShapesResults) -> str:
    """The finding with its numbers: most and fewest graphs, and where calls run eagerly."""
    measured = [result for result in results.variants if result.calls and result.missing is None]
    if not measured:
        missing = next((result.missing.message for result in results.variants if result.missing), "")
        return f"Nothing could be compiled here. {missing}".strip()
    most, fewest = max(measured, key=_graphs), min(measured, key=_graphs)
    calls = len(most.calls)
    words = f"{calls} calls build {most.graph_count} graphs under {variant_label(most)}"
    if fewest.graph_count < most.graph_count:
        words += f" and {fewest.graph_count} under {variant_label(fewest)}"
    scopes = {result.variant.scope: result for result in reversed(measured) if result.variant.cache == "cold"}
    if len(scopes) == 2:
        whole_ns, layer_ns = (scopes[scope].calls[0].time_ns for scope in ("model", "layer"))
        words += f"; the first call takes {text(whole_ns, 'ns')} as a whole and {text(layer_ns, 'ns')} per layer"
    stopped = next((result for result in measured if limit_call(result) is not None), None)
    if stopped is not None:
        call = limit_call(stopped)
        assert call is not None
        words += f"; from call {call.index + 1} on, {variant_label(stopped)} runs new shapes eagerly, in silence"
    return f"{words}."


def scope_sentences(results: ShapesResults) -> list[str]:
    """What compiling layer by layer saves of the first call, and what it costs afterwards, wherever both were tried."""
    named = {result.variant.key: result for result in results.variants if result.calls}
    sentences = []
    for whole in named.values():
        layer = named.get(replace(whole.variant, scope="layer").key)
        if whole.variant.scope != "model" or layer is None or not layer.calls[0].time_ns:
            continue
        first_ns, layer_ns = whole.calls[0].time_ns, layer.calls[0].time_ns
        sentences.append(
            f"{DYNAMIC_LABELS[whole.variant.dynamic]}, {whole.variant.cache} caches: the first call takes "
            f"{text(layer_ns, 'ns')} per layer and {text(first_ns, 'ns')} as a whole, "
            f"{text(first_ns / layer_ns, 'times')}; a steady call {text(steady_ns(layer.steady), 'ns')} and "
            f"{text(steady_ns(whole.steady), 'ns')}."
        )
    return sentences


def start_parts(result: VariantResult) -> dict[str, int]:
    """The cold start of a variant by part, ns, in order; empty for one that made no call."""
    if not result.calls or result.import_ns is None or result.build_ns is None:
        return {}
    first = result.calls[0]
    stages = stage_sums(entries_of(result, first))
    stages["autotune"] += first.launch_autotune_ns
    rest = first.time_ns - sum(stages.values())
    return {"import": result.import_ns, "build": result.build_ns, **stages, "rest": rest}


def stage_sums(entries: Sequence[CompiledEntry]) -> dict[str, int]:
    """Time in each stage of the compiler over some compilations, ns."""
    return {stage: sum(entry.stage_ns.get(stage, 0) for entry in entries) for stage in STAGES}


def entries_of(result: VariantResult, call: Call) -> list[CompiledEntry]:
    """What was compiled, or refused, in that call."""
    return [entry for entry in result.entries if entry.compile_id in call.entry_ids]


def why_compiled(result: VariantResult, call: Call) -> Explanation | None:
    """The guard that failed in that call, in words; None for a first compilation and a call that reused."""
    reason = next((entry.recompile_reason for entry in entries_of(result, call) if entry.recompile_reason), "")
    return explain_reason(reason) if reason else None


def limit_call(result: VariantResult) -> Call | None:
    """The call at which the frame reached its limit and stopped compiling, or None."""
    return next((call for call in result.calls if any(entry.is_limit for entry in entries_of(result, call))), None)


def failed_guards(result: VariantResult) -> dict[str, int]:
    """What guards that failed were about, and how often each did: values that differ from one to the next are `…`."""
    counts: dict[str, int] = {}
    for entry in result.entries:
        if entry.recompile_reason:
            guard = explain_reason(entry.recompile_reason).guard
            about = re.sub(r"(expected|actual|==|<=|>=|<|>) -?\d+(\.\d+)?", r"\1 …", guard)
            counts[about] = counts.get(about, 0) + 1
    return counts


def steady_ns(times: Sequence[SteadyTime]) -> float | None:
    """The mean over sizes of the median latency, ns; None without any."""
    return statistics.fmean(statistics.median(time.latencies_ns) for time in times) if times else None


def payback_count(result: VariantResult) -> int | None:
    """Calls after which the time spent on compiling has been saved against eager; None when it never is, or unknown."""
    eager, compiled = steady_ns(result.eager), steady_ns(result.steady)
    if eager is None or compiled is None or compiled >= eager:
        return None
    return math.ceil(compile_ns(result) / (eager - compiled))


def compile_ns(result: VariantResult) -> int:
    """All that Dynamo and what it calls took over the sequence, ns."""
    return sum(entry.total_ns or 0 for entry in result.entries)


def _variant_row(result: VariantResult) -> dict[str, object]:
    parts = start_parts(result)
    return {
        "variant": variant_label(result),
        "graph_count": result.graph_count,
        "eager_call_count": sum(call.outcome == "eager" for call in result.calls),
        "cold_start_ns": sum(parts.values()) if parts else None,
        "compile_ns": compile_ns(result),
        "steady_ns": steady_ns(result.steady),
        "eager_ns": steady_ns(result.eager),
        "payback_count": payback_count(result),
    }


def _notes(result: VariantResult) -> list[str]:
    notes = [f"{variant_label(result)}: {result.missing.message}"] if result.missing else []
    call = limit_call(result)
    if call is not None:
        why = why_compiled(result, call)
        fast = sorted({time.size for time in result.steady if time.outcome == "reused"})
        still = f" Still compiled: sizes {', '.join(map(str, fast))}." if fast else ""
        notes.append(
            f"{variant_label(result)}: the limit of {result.recompile_limit} compilations is reached at call "
            f"{call.index + 1}; from there on what is not compiled runs eagerly.{still} {why.cause if why else ''} "
            f"{why.fix if why else ''}".strip()
        )
    return notes


def _graphs(result: VariantResult) -> int:
    return result.graph_count


def _frame(rows: Sequence[dict[str, object]], columns: Sequence[Column]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=[column.key for column in columns])
