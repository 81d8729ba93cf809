"""Library: which runs are there, and which two should be compared?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from explorer.errors import ExplorerError
from explorer.ui import pieces
from explorer.ui.archive import LIMIT_MEGABYTES
from explorer.ui.chips import device_name, settings_words
from explorer.ui.library_card import draw_card, step_ns
from explorer.ui.opening import begin, draw_arrival
from explorer.ui.sources import KIND_LABELS, Source, all_sources, keep_upload
from explorer.ui.uploads import OPEN_FROM_VARIABLE, keep_path, kept_source, open_folders
from explorer.units import text

_COLUMN_COUNT = 3


def show() -> None:
    """Draws the drop zone and a card a run."""
    sources = sorted(all_sources(), key=lambda source: source.kind == "sample")  # a person's own come first
    counted = [f"{sum(source.kind == kind for source in sources)} {label}" for kind, label in KIND_LABELS.items()]
    pieces.finding(
        _headline(sources),
        f"{', '.join(counted)}. Choose one as A and one as B, or add your own trace.",
    )
    _draw_upload()
    draw_arrival()
    shown = _draw_filter(sources)
    if not shown:
        pieces.box("Nothing here matches", ["Clear the filter, upload a trace above, or start a run on the Run page."])
    for first in range(0, len(shown), _COLUMN_COUNT):
        columns = st.columns(_COLUMN_COUNT)
        for column, source in zip(columns, shown[first : first + _COLUMN_COUNT], strict=False):
            with column:
                draw_card(source)


def _headline(sources: Sequence[Source]) -> str:
    steps = [step for source in sources if (step := step_ns(source)) is not None]
    if len(steps) < 2:
        return f"{len(sources)} runs to compare."
    return f"{len(sources)} runs to compare, with steps from {text(min(steps), 'ns')} to {text(max(steps), 'ns')}."


def _draw_filter(sources: Sequence[Source]) -> list[Source]:
    left, right = st.columns((2, 3), vertical_alignment="bottom")
    words = left.text_input("Filter", key="filter", placeholder="model, mode, GPU …").casefold().split()
    kinds = right.pills(
        "Kind", list(KIND_LABELS), selection_mode="multi", format_func=lambda kind: KIND_LABELS[kind], key="kinds"
    )
    return [
        source
        for source in sources
        if (not kinds or source.kind in kinds) and all(word in _searchable(source) for word in words)
    ]


def _searchable(source: Source) -> str:
    words = settings_words(source.settings) if source.settings else []
    return " ".join([source.title, device_name(source), *words]).casefold()


def _draw_upload() -> None:
    turn = st.session_state.setdefault("upload_turn", 0)
    handed_in = st.file_uploader(
        "Add traces (.json, .json.gz, .zip) or recordings (.zip): one opens in its report, two become A and B, "
        "ranks of one job can become one trace",
        type=["json", "gz", "zip"],
        accept_multiple_files=True,
        key=f"upload_files_{turn}",  # a new turn empties the drop zone
    )
    by_path = (
        "open it by its path below"
        if open_folders()
        else f"start the app with {OPEN_FROM_VARIABLE}=FOLDER, which then opens files of that folder by their path"
    )
    pieces.quiet_line(
        f"Up to {LIMIT_MEGABYTES} MB a file. Beyond that: pack it with gzip (a trace shrinks to about a "
        f"fourteenth), {by_path}, or read it on the command line with “explorer contents PATH” and “explorer report "
        "PATH”."
    )
    typed = ""
    if open_folders():
        typed = st.text_input("Path on this machine", key=f"upload_path_{turn}", placeholder=f"{open_folders()[0]}/…")
    if handed_in or typed:
        st.session_state["upload_turn"] = turn + 1
        _take([partial(keep_upload, file.name, file.getvalue()) for file in handed_in], typed)


def _take(uploads: Sequence[Callable[[], str]], typed: str) -> None:
    """Keeps what was handed in and begins to read it; what cannot be kept is told beside the rest."""
    problems, kept = [], []
    by_path: list[Callable[[], str]] = [partial(keep_path, typed)] if typed else []
    for keep in [*uploads, *by_path]:
        try:
            kept.append(kept_source(keep()))
        except ExplorerError as problem:
            problems.append(str(problem))
    st.session_state["arrival_problems"] = problems + begin([source for source in kept if source is not None])
    st.rerun()


if __name__ == "__main__":
    show()
