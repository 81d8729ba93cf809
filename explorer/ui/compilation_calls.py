"""What did each call of a sequence do, and why? The strip, the clicked call's guard in words, and all guards."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.analysis.compilation import entries_of, failed_guards, limit_call, variant_label, why_compiled
from explorer.charts.compilation import OUTCOME_COLOURS, DrawnCall, call_strip
from explorer.shapes_results import Call, Guards, VariantResult
from explorer.ui import pieces
from explorer.ui.compilation_answers import OpenShapes
from explorer.ui.figures import STILL
from explorer.ui.rows import Cell, Line, draw_rows
from explorer.units import shortened, text

_GUARD_LENGTH = 160
_GROUP_LABELS = {
    "shapes": "open sizes and marks",
    "tensors": "tensors: dtype, device, fixed sizes",
    "python_state": "Python state",
    "global_state": "global state",
}


def draw_calls(experiment: OpenShapes) -> VariantResult | None:
    """The strip of the chosen way of compiling, and what its clicked call says; None when nothing was called."""
    named = {variant_label(result): result for result in experiment.results.variants}
    if not named:
        pieces.box("No way of compiling was tried", ["The experiment stopped before; its eager times are kept."])
        return None
    pieces.part_title("Every call", "time on a logarithmic axis; click a call for its reason")
    label = st.selectbox("Compiled with", list(named), key="compilation_variant", width=420)
    result = named[label or next(iter(named))]
    if result.missing:
        pieces.box("This could not be compiled", [result.missing.message, result.missing.sentence], loud=True)
    if result.calls:
        draw_strip(
            result,
            [str(call.size) for call in result.calls],
            "size",
            "size of each call, in order",
            key="compilation_strip",
        )
    return result


def draw_strip(result: VariantResult, names: Sequence[str], noun: str, title: str, *, key: str) -> None:
    """Every call as a mark over its name, such as its size (`noun`), and what the clicked one says."""
    drawn = [
        DrawnCall(call.index, name, call.outcome, call.time_ns, _words(result, call))
        for call, name in zip(result.calls, names, strict=True)
    ]
    event = st.plotly_chart(
        call_strip(drawn, pieces.current_theme(), title),
        theme=None,
        key=key,
        config=STILL,
        on_select="rerun",
        selection_mode="points",
        alt="Each call's time, and whether it compiled.",
    )
    meanings = {
        "reused": "a compiled graph was there",
        "compiled": "a graph was built in this call",
        "eager": "no graph took part: the limit was reached",
    }
    st.html(pieces.legend([(name, f"background:{colour}", meanings[name]) for name, colour in OUTCOME_COLOURS.items()]))
    picked = _picked(result, event)
    _draw_call(result, picked, f"{noun} {names[picked.index]}")


def draw_guards(result: VariantResult) -> None:
    """Which guards ever failed, then every compiled entry, opening to its guards by group."""
    guarded = [entry for entry in result.entries if entry.guards]
    if not guarded:
        pieces.quiet_line("No guards were recorded: nothing was compiled here.")
        return
    for guard, count in failed_guards(result).items():
        pieces.quiet_line(f"Failed {count}×: {guard}")
    lines = [
        Line(
            (
                Cell(entry.compile_id),
                Cell(f"{entry.frame}, {entry.file}:{entry.line}", is_words=True),
                Cell(text(sum(group.count for group in entry.guards), "count")),
                Cell(text(entry.guard_latency_ns, "ns"), "what checking them took when it was compiled"),
            ),
            below=tuple(_guard_line(group) for group in entry.guards),
        )
        for entry in guarded
    ]
    draw_rows(("entry", Cell("frame", is_words=True), "guards", "checked in"), lines, (2.4, 6, 1, 1))


def _guard_line(group: Guards) -> Line:
    first = shortened(group.texts[0], _GUARD_LENGTH) if group.texts else ""
    return Line(
        (
            Cell(_GROUP_LABELS[group.group]),
            Cell(first, "\n".join(group.texts), is_words=True),
            Cell(text(group.count, "count")),
            Cell(""),
        )
    )


def _draw_call(result: VariantResult, call: Call, name: str) -> None:
    why = why_compiled(result, call)
    title = f"Call {call.index + 1}, {name}: {call.outcome}, {text(call.time_ns, 'ns')}"
    sentences = [why.cause, why.fix, f"The guard: {why.guard}"] if why else [_plain(result, call)]
    opened = {name: dims for entry in entries_of(result, call) for name, dims in entry.input_sizes.items()}
    if opened:
        shown = ", ".join(f"{name} [{', '.join(dims)}]" for name, dims in list(opened.items())[:4])
        sentences.append(f"Sizes of the graph's inputs, letters being open: {shown}.")
    pieces.box(title, sentences, loud=call.outcome == "eager")


def _plain(result: VariantResult, call: Call) -> str:
    if call.outcome == "compiled":
        return "The first compilation of this function."
    if call.outcome == "reused":
        return f"The graph {', '.join(call.ran_ids)} was there and its guards held."
    failure = next((entry.failure for entry in entries_of(result, call) if entry.failure), "")
    if failure and limit_call(result) is None:
        return f"Nothing was compiled: {failure}"
    stopped = limit_call(result)
    since = f" The limit was reached at call {stopped.index + 1}." if stopped else ""
    return f"No compiled graph fits and none is built any more: it ran eagerly.{since}"


def _words(result: VariantResult, call: Call) -> str:
    why = why_compiled(result, call)
    return f"{call.outcome}. {why.cause}" if why else call.outcome


def _picked(result: VariantResult, event: object) -> Call:
    """The clicked call; at first the last one that has a reason, else the first."""
    points = event["selection"]["points"] if isinstance(event, dict) else []
    if points:
        index = int(points[0]["customdata"][0])
        if index < len(result.calls):
            return result.calls[index]
    reasons = [call for call in result.calls if why_compiled(result, call)]
    return reasons[-1] if reasons else result.calls[0]
