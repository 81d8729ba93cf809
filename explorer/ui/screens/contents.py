"""What is in this trace? What it holds, what it lacks, how far to trust it, and what another tool says of it."""

from __future__ import annotations

import dataclasses

import streamlit as st

from explorer.errors import ExplorerError, TraceError
from explorer.report import Report, ReportTable
from explorer.ui import pieces
from explorer.ui.answers import trust_of
from explorer.ui.contents_answers import contents_of, launches_of, sentences_of
from explorer.ui.opinion import draw_opinion
from explorer.ui.report_tables import draw_table
from explorer.ui.selection import LETTERS, chosen
from explorer.ui.sources import Source, all_sources
from explorer.ui.tensorboard import ZIP_NAME, tensorboard_zip
from explorer.ui.trust import draw_trust_card
from explorer.units import exact, text

_CARDS = {
    "event_count": "in the file",
    "extent_ns": "",
    "work_count": "kernels, copies, fills",
    "operator_count": "on the host",
    "call_count": "on the host",
    "annotation_count": "steps among them",
}


def show() -> None:
    """Draws the page for A, or for B where B was chosen on it."""
    selection = chosen(all_sources())
    sources = {letter: source for letter in LETTERS if (source := selection.side(letter)) is not None}
    if not sources:
        pieces.box("Nothing is chosen", ["Pick a run on the left, or add a trace in the Library."])
        return
    letter = _chosen_letter(sources)
    source = sources[letter]
    try:
        if source.problem:
            raise TraceError(source.problem)
        contents, sentences = contents_of(source), sentences_of(source)
    except ExplorerError as problem:
        pieces.box(f"{letter.upper()} cannot be shown: {source.title}", [str(problem)], loud=True)
        return
    pieces.finding(sentences[0], sentences[1])
    broken = trust_of(source).value("break_count")
    if broken:
        places = "one place" if broken == 1 else f"{text(broken, 'count')} places"
        kept = "What was whole was kept; the rest is missing from every count and time on all pages."
        pieces.box(f"The file is damaged: it breaks off at {places}", [kept], loud=True)
    _draw_ways_on(source)
    _draw_cards(contents)
    _draw_lacks_and_trust(source, contents)
    _draw_contents(source, contents)
    _draw_launches(launches_of(source))
    draw_opinion(source)


def _chosen_letter(sources: dict[str, Source]) -> str:
    letters = list(sources)
    shown = st.segmented_control(
        "Which run",
        letters,
        format_func=lambda letter: f"{letter.upper()} · {sources[letter].title}",
        default=letters[0],
        key="contents_letter",
        label_visibility="collapsed",
    )
    return shown or letters[0]


def _draw_ways_on(source: Source) -> None:
    with st.container(horizontal=True, gap="small"):
        for label, screen in (("See it in time", "timeline"), ("Where it waits", "gaps"), ("Compare", "compare")):
            if st.button(label, key=f"to_{screen}", icon=":material/arrow_forward:", icon_position="right"):
                st.switch_page(f"screens/{screen}.py")
        st.download_button(
            "TensorBoard folder (.zip)",
            data=lambda: tensorboard_zip([source]),
            file_name=ZIP_NAME,
            mime="application/zip",
            key="tensorboard_zip",
            icon=":material/download:",
            help="The trace written again for TensorBoard's profiler plugin; takes about 15 s a million events",
            on_click="ignore",
        )


def _draw_cards(contents: Report) -> None:
    shown = [(contents.metric(key), note) for key, note in _CARDS.items()]
    pieces.cards(
        pieces.Card(
            metric.label,
            pieces.single_text(text(metric.value, metric.unit)),
            hover=exact(metric.value, metric.unit),
            quiet=note,
        )
        for metric, note in shown
    )


def _draw_lacks_and_trust(source: Source, contents: Report) -> None:
    left, right = st.columns(2, gap="large")
    with left:
        pieces.part_title("What it cannot answer", "and the option that would have recorded it")
        lacks = contents.table("missing").to_dict("records")
        sentences = [f"{row['what']}: no {row['needs']} was recorded. Needs {row['option']}." for row in lacks]
        pieces.box("Not recorded" if lacks else "Nothing is missing", sentences or ["Every page can answer from it."])
        draw_table(_with_environment(_named(contents, "options"), source), (1, 1.6), row_limit=24)
    with right:
        draw_trust_card("How far it can be trusted", source)


def _draw_contents(source: Source, contents: Report) -> None:
    left, right = st.columns(2, gap="large")
    with left:
        draw_table(_named(contents, "categories"), (1.2, 2, 0.7), row_limit=24)
    with right:
        draw_table(_named(contents, "streams"), (1, 1, 1, 1.6, 1))
        draw_table(_named(contents, "processes"), (1, 2, 1))
        draw_table(_named(contents, "threads"), (0.8, 0.8, 2, 1.1, 0.8, 1.4))


def _draw_launches(report: Report) -> None:
    for child in report.children.values():
        streams, slowest = _named(child, "streams"), _named(child, "slowest")
        draw_table(streams, (1, 1, 1.6, 1.4, 2, 1.4, 1), note=child.window)
        with st.expander(slowest.label, key=f"slowest_{id(child)}"):
            draw_table(slowest, (3, 1.8, 1.8, 1.2, 1.5, 1, 1.2, 0.7))
    if not report.children:
        pieces.part_title("Launches")
        pieces.quiet_line(report.notes[0])


def _named(report: Report, key: str) -> ReportTable:
    return next(table for table in report.tables if table.key == key)


def _with_environment(options: ReportTable, source: Source) -> ReportTable:
    """The options that the file names, and what a recording says of the software that measured."""
    environment = source.facts.environment if source.facts else None
    if environment is None:
        return options
    frame = options.frame.copy()
    for name, value in dataclasses.asdict(environment).items():
        if name.endswith("_version") and value:
            frame.loc[len(frame)] = [name, value]
    return dataclasses.replace(options, frame=frame)


if __name__ == "__main__":
    show()
