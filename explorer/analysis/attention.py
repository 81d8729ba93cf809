"""Which attention backend is chosen, why do the others refuse, and what does each cost?

Answers from a probe's results. Nothing here knows which backend takes what: the device was asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from explorer.analysis.attention_choice import SDPA_BACKENDS, is_slower_choice, largest_gains, possible_gain
from explorer.analysis.attention_tables import calls_table, cells_table, graphs_table, ragged_table
from explorer.attention_call import AttentionCall, difference
from explorer.attention_names import BACKEND_LABELS
from explorer.facts import Facts
from explorer.probe_results import CallResult, Cell, Change, ProbeResults
from explorer.report import Metric, Report
from explorer.units import text

QUESTION = "Which attention backend runs, why do the others not, and what does each cost?"


def attention_report(results: ProbeResults, facts: Facts) -> Report:
    """Choices, cells, ragged rows and graphs of a probe; unknown is NA with the reason in the cell."""
    slower = [result for result in results.calls if is_slower_choice(result)]
    outcomes = Counter(cell.outcome for result in results.calls for cell in result.cells)
    chosen = Counter(result.chosen for result in results.calls)
    gains = [gain for result in slower if (gain := possible_gain(result)) is not None]
    metrics = (
        Metric("call_count", "settings tried", len(results.calls), "count"),
        *(
            Metric(f"chosen_{backend}_count", f"{BACKEND_LABELS[backend]} chosen", chosen[backend], "count")
            for backend in SDPA_BACKENDS
        ),
        Metric("slower_choice_count", "a slower one was chosen", len(slower), "count", "lower"),
        Metric(
            "largest_gain",
            "fastest against chosen, at most",
            max(gains, default=None),
            "times",
            None,
            "" if gains else "Nowhere was a slower one chosen.",
        ),
        Metric("refused_count", "refusals", outcomes["refused"], "count"),
        Metric("failed_count", "failures", outcomes["failed"], "count", "lower"),
    )
    tables = (calls_table(results), cells_table(results, facts), ragged_table(results), graphs_table(results))
    window = facts.environment.device_name if facts.environment else "an unknown device"
    return Report(QUESTION, window, metrics, tables, tuple(_notes(results, facts)))


def headline(results: ProbeResults) -> str:
    """`cuDNN is chosen in 41 of 81 settings; in 9 settings a faster backend could have run.`"""
    if not results.calls:
        return "The probe ended before its first setting."
    chosen = Counter(result.chosen for result in results.calls if result.chosen)
    if not chosen:
        return f"PyTorch made no choice in any of {len(results.calls)} settings."
    backend, count = chosen.most_common(1)[0]
    name = BACKEND_LABELS[backend]
    name = name if name == "cuDNN" else name.capitalize()
    sentence = f"{name} is chosen in {count} of {len(results.calls)} settings; "
    slower = sum(is_slower_choice(result) for result in results.calls)
    if not slower:
        return sentence + "the choice was always the fastest that could run."
    settings = "one setting" if slower == 1 else f"{slower} settings"
    return sentence + f"in {settings} a faster backend could have run."


def turned(result: CallResult, name: str, value: Any) -> Change | None:
    """The device's answer with one choice turned; None when it was not asked."""
    return next((change for change in result.changes if (change.name, change.value) == (name, str(value))), None)


def flips(result: CallResult, change: Change) -> list[tuple[str, bool]]:
    """Backends whose acceptance a change turns: `[("flash", True)]` for one that becomes possible."""
    before = {cell.backend for cell in result.cells if cell.outcome in ("ran", "failed")}
    asked = {cell.backend for cell in result.cells if cell.backend in SDPA_BACKENDS}
    return [
        (backend, backend in change.accepted)
        for backend in SDPA_BACKENDS
        if backend in asked and (backend in before) != (backend in change.accepted)
    ]


def nearest_accepted(results: ProbeResults, call: AttentionCall, backend: str) -> tuple[CallResult, int] | None:
    """The call of the probe that this backend ran and that differs least, with the number of differences."""
    ran = [
        (len(difference(call, result.call)), index)
        for index, result in enumerate(results.calls)
        if (cell := result.cell(backend)) is not None and cell.outcome == "ran"
    ]
    if not ran:
        return None
    count, index = min(ran)
    return results.calls[index], count


def ragged_sentence(results: ProbeResults) -> str:
    """Which way of calling rows of unequal length was fastest in each phase, with what it computes or copies for it."""
    sentences = []
    for phase in dict.fromkeys(entry.phase for entry in results.ragged):
        timed = [entry for entry in results.ragged if entry.phase == phase and entry.time_ns is not None]
        if len(timed) < 2:
            continue
        first, *others = sorted(timed, key=lambda entry: entry.time_ns or 0.0)
        redundant = text(1 - first.useful_pair_count / first.computed_pair_count, "ratio")
        copied = f", copies {text(first.copied_bytes, 'bytes')}" if first.copied_bytes else ""
        rest = ", ".join(f"{entry.way.replace('_', ' ')} {text(entry.time_ns, 'ns')}" for entry in others)
        sentences.append(
            f"{phase.capitalize()}: {first.way.replace('_', ' ')} takes {text(first.time_ns, 'ns')} ({redundant} of "
            f"its pairs are not needed{copied}), {rest}."
        )
    return " ".join(sentences)


def first_refused(shown: Iterable[CallResult], backend: str, build_backends: Sequence[str]) -> CallResult | None:
    """The first call that a backend of this build refuses; None when it refuses none or is not in the build."""
    if backend not in build_backends:
        return None
    return next((one for one in shown if (cell := one.cell(backend)) and cell.outcome == "refused"), None)


def enabling_sentence(cell: Cell) -> str:
    """What would make a refusing backend possible: `no mask; or: a 4-dimensional mask`."""
    if not cell.enabling:
        return "no set of up to three simple changes makes it possible"
    return "; or: ".join(" and ".join(changes) for changes in cell.enabling)


def _notes(results: ProbeResults, facts: Facts) -> list[str]:
    notes = list(facts.notes)
    if results.priority_order:
        order = ", ".join(BACKEND_LABELS.get(name, name) for name in results.priority_order)
        note = f"PyTorch tries {order}, read after a warm-up call"
        if results.priority_before != results.priority_order:
            before = ", ".join(BACKEND_LABELS.get(name, name) for name in results.priority_before)
            note += f"; before the first call it read {before}"
        notes.append(note + ".")
    if "cudnn" not in results.build_backends:
        notes.append(
            "This is the CPU's answer, and CPU and CUDA differ: other backends, other conditions, another choice. "
            "What this build does not have is marked as not given by it."
        )
    else:
        notes.append(
            "Each timed call starts from a cold second-level cache, the host far enough ahead that only the device's "
            "work lies between the events. Bytes count each tensor once, FLOPs the pairs that the mask lets through."
        )
    return notes


def cell_words(cell: Cell) -> str:
    """A cell's answer in full: its time, or why it did not run."""
    return text(cell.time_ns, "ns") if cell.outcome == "ran" else cell.reason


def short_words(call: AttentionCall, cell: Cell) -> str:
    """The same in the room of a matrix cell: what of this call is in the way. `dtype float32`, `grouped heads`."""
    if cell.outcome == "ran":
        return text(cell.time_ns, "ns")
    if cell.outcome == "not_tried":
        return "not tried"
    for beginning, short in _SHORT_REASONS:
        if cell.reason.startswith(beginning):
            return short.format(call=call)
    return "fails" if cell.outcome == "failed" else cell.reason


_SHORT_REASONS = (
    ("takes only", "dtype {call.dtype}"),
    ("takes no mask", "mask given"),
    ("takes no grouped heads", "grouped heads"),
    ("takes no is_causal", "lengths differ"),
    ("takes no dropout", "dropout"),
    ("flex attention has no dropout", "dropout"),
    ("takes masks of", "{call.mask_shape} mask"),
    ("head sizes must be equal", "head {call.head_size}, values {call.value_head_size}"),
    ("keys and values must have", "head {call.head_size}, values {call.value_head_size}"),
    ("head size at most", "head size {call.head_size}"),
    ("head size must be", "head size {call.head_size}"),
    ("the last dimension", "strided"),
    ("a mask and is_causal", "mask and is_causal"),
    ("ran out of memory", "out of memory"),
    ("not given by this build", "not in this build"),
)


def highlights(results: ProbeResults, count: int) -> list[CallResult]:
    """Few calls that show most, in the probe's order: the largest gains, then one of each pattern of answers."""
    picked = {result.call.label for result in largest_gains(results, max(1, count // 4))}
    seen: set[tuple[str | None, tuple[str, ...]]] = set()
    for result in results.calls:
        pattern = (result.chosen, tuple(cell.reason for cell in result.cells if cell.backend in SDPA_BACKENDS))
        if len(picked) < count and pattern not in seen:
            seen.add(pattern)
            picked.add(result.call.label)
    return [result for result in results.calls if result.call.label in picked]
