"""Fusion: which kernels became one, what did that save, and what did it not?"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.analysis.compare import Comparability
from explorer.analysis.fusion import headline
from explorer.analysis.fusion_folding import FoldedGroup
from explorer.analysis.fusion_map import model_map
from explorer.charts.fusion import bandwidth_roof
from explorer.charts.ribbons import ribbons
from explorer.errors import ExplorerError
from explorer.ui import pieces
from explorer.ui.experiment_sources import experiment_sources, find_experiment
from explorer.ui.fairness import draw_other_work, draw_unfair, fairness_of
from explorer.ui.figures import built, draw_figure
from explorer.ui.fusion_answers import Pair, open_gallery, open_pair
from explorer.ui.fusion_code import draw_code
from explorer.ui.fusion_gallery import draw_expression
from explorer.ui.fusion_measure import draw_measure
from explorer.ui.fusion_pictures import largest_changes, layer_groups, map_ribbons, match_legend, roof_points
from explorer.ui.fusion_tables import draw_ledger, fusion_cards, pair_line
from explorer.ui.selection import LETTERS, choose, chosen, draw_missing, took_defaults, write_address
from explorer.ui.sides import shared_window
from explorer.ui.sources import Source, all_sources
from explorer.ui.verification import draw_verification

_DEFAULT_EAGER, _DEFAULT_COMPILED = "sample:h200-eager", "sample:h200-compile"
_SAME_WORK = ("model", "device", "phase")
"""Settings without which two steps have no kernels in common."""
_VIEWS = ("model", "gallery")
_VIEW_LABELS = {"model": "A and B", "gallery": "an expression"}


def show() -> None:
    """Draws the pair A and B, or one expression of a recorded gallery."""
    view = st.segmented_control(
        "What",
        _VIEWS,
        default="model",
        format_func=_VIEW_LABELS.__getitem__,
        key="fusion_view",
        label_visibility="collapsed",
        persist_state="session",
    )
    if view == "gallery":
        _show_gallery()
    else:
        _show_pair()


def _show_pair() -> None:
    if took_defaults() and _bundled_is_here():  # opened by its own address: nobody has chosen yet
        _choose_bundled()
        write_address()
        st.rerun()
    selection = chosen(all_sources())
    if selection.a is None or selection.b is None:
        for letter in LETTERS:
            if selection.side(letter) is None:
                draw_missing(letter)
        return
    fairness = fairness_of(selection.a, selection.b)
    if selection.a.source_id == selection.b.source_id:
        pieces.box("A and B are the same recording", ["Pick a compiled run of the same model as B."])
    elif other_work := [one for one in fairness.differences if one.key in _SAME_WORK]:
        draw_other_work(other_work)
    else:
        _draw_pair(selection.a, selection.b, fairness)
        return
    _offer_bundled(selection.a, selection.b)


def _draw_pair(a: Source, b: Source, fairness: Comparability) -> None:
    try:
        pair = open_pair(a, b, shared_window(a, b))
    except ExplorerError as problem:
        pieces.box("This pair cannot be compared", [str(problem)], loud=True)
        return
    report = pair.answer.report
    pieces.finding(headline(pair.answer), pair_line(pair))
    draw_unfair(fairness)
    if not pair.is_compiled:
        pieces.box("Neither side is compiled", ["No kernel of either side was generated. Pick a compiled run as B."])
    _offer_bundled(a, b)
    pieces.cards(fusion_cards(pair.answer))
    _draw_map(pair)
    if pair.is_compiled:
        draw_code(pair)
    pieces.part_title("Ledger", report.window)
    draw_ledger(pair.answer)
    for note in report.notes:
        pieces.quiet_line(note)
    _draw_roof(pair)
    draw_verification({"A": a, "B": b})
    if st.button("See both steps in time", key="fusion_to_timeline", icon=":material/arrow_forward:"):
        st.switch_page("screens/timeline.py")


def _offer_bundled(a: Source, b: Source) -> None:
    """A way to the bundled pair in which nothing but compiling differs."""
    if _bundled_is_here() and {a.source_id, b.source_id} != {_DEFAULT_EAGER, _DEFAULT_COMPILED}:
        st.button("Show eager against compile", key="fusion_bundled", on_click=_choose_bundled)


def _bundled_is_here() -> bool:
    return {source.source_id for source in all_sources()}.issuperset((_DEFAULT_EAGER, _DEFAULT_COMPILED))


def _choose_bundled() -> None:
    choose("a", _DEFAULT_EAGER)
    choose("b", _DEFAULT_COMPILED)


def _draw_map(pair: Pair) -> None:
    layer = layer_groups(pair.answer.folded)
    outside = [one for one in pair.answer.folded if one not in layer]
    repeats = max((len(one.members) for one in layer), default=1)
    word = pair.answer.word
    pieces.part_title(
        f"One layer: which {word}s became which" if outside else f"Which {word}s became which",
        f"{repeats} layers folded into it: means, with their spread on hover"
        if outside
        else "in the order of the step; what comes several times is drawn once, as a mean",
    )
    st.html(match_legend())
    _draw_ribbons(layer, "fusion_map", headline(pair.answer))
    if outside:
        with st.expander("Outside the layers: embedding, last norm, logits", key="fusion_outside"):
            _draw_ribbons(
                outside, "fusion_outside_map", f"{word.capitalize()}s outside the layers, eager and compiled."
            )


def _draw_ribbons(groups: Sequence[FoldedGroup], key: str, alt: str) -> None:
    shown = largest_changes(groups)
    draw_figure(built(ribbons, *map_ribbons(model_map(shown)), pieces.current_theme()), key=key, alt=alt)
    if len(shown) < len(groups):
        pieces.quiet_line(f"The {len(shown)} groups that changed most are drawn; the ledger has all {len(groups):,}.")


def _draw_roof(pair: Pair) -> None:
    points = roof_points(pair.answer.report, pair.answer.folded)
    if points:
        ceiling = pair.answer.ceiling_bytes_per_s
        line = "; the dashed line is the measured copy bandwidth" if ceiling else ""
        pieces.part_title("Where the bound is", f"open before, full after{line}")
        draw_figure(
            bandwidth_roof(points, ceiling, pieces.current_theme()),
            key="fusion_roof",
            alt="Achieved bandwidth against the bytes that a call must move.",
        )


def _show_gallery() -> None:
    usable = {source.source_id: source for source in experiment_sources("gallery") if not source.problem}
    source = find_experiment(st.query_params.get("gallery"), usable.values()) or next(iter(usable.values()), None)
    if source is None:
        pieces.finding("Why three kernels for one line, and what does compiling change?")
        pieces.quiet_line("No gallery is recorded yet. On the command line: explorer gallery --out traces/runs/gallery")
        draw_measure()
        return
    if len(usable) > 1:
        picked = st.selectbox(
            "Gallery",
            list(usable),
            list(usable).index(source.source_id),
            format_func=lambda name: usable[name].title,
            key="fusion_gallery",
        )
        source = usable[picked]
    st.query_params["gallery"] = source.source_id
    try:
        draw_expression(open_gallery(source))
    except ExplorerError as problem:
        pieces.box(f"This gallery cannot be shown: {source.title}", [str(problem)], loud=True)
    with st.expander("Record another gallery", key="fusion_record", expanded="recording" in st.query_params):
        draw_measure()


if __name__ == "__main__":
    show()
