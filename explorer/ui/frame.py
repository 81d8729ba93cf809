"""What stands left of every page: the two pickers, swap, the link to copy, and what is running."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from explorer.ui.chips import chip_line
from explorer.ui.copying import copy_link
from explorer.ui.jobs import launcher
from explorer.ui.selection import LETTERS, choose, chosen, swap
from explorer.ui.sources import KIND_LABELS, Source

ICON = str(Path(__file__).resolve().parents[2] / "assets" / "icon.svg")
_ROLES = {"a": "first run", "b": "second run"}


def draw_sidebar(sources: Sequence[Source]) -> None:
    """Draws the pickers; a change of one is what `chosen` returns from then on."""
    st.logo(ICON, size="large")
    with st.sidebar:
        for letter in LETTERS:
            _draw_picker(letter, sources)
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.button("Swap", key="swap", icon=":material/swap_horiz:", type="tertiary", on_click=swap)
            copy_link("Copy link")
        st.fragment(_draw_queue, run_every=2.0 if launcher().active() else None)()


def _draw_picker(letter: str, sources: Sequence[Source]) -> None:
    source = chosen(sources).side(letter)
    options = [listed for listed in sources if not listed.problem]
    if source is not None and source.source_id not in {listed.source_id for listed in options}:
        options.append(source)
    named = {listed.source_id: listed for listed in options}
    st.session_state[f"picker_{letter}"] = source.source_id if source else None
    st.html(f'<span class="letter">{letter.upper()}</span><span class="quiet">{_ROLES[letter]}</span>')
    st.selectbox(
        f"Run {letter.upper()}",
        list(named),
        index=None if source is None else 0,  # with an index nobody can empty it, by Escape for instance
        format_func=lambda source_id: _option(named[source_id]),
        key=f"picker_{letter}",
        on_change=_picked,
        args=(letter,),
        placeholder="Choose a run",
        label_visibility="collapsed",
    )
    if source is not None:
        st.html(chip_line(source))


def _picked(letter: str) -> None:
    choose(letter, st.session_state[f"picker_{letter}"])


def _option(source: Source) -> str:
    """The title with what tells runs apart first: a picker is narrow, and model and batch are mostly the same."""
    words = source.title.split(" · ")
    title = " · ".join([*words[2:], *words[:2]]) if source.settings else source.title
    return title if source.kind == "sample" else f"{title} · {KIND_LABELS[source.kind]}"


def _draw_queue() -> None:
    active = launcher().active()
    if not active:
        return
    running = sum(job.state == "running" for job in active)
    waiting = len(active) - running
    words = [f"{running} running"] if running else []
    words += [f"{waiting} waiting"] if waiting else []
    runs = ",".join(job.run_id for job in active)
    st.page_link(
        "screens/run.py", label=" · ".join(words), icon=":material/progress_activity:", query_params={"runs": runs}
    )
