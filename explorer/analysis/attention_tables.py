"""Which tables does a probe of attention give?"""

from __future__ import annotations

from typing import Any

import pandas as pd

from explorer.analysis.attention_choice import fastest_cell, is_slower_choice, possible_gain, rates_of
from explorer.attention_names import BACKEND_LABELS
from explorer.facts import Facts
from explorer.probe_results import CallResult, Cell, ProbeResults
from explorer.report import Column, ReportTable


def calls_table(results: ProbeResults) -> ReportTable:
    """Every call with its choice, the fastest backend and how far apart they are."""
    rows = []
    for result in results.calls:
        chosen, fastest = result.cell(result.chosen or ""), fastest_cell(result)
        rows.append(
            {
                "call": result.call.label,
                "setting": result.call.sentence,
                "chosen": result.chosen or "",
                "chosen_ns": chosen.time_ns if chosen else None,
                "fastest": fastest.backend if fastest else "",
                "fastest_ns": fastest.time_ns if fastest else None,
                "gain": possible_gain(result),
                "is_slower_choice": int(is_slower_choice(result)),
                "masked_row_count": result.masked_row_count,
            }
        )
    columns = (
        Column("call", "call", "text"),
        Column("setting", "setting", "text"),
        Column("chosen", "chosen", "text"),
        Column("chosen_ns", "its time", "ns"),
        Column("fastest", "fastest", "text"),
        Column("fastest_ns", "its time", "ns"),
        Column("gain", "chosen ÷ fastest", "times"),
        Column("is_slower_choice", "slower chosen", "count"),
        Column("masked_row_count", "queries that see nothing", "count"),
    )
    return _table("calls", "Choices", columns, rows)


def cells_table(results: ProbeResults, facts: Facts) -> ReportTable:
    """Every backend's answer to every call; what was not measured is NA."""
    rows = [_cell_row(result, cell, results, facts) for result in results.calls for cell in result.cells]
    columns = (
        Column("call", "call", "text"),
        Column("backend", "backend", "text"),
        Column("outcome", "outcome", "text"),
        Column("reason", "reason", "text"),
        Column("time_ns", "device time", "ns"),
        Column("spread_ns", "spread", "ns"),
        Column("host_call_ns", "host call", "ns"),
        Column("first_call_ns", "first call", "ns"),
        Column("error_ratio", "error", "ratio"),
        Column("peak_extra_bytes", "peak memory", "bytes"),
        Column("flops_per_s", "FLOP/s", "flops_per_s"),
        Column("flops_ratio", "of the matrix rate", "ratio"),
        Column("bytes_per_s", "bytes/s", "bytes_per_s"),
        Column("bytes_ratio", "of the bandwidth", "ratio"),
        Column("ran_backend", "kernels of", "text"),
    )
    return _table("cells", "Every backend's answer", columns, rows)


def _cell_row(result: CallResult, cell: Cell, results: ProbeResults, facts: Facts) -> dict[str, Any]:
    rates = rates_of(result, cell, results, facts)
    measured = ("outcome", "reason", "time_ns", "spread_ns", "host_call_ns", "first_call_ns")
    return {
        "call": result.call.label,
        "backend": cell.backend,
        **{name: getattr(cell, name) for name in (*measured, "error_ratio", "peak_extra_bytes")},
        **{name: getattr(rates, name) for name in ("flops_per_s", "flops_ratio", "bytes_per_s", "bytes_ratio")},
        "ran_backend": cell.ran_backend or "",
    }


def ragged_table(results: ProbeResults) -> ReportTable:
    """Rows of unequal length by every way of calling."""
    rows = [
        {
            "phase": entry.phase,
            "way": entry.way.replace("_", " "),
            "call_count": entry.call_count,
            "time_ns": entry.time_ns,
            "host_call_ns": entry.host_call_ns,
            "copied_bytes": entry.copied_bytes,
            "redundant_ratio": 1 - entry.useful_pair_count / entry.computed_pair_count,
            "error_ratio": entry.error_ratio,
            "peak_extra_bytes": entry.peak_extra_bytes,
            "ran": ", ".join(BACKEND_LABELS.get(name, name) for name in entry.ran_backends),
        }
        for entry in results.ragged
    ]
    columns = (
        Column("phase", "phase", "text"),
        Column("way", "way", "text"),
        Column("call_count", "calls", "count"),
        Column("time_ns", "device time", "ns"),
        Column("host_call_ns", "host", "ns"),
        Column("copied_bytes", "copied by indexing", "bytes"),
        Column("redundant_ratio", "pairs not needed", "ratio"),
        Column("error_ratio", "error", "ratio"),
        Column("peak_extra_bytes", "peak memory", "bytes"),
        Column("ran", "kernels of", "text"),
    )
    return _table("ragged", "Rows of unequal length, three ways", columns, rows)


def graphs_table(results: ProbeResults) -> ReportTable:
    """What every backend survived of graphs and torch.compile."""
    rows = [
        {
            "backend": BACKEND_LABELS.get(entry.backend, entry.backend),
            "situation": entry.situation,
            "survival": entry.survival.replace("_", " "),
            "error_ratio": entry.error_ratio,
            "ran": BACKEND_LABELS.get(entry.ran_backend or "", ""),
            "sentence": entry.sentence,
        }
        for entry in results.graph_tries
    ]
    columns = (
        Column("backend", "backend", "text"),
        Column("situation", "situation", "text"),
        Column("survival", "outcome", "text"),
        Column("error_ratio", "error", "ratio"),
        Column("ran", "kernels of", "text"),
        Column("sentence", "why", "text"),
    )
    return _table("graphs", "Graphs and torch.compile, tried", columns, rows)


def _table(key: str, label: str, columns: tuple[Column, ...], rows: list[dict[str, Any]]) -> ReportTable:
    return ReportTable(key, label, columns, pd.DataFrame(rows, columns=[column.key for column in columns]))
