"""Who sees whom? The small pictures of causal alignment, the square trick and padding masks, with their warnings."""

from __future__ import annotations

from html import escape

import streamlit as st

from explorer.analysis.mask_lens import (
    Lens,
    both_warnings,
    cache_lens,
    causal_lens,
    left_padded_lens,
    padding_lenses,
    square_lens,
)
from explorer.charts.mask import mask_figure, picture_of
from explorer.ui import pieces
from explorer.ui.figures import draw_figure

_MOST_TOKENS = 64


def draw_masks() -> None:
    """Sizes, then three pictures of causal alignment; padding masks below."""
    left, middle, right = st.columns((1, 1, 2.4), vertical_alignment="bottom")
    queries = int(left.number_input("Queries", 1, _MOST_TOKENS, 4, key="lens_queries"))
    keys = int(middle.number_input("Keys", 1, _MOST_TOKENS, 10, key="lens_keys"))
    also_masked = right.checkbox("a mask is given as well", key="lens_both")
    pieces.part_title("Who sees whom", f"{queries} queries, {keys} keys, is_causal")
    lenses = [causal_lens(queries, keys), cache_lens(queries, keys)]
    if queries < keys:
        lenses.append(square_lens(queries, keys))
    _draw(lenses, "causal")
    if also_masked:
        pieces.box("A mask and is_causal", list(both_warnings()), loud=True)
    pieces.part_title("Boolean masks", "True attends in attn_mask and ignores in key_padding_mask")
    padded = int(
        st.slider("Padding among the keys", 0, keys - 1, min(3, keys - 1), key="lens_padding", width=320)
        if keys > 1
        else 0
    )
    is_additive = st.checkbox("left padding as an additive mask of the lowest number", key="lens_additive")
    _draw([*padding_lenses(keys, padded), left_padded_lens(keys, padded, is_additive=is_additive)], "padding")


def _draw(lenses: list[Lens], name: str) -> None:
    theme = pieces.current_theme()
    for column, (place, lens) in zip(st.columns(max(3, len(lenses)), gap="large"), enumerate(lenses), strict=False):
        with column:
            figure = mask_figure(picture_of(lens.visible, lens.kept_queries), theme)
            draw_figure(figure, key=f"mask_{name}_{place}", alt=lens.sentence)
            st.html(f'<p class="lens">{escape(lens.sentence)}</p>')
    for lens in lenses:
        if lens.warnings:
            pieces.box(f"Beware: {lens.title}", list(lens.warnings), loud=True)
