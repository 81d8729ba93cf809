"""What does the ledger say? One row a group, the sums at its foot, which are the step's change."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from explorer.analysis.compilation_run import step_ns
from explorer.analysis.fusion import CACHED_LIMIT, CPU_LIMIT, Fusion
from explorer.report import Report
from explorer.ui.fusion_answers import Pair
from explorer.ui.pieces import Card, arrow_text, single_text
from explorer.ui.rows import Cell, Line, draw_rows
from explorer.units import UNKNOWN, Number, Unit, exact, shortened, text

_HEAD = ("group", "where", "match", "kernels", "time", "change", "spread", "gaps", "bytes", "of limit", "verdict")
_WIDTHS = (137, 58, 68, 72, 102, 54, 46, 54, 92, 79, 62)
"""Pixels on the narrowest screen, 1280 wide: what a column's longest text takes; the group's name gives way."""
_GPU_COUNT = "copies and fills are not counted"
_CPU_COUNT = "each where its own time begins; the rest of that time may lie in another group"
_CHANGE, _GAPS = _HEAD.index("change"), _HEAD.index("gaps")
_GROUP_LIMIT = 22
_SHORT_VERDICTS = {"no change measured": "no change"}


def fusion_cards(answer: Fusion) -> list[Card]:
    """Step, kernels, GPU busy, launches saved and what was matched; on the CPU its operators."""
    report, word = answer.report, answer.word
    saved = report.metric("launches_saved_count")
    processor = "CPU" if answer.is_cpu else "GPU"
    times = [text(report.value(key), "ns") for key in ("step_a_ns", "step_b_ns", "busy_a_ns", "busy_b_ns")]
    kernels = [text(report.value(f"kernels_{side}_count"), "count") for side in ("a", "b")]
    matched = [text(report.value(f"matched_{side}_ratio"), "ratio") for side in ("a", "b")]
    a_step, of_each = ("in all", "whole traces") if answer.is_whole else ("in the first step", "first step of each")
    return [
        Card("step, under the profiler", arrow_text(*times[:2]), of_each),
        Card(f"{word}s", arrow_text(*kernels), a_step),
        Card(f"{processor} busy", arrow_text(*times[2:]), a_step),
        Card("launches saved", single_text(text(saved.value, "count")), saved.reason or f"host calls {a_step}"),
        Card(f"{word} time matched", arrow_text(*matched), "eager, compiled"),
    ]


def draw_ledger(answer: Fusion) -> None:
    """The table, most time saved first, groups' layers folded; its foot adds up to the step's change."""
    rows = sorted(answer.report.table("ledger").to_dict("records"), key=lambda row: row["time_change_ns"])
    draw_rows(_head(answer), [*(_line(row, answer) for row in rows), *_totals(answer.report)], _WIDTHS)


def _head(answer: Fusion) -> list[str | Cell]:
    cells = {
        **{label: Cell(label, is_words=True) for label in ("where", "match", "verdict")},
        "kernels": Cell(f"{answer.word}s", _CPU_COUNT if answer.is_cpu else _GPU_COUNT),
        "of limit": Cell("of limit", CPU_LIMIT if answer.is_cpu else ""),
    }
    return [cells.get(label, label) for label in _HEAD]


def _line(row: dict[Hashable, Any], answer: Fusion) -> Line:
    kernels = f"{row['kernels_a_count']:,} → {row['kernels_b_count']:,}"
    saved = _known(row["launches_saved_count"])
    launches = "launches not known" if saved is None else f"{text(saved, 'count')} launches saved"
    verdict = str(row["verdict"])
    return Line(
        (
            Cell(shortened(str(row["group"]), _GROUP_LIMIT), str(row["group"])),
            Cell(str(row["place"]), is_words=True),
            Cell(str(row["match"]), is_words=True),
            Cell(kernels, launches),
            _arrow(row["time_a_ns"], row["time_b_ns"], "ns"),
            _time(row["time_change_ns"]),
            _time(row["spread_ns"]),
            _time(row["gap_change_ns"]),
            Cell(_arrow(row["bytes_a"], row["bytes_b"], "bytes").text, _recorded(row["bytes_a"], row["bytes_b"])),
            Cell(_arrow(row["bandwidth_a_ratio"], row["bandwidth_b_ratio"], "ratio").text, _limit_note(row, answer)),
            Cell(_SHORT_VERDICTS.get(verdict, verdict), verdict, is_words=True),
        )
    )


def _totals(report: Report) -> list[Line]:
    """Groups, gaps and remainder, and the step's change that they add up to."""
    values = {metric.key: metric.value for metric in report.metrics}
    dashes = [Cell("") for _ in _HEAD]
    lines = []
    for label, kernel_key, gap_key in (
        ("all groups", "groups_change_ns", "gaps_change_ns"),
        ("remainder (overlap)", "remainder_ns", None),
        ("change of the step", "step_change_ns", None),
    ):
        cells = [Cell(label), *dashes[1:]]
        cells[_CHANGE] = _time(values[kernel_key])
        if gap_key:
            cells[_GAPS] = _time(values[gap_key])
        lines.append(Line(tuple(cells), is_total=True))
    return lines


def _known(value: object) -> Number | None:
    return value if isinstance(value, int | float) and value == value else None


def _text(value: object, unit: Unit) -> str:
    return text(_known(value), unit)


def _time(value: object) -> Cell:
    known = _known(value)
    return Cell(text(known, "ns"), exact(known, "ns"))


def _arrow(before: object, after: object, unit: Unit) -> Cell:
    """`336 → 168 MiB`, the unit once where it is the same; a single dash where both are unknown."""
    texts = [_text(before, unit), _text(after, unit)]
    exacts = " → ".join(exact(_known(value), unit) for value in (before, after))
    if texts[0] == texts[1] == UNKNOWN:
        return Cell(UNKNOWN)
    number, _, name = texts[0].partition(" ")
    return Cell(f"{number if texts[1].endswith(f' {name}') else texts[0]} → {texts[1]}", exacts)


def _limit_note(row: dict[Hashable, Any], answer: Fusion) -> str:
    """Why a share of the limit is missing, else the floor that it is of."""
    if answer.is_cpu:
        return CPU_LIMIT
    is_cached = answer.ceiling_bytes_per_s is not None and any(
        _known(row[f"bytes_{side}"]) is not None
        and row[f"time_{side}_ns"]
        and _known(row[f"bandwidth_{side}_ratio"]) is None
        for side in ("a", "b")
    )
    return CACHED_LIMIT if is_cached else f"fused floor {_text(row['floor_ns'], 'ns')}"


def _recorded(before: object, after: object) -> str:
    if _known(before) is None or _known(after) is None:
        return "A dash: not recorded. Record with record_shapes=True, or in the gallery."
    return _arrow(before, after, "bytes").hover


def pair_line(pair: Pair) -> str:
    """The step without the profiler, which side is taken as eager, and which device of several is shown."""
    swapped = " B is the eager side here." if pair.is_swapped else ""
    steps = [step_ns(side.facts) if side.facts else None for side in (pair.eager, pair.compiled)]
    devices = "".join(f" {line}" for line in pair.device_lines)
    measured = ""
    if None not in steps:
        measured = f"Without the profiler the step went from {text(steps[0], 'ns')} to {text(steps[1], 'ns')}. "
    return f"{measured}Eager: {pair.eager.title}. Compiled: {pair.compiled.title}.{swapped}{devices}"
