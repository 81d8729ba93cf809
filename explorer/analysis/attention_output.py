"""What does `explorer attention` print, with `--json` as one object? Unknown is null."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from explorer.analysis.attention import attention_report, headline
from explorer.analysis.attention_choice import fastest_cell, is_slower_choice, possible_gain, rates_of
from explorer.analysis.mask_lens import causal_warnings
from explorer.facts import Facts
from explorer.probe_results import CallResult, Cell, ProbeResults
from explorer.report import Report, metrics_to_json


def told_report(results: ProbeResults, facts: Facts) -> Report:
    """The report with a note on `is_causal` for every two lengths that differ; the page draws the masks instead."""
    causal = [result.call for result in results.calls if result.call.is_causal]
    warnings = [warning for call in causal for warning in causal_warnings(call.query_tokens, call.kv_tokens)]
    report = attention_report(results, facts)
    return replace(report, notes=(*report.notes, *dict.fromkeys(warnings)))


def attention_object(results: ProbeResults, facts: Facts) -> dict[str, Any]:
    """`{"device", "torch", "finding", "metrics", "calls": [{"label", "chosen", "cells": {"flash": ...}}], ...}`.

    A cell has Cell's fields and the achieved rates; `enabling` lists the smallest sets of changes, `changes` what
    would be chosen and accepted with one choice turned.
    """
    report = told_report(results, facts)
    environment = facts.environment
    return {
        "device": environment.device_name if environment else None,
        "torch": environment.torch_version if environment else None,
        "cudnn": environment.cudnn_version if environment else None,
        "state": facts.state,
        "finding": headline(results),
        "priority_before": results.priority_before,
        "priority_order": results.priority_order,
        "build_backends": results.build_backends,
        "metrics": metrics_to_json(report),
        "calls": [_call_object(result, results, facts) for result in results.calls],
        "ragged": [asdict(entry) for entry in results.ragged],
        "graphs": [asdict(entry) for entry in results.graph_tries],
        "kept_backends": [asdict(entry) for entry in results.kept_backends],
        "notes": list(report.notes),
    }


def _call_object(result: CallResult, results: ProbeResults, facts: Facts) -> dict[str, Any]:
    fastest = fastest_cell(result)
    return {
        "label": result.call.label,
        "settings": result.call.to_json(),
        "chosen": result.chosen,
        "chosen_error": result.chosen_error,
        "fastest": fastest.backend if fastest else None,
        "gain": possible_gain(result),
        "is_slower_choice": is_slower_choice(result),
        "visible_pair_count": result.visible_pair_count,
        "masked_row_count": result.masked_row_count,
        "cells": {cell.backend: _cell_object(result, cell, results, facts) for cell in result.cells},
        "changes": [asdict(change) for change in result.changes],
    }


def _cell_object(result: CallResult, cell: Cell, results: ProbeResults, facts: Facts) -> dict[str, Any]:
    fields = asdict(cell)
    del fields["backend"]
    return {**fields, **asdict(rates_of(result, cell, results, facts))}
