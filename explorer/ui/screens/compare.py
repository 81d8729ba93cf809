"""Compare: what did B change about A's step?"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.analysis.compare import Comparability, comparison_sentence
from explorer.charts.step_bar import is_worth_magnifying, step_bar
from explorer.ui import pieces
from explorer.ui.chips import wrong_results
from explorer.ui.fairness import draw_differences, fairness_of
from explorer.ui.figures import built, draw_figure, draw_legend
from explorer.ui.kernel_table import draw_kernel_table
from explorer.ui.machine import fitted, this_machine
from explorer.ui.selection import chosen
from explorer.ui.settings_form import fill_form, load_settings
from explorer.ui.sides import Side, open_sides, shown_words, side_notes
from explorer.ui.sources import all_sources
from explorer.ui.step_cards import step_cards
from explorer.ui.timeline.component import draw_timeline
from explorer.ui.trust import draw_trust
from explorer.ui.verification import draw_verification

_WHOLE = "the whole trace, from its first work to its last"


def show() -> None:
    """Draws the page for the chosen A and B; with one side only, that side."""
    sources = all_sources()
    if not sources:
        pieces.finding(
            "Nothing to compare yet.", "Start two runs on the Run page, or add your own trace in the Library."
        )
        _draw_next_steps([])
        return
    sides = open_sides(chosen(sources))
    if not sides:
        return
    _draw_finding(sides)
    _draw_correctness(sides)
    pieces.cards(step_cards(sides))
    _draw_bars(sides)
    pieces.part_title(
        shown_words(sides, "One step, from its start", "From the start"),
        f"{shown_words(sides, 'the first profiled step', 'the whole trace')}; drag to zoom, double-click to go back",
    )
    draw_timeline({side.letter.lower(): side.source for side in sides}, is_compact=True)
    pieces.part_title(
        "Kernels" if not sides[0].is_cpu else "Operators",
        f"{shown_words(sides, 'a step, on average', _WHOLE)}; a family opens to its names",
    )
    draw_kernel_table(sides, pieces.current_theme())
    for note in side_notes(sides, lambda side: (*side.kernels.notes, *side.step.notes)):
        pieces.quiet_line(note)
    draw_verification({side.letter: side.source for side in sides})
    draw_trust(sides)
    _draw_next_steps(sides)


def _draw_finding(sides: Sequence[Side]) -> None:
    if len(sides) == 1:
        pieces.finding(f"{sides[0].letter}: {sides[0].source.title}", sides[0].idle_sentence())
        return
    a, b = sides
    headline, _, rest = comparison_sentence(a.step, b.step).partition(". ")
    fairness = fairness_of(a.source, b.source)
    verdict = "" if _is_boxed(fairness) else fairness.verdict
    pieces.finding(f"{headline.removesuffix('.')}.", f"{rest} {verdict}".strip())
    if _is_boxed(fairness):
        draw_differences(fairness)


def _is_boxed(fairness: Comparability) -> bool:
    return len(fairness.differences) > 1 or not fairness.is_fair


def _draw_correctness(sides: Sequence[Side]) -> None:
    for side in sides:
        checked = side.source.facts.correctness if side.source.facts else None
        if checked is not None and not checked.passed:
            pieces.box(f"{side.letter} computes wrong results", [wrong_results(checked)], loud=True)


def _draw_bars(sides: Sequence[Side]) -> None:
    theme = pieces.current_theme()
    bars = [side.step_parts() for side in sides]
    title, switch = st.columns((3, 1), vertical_alignment="bottom")
    with title:
        pieces.part_title(
            shown_words(sides, "Where the step goes", "Where the time goes"),
            f"{shown_words(sides, 'the profiled step', _WHOLE)}, busy by kernel family, idle by what it waited for",
        )
    magnify = True
    if any(is_worth_magnifying(bar, bars) for bar in bars):
        with switch, st.container(horizontal_alignment="right"):
            magnify = st.toggle("magnify the shorter", value=True, key="magnify")
    draw_figure(
        built(step_bar, bars, theme, magnify=magnify),
        key="step_bar",
        alt="; ".join(f"{bar.name}: {bar.title}" for bar in bars),
    )
    floors = any(bar.floor_ns for bar in bars)
    mark = f"limit: {_bound(sides)}" if floors else ""
    draw_legend([bar.parts() for bar in bars], theme, mark)


def _bound(sides: Sequence[Side]) -> str:
    """What the drawn limits are made of."""
    bandwidth = "weights and KV cache at this device's measured bandwidth"
    if any(side.source.settings is not None and side.source.settings.phase == "prefill" for side in sides):
        return f"{bandwidth}; in prefill its arithmetic at the measured matrix rate, where that takes longer"
    return bandwidth


def _draw_next_steps(sides: Sequence[Side]) -> None:
    with st.container(horizontal=True, gap="small"):
        if sides and st.button("Where the gaps come from", icon=":material/arrow_forward:", icon_position="right"):
            st.switch_page("screens/gaps.py")
        if sides and st.button("Every kernel in time", icon=":material/arrow_forward:", icon_position="right"):
            st.switch_page("screens/timeline.py")
        settings = {side.letter.lower(): side.source.settings for side in sides if side.source.settings is not None}
        label = "Run these settings on this machine" if settings else "Start two runs"
        if st.button(label, key="run_these", icon=":material/arrow_forward:", icon_position="right"):
            fill_form(this_machine())
            for letter, values in settings.items():
                load_settings(letter, fitted(values, this_machine()))
            st.switch_page("screens/run.py")
        if st.button("Choose other runs", key="to_library", icon=":material/arrow_forward:", icon_position="right"):
            st.switch_page("screens/library.py")


if __name__ == "__main__":
    show()
