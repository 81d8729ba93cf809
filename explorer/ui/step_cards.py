"""How are the cards of two steps said? Each number A → B with its change in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from explorer.analysis.compare import compare_reports
from explorer.report import Delta
from explorer.ui.pieces import Card, arrow_text, single_text
from explorer.ui.sides import Side, shown_words
from explorer.units import UNKNOWN, exact, significant, text

_MORE_OR_LESS: Mapping[str, tuple[str, str]] = {
    "step_ns": ("shorter", "longer"),
    "profiled_step_ns": ("shorter", "longer"),
    "gpu_busy_ratio": ("smaller", "larger"),
    "kernels_per_step": ("fewer", "more"),
    "host_launches_per_step": ("fewer", "more"),
    "peak_memory_bytes": ("less", "more"),
    "floor_ratio": ("further from it", "closer to it"),
}
_SAME_SHARE = 0.005
_SAME_FLOOR = 1.1
"""Times by which two calibrations of one device may differ without a word."""
_WHOLE_TIMES = 1.95


def step_cards(sides: Sequence[Side]) -> list[Card]:
    """The cards of one or two sides, the unprofiled step first and the profiled one beside it."""
    deltas = {delta.key: delta for delta in _deltas(sides)}
    single = len(sides) == 1
    step, profiled = deltas["step_ns"], deltas["profiled_step_ns"]
    if step.a is None and step.b is None:
        first = card_of(
            shown_words(sides, "step, profiled", "whole trace, profiled"),
            profiled,
            single,
            quiet=shown_words(sides, "not measured without the profiler", "from first work to last"),
        )
    else:
        first = card_of("step", step, single, quiet=f"profiled {_values(profiled, single)}")
    busy = deltas["gpu_busy_ns"]
    processor = "CPU" if all(side.is_cpu for side in sides) else "GPU"
    kernels = "operators" if all(side.is_cpu for side in sides) else "kernels"
    whole, a_step = shown_words(sides, "step", "trace"), shown_words(sides, " a step", "")
    return [
        first,
        card_of(
            f"{processor} busy",
            deltas["gpu_busy_ratio"],
            single,
            note=_values(busy, single),
            quiet=f"of the profiled {whole}",
        ),
        card_of(f"{kernels}{a_step}", deltas["kernels_per_step"], single),
        card_of(f"host launches{a_step}", deltas["host_launches_per_step"], single, quiet=_graph_words(sides)),
        card_of("peak memory", deltas["peak_memory_bytes"], single),
        card_of("of the limit", deltas["floor_ratio"], single, quiet=_limit_words(sides)),
    ]


def _deltas(sides: Sequence[Side]) -> tuple[Delta, ...]:
    a, b = sides[0].step, sides[-1].step
    return compare_reports(a, b, a.value("step_spread_ns"), b.value("step_spread_ns"))


def card_of(label: str, delta: Delta, single: bool, *, note: str | None = None, quiet: str = "") -> Card:
    """One card; without a `note` the change in words stands there."""
    if delta.a is None and delta.b is None:
        return Card(label, single_text(UNKNOWN), "", delta.reason, _reason(delta))
    a, b = text(delta.a, delta.unit), text(delta.b, delta.unit)
    value = single_text(a) if single else arrow_text(a, b)
    hover = delta.reason or (
        exact(delta.a, delta.unit) if single else f"A {exact(delta.a, delta.unit)}\nB {exact(delta.b, delta.unit)}"
    )
    change = note if note is not None else ("" if single else change_words(delta))
    return Card(label, value, change, hover, quiet)


def _reason(delta: Delta) -> str:
    """Why both sides are unknown, in a few words: the rest is on hover."""
    reasons = dict.fromkeys(part.strip() for part in delta.reason.replace("B: ", "A: ").split("A: ") if part.strip())
    return " ".join(reasons).partition(";")[0]


def change_words(delta: Delta) -> str:
    """`17.7 × shorter`, `12 % more`, `no change measured`; a dash's reason where a side is unknown."""
    if delta.a is None or delta.b is None:
        return "unknown"
    if delta.exceeds_spread is False:
        return "no change measured"
    if delta.a == delta.b or (delta.a and abs(delta.b / delta.a - 1) < _SAME_SHARE):
        return "the same"
    less, more = _MORE_OR_LESS.get(delta.key, ("less", "more"))
    word = less if delta.b < delta.a else more
    low, high = sorted((delta.a, delta.b))
    if low <= 0:
        return word
    if high / low >= _WHOLE_TIMES:
        return f"{significant(high / low)} × {word}"
    return f"{text(abs(delta.b / delta.a - 1), 'ratio')} {word}"


def _values(delta: Delta, single: bool) -> str:
    a, b = text(delta.a, delta.unit), text(delta.b, delta.unit)
    return a if single else f"{a} → {b}"


def _graph_words(sides: Sequence[Side]) -> str:
    with_graphs = [side for side in sides if side.kernels.value("graph_launch_count")]
    if not with_graphs:
        return ""
    return "by graph launch" if len(with_graphs) == len(sides) else f"by graph launch in {with_graphs[0].letter}"


def _limit_words(sides: Sequence[Side]) -> str:
    floors = [side.step.value("floor_ns") for side in sides]
    known = [floor for floor in floors if floor is not None]
    words = f"limit {' / '.join(dict.fromkeys(text(floor, 'ns') for floor in known))}" if known else ""
    if len(known) == 2 and max(known) > _SAME_FLOOR * min(known) and _same_work(sides):
        return f"{words}: calibrations differ"
    return words


def _same_work(sides: Sequence[Side]) -> bool:
    """Whether both sides moved the same bytes on one kind of device: their limits should be the same then."""
    moved = [
        (
            facts.environment.device_name,
            facts.weight_read_bytes_per_step,
            facts.kv_read_bytes_per_step,
            facts.kv_written_bytes_per_step,
        )
        for side in sides
        if (facts := side.source.facts) is not None and facts.environment is not None
    ]
    return len(moved) == len(sides) and len(set(moved)) == 1
