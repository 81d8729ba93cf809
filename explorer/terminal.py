"""How do the answers look on a terminal and to a program that reads one? For `explorer report`, `compare`
and `attention`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from explorer.analysis.attention import headline
from explorer.analysis.attention_output import attention_object, told_report
from explorer.analysis.compare import common_window, comparable, compare_parts, compare_reports, comparison_sentence
from explorer.analysis.gaps import gap_report
from explorer.analysis.kernels import kernel_report
from explorer.analysis.machine_output import report_object
from explorer.analysis.step import step_report
from explorer.analysis.sweep import sweep_report
from explorer.analysis.trust import trust_report
from explorer.analysis.windows import WindowKind, has_step_windows
from explorer.errors import RecordingError, TraceError
from explorer.facts import Facts
from explorer.ingest import OnProgress, open_trace
from explorer.probe_results import ProbeResults, results_from_json
from explorer.probe_settings import ProbeSettings
from explorer.recording import open_recording
from explorer.report import Column, Delta, Report, ReportTable, metrics_to_json
from explorer.settings import RunSettings
from explorer.sweep_settings import SweepResults, SweepSettings
from explorer.sweep_settings import results_from_json as sweep_results_from_json
from explorer.sweep_settings import results_to_json as sweep_results_to_json
from explorer.trace import Trace
from explorer.units import shortened, significant, text

_ROWS_SHOWN = 12
_READ_BY = {
    "sweep": "`explorer sweep {path}` reads it",
    "probe": "`explorer attention {path}` reads it",
    "shapes": "`explorer shapes {path}` reads it",
    "gallery": "the app's Fusion page shows it",
}
"""What tells about an experiment that is no run."""
_ONLY_IN_JSON = frozenset({"gaps", "latency", "queue"})
"""Tables that are drawn, not read."""


@dataclass(frozen=True)
class Opened:
    """A trace from disk, with the settings and facts that stand beside it in a recording."""

    path: Path
    trace_path: Path
    trace: Trace
    settings: RunSettings | None = None
    facts: Facts | None = None


def open_path(path: Path) -> Opened:
    """A recording's folder or a trace file; raises RecordingError or TraceError."""
    if not path.is_dir():
        return Opened(path, path, open_trace(path, _on_progress()))
    recording = open_recording(path)
    experiment = recording.experiment_settings().experiment
    if experiment != RunSettings.experiment:
        raise RecordingError(f"{path} is a recording of another experiment: {_READ_BY[experiment].format(path=path)}.")
    if not recording.trace_path.exists():
        raise TraceError(f"{path}: {recording.why_no_trace()}")
    trace = open_trace(recording.trace_path, _on_progress())
    return Opened(path, recording.trace_path, trace, recording.settings(), recording.facts())


def _on_progress() -> OnProgress | None:
    """Says on standard error how much has been read, where a person watches it; nothing of small or cached files."""
    if not sys.stderr.isatty():
        return None

    def say(read_bytes: int, size_bytes: int) -> None:
        done = f"{text(read_bytes, 'bytes')} of {text(size_bytes, 'bytes')}"
        print(
            f"\rreading: {done:<30}", end="\r" if read_bytes < size_bytes else "\r\x1b[K", file=sys.stderr, flush=True
        )

    return say


def json_report(path: Path, window: WindowKind | None) -> dict[str, Any]:
    """The object of definitions.md, and under `run` what the engine measured of a recording."""
    opened = open_path(path)
    found = report_object(opened.trace, window)
    if opened.settings and opened.facts:
        found["run"] = {"settings": opened.settings.to_json(), "facts": asdict(opened.facts)}
    return found


def text_report(path: Path, window: WindowKind | None) -> str:
    """Steps, idle parts, kernels and trust of one trace as plain text."""
    opened = open_path(path)
    reports = [
        gap_report(opened.trace, window),
        kernel_report(opened.trace, window),
        trust_report(opened.trace),
    ]
    if opened.settings:
        reports.insert(0, step_report(opened.trace, opened.settings, opened.facts))
    told = ["\n".join(report_lines(report)) for report in reports]
    return "\n\n".join([*_wrong_lines({"This run": opened}), *_run_lines(opened), *told])


def _run_lines(opened: Opened) -> list[str]:
    """What ran, on what, and how right it was; nothing of a trace without a recording beside it."""
    settings, facts = opened.settings, opened.facts
    if settings is None or facts is None:
        return []
    what = f"{settings.title} · context {settings.context_tokens:,} · {settings.dtype}"
    machine = facts.environment
    where = f" on {machine.device_name}, torch {machine.torch_version}" if machine else ""
    found = facts.correctness
    checked = "results not checked"
    if found is not None:
        error, limit = text(found.logits_error_ratio, "ratio"), text(found.error_limit_ratio, "ratio")
        verdict = "correct" if found.passed else "wrong"
        checked = f"results {verdict}: logits {error} off eager float32, {limit} allowed"
    return [f"{what}{where}\n{checked}"]


def json_compare(a: Path, b: Path) -> dict[str, Any]:
    """`{"a", "b", "note", "finding", "verdict", "is_fair", "differences", "deltas"}`; unknown is None."""
    one, other = open_path(a), open_path(b)
    fairness = comparable((one.settings, one.facts), (other.settings, other.facts))
    sides, deltas, note = _compared(one, other)
    return {
        "a": {"path": str(a), "window": sides[0].window},
        "b": {"path": str(b), "window": sides[1].window},
        "note": note,
        "finding": comparison_sentence(*sides),
        "verdict": fairness.verdict,
        "is_fair": fairness.is_fair,
        "wrong_results": [
            side for side, opened in (("a", one), ("b", other)) if opened.facts and opened.facts.is_wrong
        ],
        "differences": [asdict(difference) for difference in fairness.differences],
        "deltas": [{**asdict(delta), "change": delta.change, "ratio": delta.ratio} for delta in deltas],
    }


def text_compare(a: Path, b: Path) -> str:
    """The finding, what was looked at, what differs and every metric side by side."""
    one, other = open_path(a), open_path(b)
    fairness = comparable((one.settings, one.facts), (other.settings, other.facts))
    sides, deltas, note = _compared(one, other)
    lines = [*_wrong_lines({"A": one, "B": other}), comparison_sentence(*sides), fairness.verdict]
    lines += [f"  {letter}: {side.window}" for letter, side in zip("AB", sides, strict=True)]
    lines += [f"  {note}"] if note else []
    lines += [f"  {entry.label}: {entry.a} → {entry.b}" for entry in fairness.differences]
    rows = [("", "A", "B", "A ÷ B", "")]
    rows += [
        (
            delta.label,
            text(delta.a, delta.unit),
            text(delta.b, delta.unit),
            "" if delta.ratio is None else f"×{significant(delta.ratio)}",
            "no change measured" if delta.exceeds_spread is False else "",
        )
        for delta in deltas
    ]
    return "\n".join([*lines, "", *_aligned(rows)])


def _wrong_lines(sides: Mapping[str, Opened]) -> list[str]:
    """A line for every side whose results were found wrong."""
    return [
        f"{name} computes wrong results ({side.path}): its times are no result."
        for name, side in sides.items()
        if side.facts and side.facts.is_wrong
    ]


def json_attention(folder: Path) -> dict[str, Any]:
    """The object of `explorer.analysis.attention_output`."""
    return attention_object(*_open_probe(folder))


def attention_lines(folder: Path) -> str:
    """The finding, every choice and every cell of a probe as plain text."""
    results, facts = _open_probe(folder)
    return "\n\n".join([headline(results), "\n".join(report_lines(told_report(results, facts)))])


def json_sweep(folder: Path) -> dict[str, Any]:
    """`{"settings", "metrics", "sizes", "results"}`: sums, a row a size, and everything measured; unknown is None."""
    settings, results = _open_sweep(folder)
    report = sweep_report(results)
    sizes = report.table("sizes").astype(object)
    return {
        "settings": settings.to_json(),
        "metrics": metrics_to_json(report),
        "sizes": sizes.where(sizes.notna(), None).to_dict("records"),
        "results": sweep_results_to_json(results),
    }


def sweep_lines(folder: Path) -> str:
    """Sums and sizes of a sweep as plain text."""
    settings, results = _open_sweep(folder)
    return "\n".join([settings.title, *report_lines(sweep_report(results))])


def _open_sweep(folder: Path) -> tuple[SweepSettings, SweepResults]:
    recording = open_recording(folder, "explorer sweep --out")
    settings = recording.experiment_settings()
    if not isinstance(settings, SweepSettings):
        raise RecordingError(f"{folder} is a recording of a {settings.experiment}, not of a sweep over batch sizes.")
    return settings, sweep_results_from_json(recording.results())


def _open_probe(folder: Path) -> tuple[ProbeResults, Facts]:
    recording = open_recording(folder, "explorer attention --out")
    settings = recording.experiment_settings()
    if not isinstance(settings, ProbeSettings):
        raise RecordingError(f"{folder} is a recording of a {settings.experiment}, not of a probe of attention.")
    return results_from_json(recording.results()), recording.facts()


def _compared(one: Opened, other: Opened) -> tuple[tuple[Report, Report], tuple[Delta, ...], str]:
    """(both step reports, every metric side by side, a note on what was looked at), by one window rule."""
    window, note = common_window(*(has_step_windows(side.trace) for side in (one, other)))
    a, b = (step_report(side.trace, side.settings, side.facts, window) for side in (one, other))
    steps = compare_reports(a, b, a.value("step_spread_ns"), b.value("step_spread_ns"))
    parts = compare_parts(gap_report(one.trace, window), gap_report(other.trace, window))
    return (a, b), (*steps, *parts), note


def report_lines(report: Report) -> Iterator[str]:
    """A report as plain text: its metrics, the first rows of its tables, its notes."""
    yield f"{report.question}  ({report.window})"
    yield from _aligned([(f"  {metric.label}", text(metric.value, metric.unit)) for metric in report.metrics])
    for table in report.tables:
        if not table.frame.empty and table.key not in _ONLY_IN_JSON:
            yield ""
            yield from _table_lines(table)
    for note in report.notes:
        yield f"  note: {note}"


def _table_lines(table: ReportTable) -> Iterator[str]:
    columns = [column for column in table.columns if _says_something(table.frame[column.key], column)]
    shown = table.frame[[column.key for column in columns]].head(_ROWS_SHOWN)
    cells = [
        [_cell(value, column) for value, column in zip(row, columns, strict=True)]
        for row in shown.itertuples(index=False)
    ]
    yield f"  {table.label}"
    yield from _aligned([(f"  {first}", *others) for first, *others in [[c.label for c in columns], *cells]])
    if len(table.frame) > _ROWS_SHOWN:
        yield f"  … and {len(table.frame) - _ROWS_SHOWN:,} more"


def _says_something(values: pd.Series[Any], column: Column) -> bool:
    """Row numbers are for programs, and a column of nothing but zeros or blanks only takes room."""
    return not column.key.endswith("_row") and bool((values.notna() & (values != 0) & (values != "")).any())


def _cell(value: Any, column: Column) -> str:
    known = None if pd.isna(value) else value
    if column.unit == "text":
        return "" if known is None else shortened(str(known), 40)
    return text(known, column.unit)


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns under each other: the first to the left, the others to the right."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if not column else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
