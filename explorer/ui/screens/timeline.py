"""Timeline: what happened when, in A and in B?"""

from __future__ import annotations

from explorer.analysis.timeline_measure import step_sentence
from explorer.errors import ExplorerError
from explorer.ui import pieces
from explorer.ui.selection import LETTERS, Selection, chosen, draw_missing
from explorer.ui.sources import Source, all_sources
from explorer.ui.timeline.component import draw_timeline
from explorer.ui.timeline.store import timeline_of
from explorer.ui.verification import draw_verification


def show() -> None:
    """Draws the timelines of the chosen A and B."""
    sentences, sources = _opened(chosen(all_sources()))
    if sources:
        pieces.finding(" ".join(sentences))
        draw_timeline(sources)
        draw_verification(sources)


def _opened(selection: Selection) -> tuple[list[str], dict[str, Source]]:
    """A sentence and the source of every side that can be shown; what cannot gets its own box."""
    sentences, sources = [], {}
    for letter in LETTERS:
        source = selection.side(letter)
        if source is None:
            draw_missing(letter)
            continue
        try:
            timeline = timeline_of(source)
        except ExplorerError as problem:
            pieces.box(f"{letter.upper()} cannot be shown: {source.title}", [str(problem)], loud=True)
            continue
        what = "step" if timeline.steps else "trace"
        sentence = step_sentence(timeline, timeline.steps[0] if timeline.steps else None)
        sentences.append(f"{letter.upper()}'s {'first profiled ' if timeline.steps else ''}{what} takes {sentence}.")
        sources[letter] = source
    return sentences, sources


if __name__ == "__main__":
    show()
