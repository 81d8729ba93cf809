"""Gaps: where does the GPU wait, and who is to blame?"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.charts.gap_parts import gap_parts
from explorer.charts.gaps import gaps_by_size
from explorer.ui import pieces
from explorer.ui.fairness import draw_unfair, fairness_of
from explorer.ui.figures import built, draw_figure, draw_legend
from explorer.ui.gap_cards import gap_cards
from explorer.ui.gap_tables import draw_blame, draw_longest
from explorer.ui.selection import chosen
from explorer.ui.sides import Side, open_sides, shown_words, side_notes
from explorer.ui.sources import all_sources
from explorer.ui.verification import draw_verification


def show() -> None:
    """Draws the page for the chosen A and B."""
    sides = open_sides(chosen(all_sources()))
    if not sides:
        return
    theme = pieces.current_theme()
    first, *others = sorted(sides, key=lambda side: -side.per_step("idle_ns"))
    headline = _in_side(first)
    pieces.finding(headline, " ".join(_in_side(side) for side in others))
    if len(sides) == 2:
        draw_unfair(fairness_of(sides[0].source, sides[1].source))
    pieces.cards(gap_cards(sides))
    pieces.part_title("What the idle time was", shown_words(sides, "a step, on average", "over the whole trace"))
    figure = built(gap_parts, [side.idle_parts() for side in sides], theme)
    draw_figure(figure, key="gap_parts", alt=headline)
    draw_legend([side.idle_ns for side in sides], theme)
    pieces.part_title(
        "Gaps by size",
        f"idle time over {shown_words(sides, 'all steps', 'the whole trace')}, each side on its own scale, by gap "
        "length on a logarithmic one",
    )
    by_size = built(gaps_by_size, [side.gaps_of_side() for side in sides], theme)
    draw_figure(by_size, key="gaps_by_size", alt="Idle time by gap length.")
    _draw_tables(sides)
    for note in side_notes(sides, lambda side: side.gaps.notes):
        pieces.quiet_line(note)
    draw_verification({side.letter: side.source for side in sides})
    _draw_next_steps()


def _draw_next_steps() -> None:
    with st.container(horizontal=True, gap="small"):
        for label, screen in (("See the gaps in time", "timeline"), ("Try other settings", "run")):
            if st.button(label, key=f"to_{screen}", icon=":material/arrow_forward:", icon_position="right"):
                st.switch_page(f"screens/{screen}.py")


def _in_side(side: Side) -> str:
    sentence = side.idle_sentence()
    return f"In {side.letter}, {sentence[0].lower()}{sentence[1:]}"


def _draw_tables(sides: Sequence[Side]) -> None:
    tabs = st.tabs([f"{side.letter} · {side.source.title}" for side in sides])
    for tab, side in zip(tabs, sides, strict=True):
        with tab:
            draw_blame(side)
            draw_longest(side)


if __name__ == "__main__":
    show()
