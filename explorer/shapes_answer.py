"""What does an experiment with shapes answer without a browser: lines for a terminal, an object for a program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from explorer.analysis.compilation import (
    compilation_report,
    headline,
    limit_call,
    payback_count,
    start_parts,
    variant_label,
    why_compiled,
)
from explorer.analysis.compilation_reasons import break_words
from explorer.errors import RecordingError
from explorer.recording import open_recording
from explorer.shapes_results import ShapesResults, VariantResult, results_from_json
from explorer.shapes_settings import ShapesSettings
from explorer.units import text


def read_shapes(folder: Path) -> tuple[ShapesSettings, ShapesResults]:
    """Settings and results of such a recording; raises RecordingError for any other."""
    recording = open_recording(folder, "explorer shapes --out")
    settings = recording.experiment_settings()
    if not isinstance(settings, ShapesSettings):
        raise RecordingError(f"{folder} is no experiment with shapes; make one with `explorer shapes --out DIR`.")
    return settings, results_from_json(recording.results())


def shapes_lines(folder: Path) -> str:
    """The finding, every variant's calls in a line each, graph breaks and notes."""
    settings, results = read_shapes(folder)
    lines = [headline(results), ""]
    for result in results.variants:
        lines += _variant_lines(result)
    whole = results.whole_graph
    if whole is not None:
        lines.append(f"graphs of one call: {whole.graph_count}, breaks: {whole.break_count}")
        lines += [f"  {one.file}:{one.line}  {one.source}  ({break_words(one.reason)})" for one in whole.breaks]
        if whole.refusal:
            lines.append(f"  fullgraph=True refuses at line {whole.refusal_line}: {break_words(whole.refusal)}")
    return "\n".join([*lines, *compilation_report(settings, results).notes])


def json_shapes(folder: Path) -> dict[str, Any]:
    """The same as one object; unknown is None."""
    settings, results = read_shapes(folder)
    whole = results.whole_graph
    return {
        "source": {"title": settings.title},
        "finding": headline(results),
        "variants": [_variant_object(result) for result in results.variants],
        "breaks": [{"file": b.file, "line": b.line, "reason": b.reason} for b in whole.breaks] if whole else None,
        "fullgraph_refusal": whole.refusal if whole else None,
        "notes": list(compilation_report(settings, results).notes),
    }


def _variant_lines(result: VariantResult) -> list[str]:
    lines = [f"{variant_label(result)}: {result.graph_count} graphs"]
    for call in result.calls:
        why = why_compiled(result, call)
        words = f"  {why.cause} {why.fix}" if why else ""
        lines.append(f"  {call.index + 1:>3}  {call.size:>6}  {call.outcome:<8} {text(call.time_ns, 'ns'):>9}{words}")
    return lines


def _variant_object(result: VariantResult) -> dict[str, Any]:
    stopped = limit_call(result)
    return {
        "dynamic": result.variant.dynamic,
        "scope": result.variant.scope,
        "cache": result.variant.cache,
        "graph_count": result.graph_count,
        "recompile_limit": result.recompile_limit,
        "limit_step": None if stopped is None else stopped.index + 1,
        "payback_count": payback_count(result),
        "cold_start_ns": start_parts(result) or None,
        "missing": result.missing.message if result.missing else None,
        "calls": [
            {
                "size": call.size,
                "outcome": call.outcome,
                "time_ns": call.time_ns,
                "built_count": len(call.built_ids),
                "guard": why.guard if (why := why_compiled(result, call)) else None,
            }
            for call in result.calls
        ],
    }
