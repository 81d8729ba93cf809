"""What happens between handing a trace in and seeing its report? Reading, with its progress, and the way on.

handed in → kept → being read (bytes, cancel) → its report; two → Compare; ranks of one job → a question first
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from explorer.errors import ExplorerError
from explorer.ingest import open_trace
from explorer.ingest.preview import rough_event_count
from explorer.trace import Trace
from explorer.ui import pieces
from explorer.ui.background import Task
from explorer.ui.selection import LETTERS, choose
from explorer.ui.sources import Source, find_source, list_upload
from explorer.ui.uploads import keep_joined, ranks_among
from explorer.units import rough_count, text

_EVERY_S = 0.5
_SHORT_S = 0.4
"""A small trace is read within it: then no progress flashes up."""


@dataclass(frozen=True)
class Opening:
    """One handed-in trace on its way: about how many events it holds, and the reading of it."""

    source: Source
    event_count: int
    task: Task[Trace]


@dataclass(frozen=True)
class Arrival:
    """What was handed in together: its traces, and their ranks where they are ranks of one job."""

    openings: tuple[Opening, ...]
    ranks: tuple[int, ...] = ()

    @property
    def is_active(self) -> bool:
        return any(opening.task.state == "running" for opening in self.openings)

    @property
    def read(self) -> list[Opening]:
        return [opening for opening in self.openings if opening.task.state == "finished"]


def begin(sources: Sequence[Source]) -> list[str]:
    """Begins to read these, each once; returns why those that hold no trace are left out."""
    problems, openings = [], []
    for source in {source.source_id: source for source in sources}.values():
        try:
            openings.append(Opening(source, rough_event_count(source.trace_path), _reading(source)))
        except ExplorerError as problem:
            problems.append(_said_of(source, problem))
    if openings:
        ranks = ranks_among([opening.source for opening in openings])
        st.session_state["arrival"] = Arrival(tuple(openings), ranks)
    return problems


def draw_arrival() -> None:
    """Draws the progress of what is being read; once that is done, goes where it can be seen."""
    if problems := st.session_state.get("arrival_problems"):
        pieces.box("Not everything could be opened", problems, loud=True)
    arrival: Arrival | None = st.session_state.get("arrival")
    if arrival is None:
        return
    for opening in arrival.openings:
        opening.task.wait(_SHORT_S)
    if arrival.is_active:
        st.fragment(_draw_progress, run_every=_EVERY_S)(arrival)
    elif arrival.ranks and len(arrival.read) == len(arrival.openings):
        _ask_about_ranks(arrival)
    else:
        _go_on(arrival)


def _reading(source: Source) -> Task[Trace]:
    """Fills the cache of parsed traces, from which every page opens it in a moment."""
    return Task(lambda task: open_trace(source.trace_path, task.hear, is_polite=True))


def _draw_progress(arrival: Arrival) -> None:
    if not arrival.is_active:
        st.rerun()
    for opening in arrival.openings:
        source, task = opening.source, opening.task
        size = text(source.trace_path.stat().st_size, "bytes")
        about = f"{size}, about {rough_count(opening.event_count)} events"
        with st.container(border=True, key=f"opening_{source.folder.name}"):
            st.html(f'<div class="source-title">{escape(source.title)}</div><div class="source-facts">{about}</div>')
            if task.state == "running":
                bar, button = st.columns((6, 1), vertical_alignment="center")
                bar.progress(*_progress(task))
                button.button(
                    "Cancel", key=f"cancel_{source.folder.name}", on_click=task.cancel, type="tertiary", width="stretch"
                )
            else:
                pieces.quiet_line({"finished": "read", "cancelled": "cancelled", "failed": "not read"}[task.state])


def _progress(task: Task[Trace]) -> tuple[float, str]:
    if not task.total_bytes:
        return 0.0, "looking whether it was read before …"
    if task.done_bytes >= task.total_bytes:
        return 1.0, "all read; linking launches, operators and GPU work …"
    done, total = text(task.done_bytes, "bytes"), text(task.total_bytes, "bytes")
    return task.done_bytes / task.total_bytes, f"{done} of {total} read"


def _ask_about_ranks(arrival: Arrival) -> None:
    *others, last = map(str, sorted(arrival.ranks))
    pieces.box(
        f"These are ranks {', '.join(others)} and {last} of one job",
        ["As one trace their devices stand side by side on one clock; as A and B two of them are compared."],
    )
    with st.container(horizontal=True, gap="small"):
        if st.button(f"Open {len(arrival.ranks)} ranks as one trace", key="open_joined", type="primary"):
            _open_joined(arrival)
        if st.button("Open as A and B", key="open_pair"):
            _go_on(arrival)


def _open_joined(arrival: Arrival) -> None:
    in_order = [opening.source for _, opening in sorted(zip(arrival.ranks, arrival.openings, strict=True), key=_rank)]
    with st.spinner("Putting the ranks into one file"):
        joined = find_source(keep_joined(in_order), [])
    if joined is not None:
        event_count = sum(opening.event_count for opening in arrival.openings)
        st.session_state["arrival"] = Arrival((Opening(joined, event_count, _reading(joined)),))
    st.rerun()


def _rank(numbered: tuple[int, Opening]) -> int:
    return numbered[0]


def _go_on(arrival: Arrival) -> None:
    """To the report of one trace, to Compare with two; stays, and says why, where one could not be read."""
    for letter, opening in zip(LETTERS, arrival.read, strict=False):
        choose(letter, opening.source.source_id)
    for opening in arrival.read:
        list_upload(opening.source.source_id)
    del st.session_state["arrival"]
    refused: list[str] = st.session_state.get("arrival_problems", [])
    failed = [_why(opening) for opening in arrival.openings if opening.task.state == "failed"]
    st.session_state["arrival_problems"] = problems = [*refused, *failed]
    if not problems and len(arrival.read) == len(arrival.openings):
        st.switch_page("screens/contents.py" if len(arrival.read) == 1 else "screens/compare.py")
    st.rerun()


def _why(opening: Opening) -> str:
    try:
        opening.task.result()
    except ExplorerError as problem:
        return _said_of(opening.source, problem)
    return ""


def _said_of(source: Source, problem: ExplorerError) -> str:
    """The problem under the name that the person gave; on the disk an upload has one of ours."""
    said = str(problem)
    ours = source.trace_path.name
    return said.replace(ours, source.title) if ours in said else f"{source.title}: {said}"
