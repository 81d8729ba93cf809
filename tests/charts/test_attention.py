"""Does the matrix colour, outline, hatch and star the right cells, and does a mask's picture show who sees whom?"""

from __future__ import annotations

import re

import numpy as np
import pytest

from explorer.charts.attention import MatrixCell, MatrixRow, attention_matrix, cell_colour
from explorer.charts.mask import mask_figure, picture_of
from explorer.charts.theme import DARK, LIGHT, Theme, luminance

ROWS = [
    MatrixRow("decode", "decode", "all of it", (MatrixCell("55 µs", "h", 1.0, is_chosen=True), MatrixCell("no", "h"))),
    MatrixRow("chunk", "a <b>", "x", (MatrixCell("82 µs", "h", 1.41, is_chosen=True, has_star=True), None)),
]


def test_every_cell_is_one_bar_that_names_itself_when_clicked() -> None:
    figure = attention_matrix(ROWS, ["cuDNN", "flash"], LIGHT)
    clicked = [tuple(data) for trace in figure.data for data in trace.customdata]
    assert sorted(clicked) == [("chunk", 0), ("decode", 0), ("decode", 1)]


def test_rows_are_drawn_from_the_top_in_order() -> None:
    figure = attention_matrix(ROWS, ["cuDNN", "flash"], LIGHT)
    places = {data[0]: y for trace in figure.data for data, y in zip(trace.customdata, trace.y, strict=True)}
    assert places["decode"] > places["chunk"]


def test_only_cells_that_did_not_run_are_hatched() -> None:
    figure = attention_matrix(ROWS, ["cuDNN", "flash"], LIGHT)
    hatched = [data for trace in figure.data if trace.marker.pattern.shape for data in trace.customdata]
    assert hatched == [["decode", 1]]


def test_chosen_cells_are_outlined_and_bold_and_a_slower_choice_has_a_star() -> None:
    figure = attention_matrix(ROWS, ["cuDNN", "flash"], LIGHT)
    frames = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert len(frames) == 2
    words = {data[0]: text for trace in figure.data for data, text in zip(trace.customdata, trace.text, strict=True)}
    assert words["chunk"] == "<b>82 µs ★</b> "


def test_names_are_text_and_no_html() -> None:
    figure = attention_matrix(ROWS, ["cuDNN", "flash"], LIGHT)
    assert any(annotation.text == "a &lt;b>" for annotation in figure.layout.annotations)


def test_words_are_shortened_to_their_cell() -> None:
    long = MatrixCell("a reason that is far too long for its cell", "h")
    figure = attention_matrix([MatrixRow("a", "a", "", (long,) * 6)], list("abcdef"), LIGHT)
    texts = [text for trace in figure.data for text in trace.text]
    assert len(texts) == 6
    assert all(text.rstrip().endswith("…") and len(text) < 22 for text in texts)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_colour_goes_on_with_the_ratio_and_stays_readable(theme: Theme) -> None:
    colours = [cell_colour(ratio, theme) for ratio in (1.0, 1.2, 3.0, 20.0, 500.0)]
    assert len(set(colours)) == 4
    assert colours[-1] == colours[-2]
    for colour in colours:
        assert re.fullmatch("#[0-9A-F]{6}", colour)
        bright, dark = sorted((luminance(colour), luminance(theme.ink)), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) > 4.5


def test_picture_tells_seen_hidden_and_thrown_away() -> None:
    visible = np.tri(3, 3, dtype=np.bool_)
    figure = mask_figure(picture_of(visible, [False, True, True]), LIGHT)
    assert np.asarray(figure.data[0].z).tolist() == [[1, 0, 0], [2, 2, 0], [2, 2, 2]]
    assert figure.data[0].customdata[0][0].startswith("sees, and is thrown away")


def test_large_masks_stay_small_pictures() -> None:
    figure = mask_figure(picture_of(np.tri(64, 64, dtype=np.bool_), [True] * 64), LIGHT)
    assert figure.layout.height <= 340
