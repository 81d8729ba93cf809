"""Library: which runs are there, and which two should be compared?"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.errors import ExplorerError
from explorer.ui import pieces
from explorer.ui.archive import LIMIT_BYTES
from explorer.ui.chips import device_name, settings_words
from explorer.ui.library_card import draw_card, step_ns
from explorer.ui.selection import choose
from explorer.ui.sources import KIND_LABELS, Source, add_upload, all_sources
from explorer.units import text

_COLUMN_COUNT = 3


def show() -> None:
    """Draws the drop zone and a card a run."""
    sources = all_sources()
    counted = [f"{sum(source.kind == kind for source in sources)} {label}" for kind, label in KIND_LABELS.items()]
    pieces.finding(
        _headline(sources),
        f"{', '.join(counted)}. Choose one as A and one as B, or add your own trace.",
    )
    _draw_upload()
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
        f"Add traces (.json, .json.gz) or recordings (.zip), up to {text(LIMIT_BYTES, 'bytes')} each; "
        "the first becomes A, the second B",
        type=["json", "gz", "zip"],
        accept_multiple_files=True,
        key=f"upload_files_{turn}",  # a new turn empties the drop zone
    )
    if not handed_in:
        return
    problems = []
    for index, file in enumerate(handed_in):
        try:
            source_id = add_upload(file.name, file.getvalue())
        except ExplorerError as problem:
            problems.append(str(problem))
        else:
            choose("b" if index else "a", source_id)
    if problems:
        pieces.box("Not everything could be added", problems, loud=True)
    else:
        st.session_state["upload_turn"] = turn + 1
        st.rerun()


if __name__ == "__main__":
    show()
