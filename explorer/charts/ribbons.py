"""What became of what? Boxes with names in columns from left to right, and ribbons between the columns.

    +----------+          +----------+
    | line 2   |==========| mul      |====+     +----------+      names stand inside their boxes, so that no ribbon
    |          |==========| add      |=========| fused    |      runs through a name
    +----------+          +----------+          +----------+

A box is as high as its ribbons are wide, and never lower than its name. Heights are pixels from the top.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from explorer.charts.theme import CHARACTER_PX, Theme, styled
from explorer.units import shortened

Sureness = Literal["certain", "by_name", "unmatched"]
_ROW_PX = 19
_SPACE_PX = 4
_MEAN_PX = 15
"""Height of a mean box of the fullest column, were it drawn to scale."""
_HEAD_PX = 30
_NARROW_PX = 900
"""The width that names are cut for: the page at 1280 pixels."""
_RIBBON_SHARE = 0.08
"""Of the width, what the ribbons between two columns take."""
_STEP_COUNT = 12
_FILLS: dict[Sureness, float] = {"certain": 0.42, "by_name": 0.18, "unmatched": 0.0}


@dataclass(frozen=True)
class Node:
    """One box: `column` counts from the left; `family` is its colour, empty for a quiet one."""

    label: str
    column: int
    family: str = ""
    hover: str = ""
    sureness: Sureness = "certain"


@dataclass(frozen=True)
class Ribbon:
    """A ribbon between two boxes, by their places in the list; `weight` is its width (time, or 1)."""

    source: int
    target: int
    weight: float
    hover: str = ""
    sureness: Sureness = "certain"


@dataclass(frozen=True)
class _Place:
    """Where a box stands: its left and right edge as shares of the width, its top and height in pixels."""

    left: float
    right: float
    top: float
    height: float

    @property
    def middle(self) -> float:
        return self.top + self.height / 2


def ribbons(nodes: Sequence[Node], links: Sequence[Ribbon], titles: Sequence[str], theme: Theme) -> go.Figure:
    """A picture of at least two columns with a title over each; the first trace of a box or ribbon is its fill."""
    places, height = _places(nodes, links, len(titles))
    figure = go.Figure([*_drawn_ribbons(nodes, links, places, theme), *_drawn_boxes(nodes, places, theme)])
    figure.add_trace(_names(nodes, places, theme))
    styled(figure, theme, int(height) + _HEAD_PX + 8)
    figure.update_layout(margin={"l": 2, "r": 2, "t": _HEAD_PX, "b": 6}, dragmode=False, hovermode="closest")
    figure.update_xaxes(range=[0, 1], visible=False, fixedrange=True)
    figure.update_yaxes(range=[height, 0], visible=False, fixedrange=True)
    width = _box_share(len(titles))
    for column, title in enumerate(titles):
        figure.add_annotation(
            text=title, x=_left(column, len(titles), width), y=0, yshift=17, xanchor="left", showarrow=False,
            font={"color": theme.muted, "size": 12},
        )  # fmt: skip
    return figure


def _box_share(column_count: int) -> float:
    """Of the width, one box."""
    return (1 - _RIBBON_SHARE * max(column_count - 1, 1)) / column_count


def _left(column: int, column_count: int, width: float) -> float:
    return column * (1 - width) / max(column_count - 1, 1)


def _sizes(nodes: Sequence[Node], links: Sequence[Ribbon]) -> tuple[list[float], list[float]]:
    """What flows into and out of every node."""
    inward, outward = [0.0] * len(nodes), [0.0] * len(nodes)
    for link in links:
        outward[link.source] += link.weight
        inward[link.target] += link.weight
    return inward, outward


def _places(nodes: Sequence[Node], links: Sequence[Ribbon], column_count: int) -> tuple[list[_Place], float]:
    """Every box's place, and the height of all; the fullest column keeps its order, others follow it."""
    sizes = [max(pair) for pair in zip(*_sizes(nodes, links), strict=True)]
    members = [[place for place, node in enumerate(nodes) if node.column == column] for column in range(column_count)]
    totals = [sum(sizes[place] for place in column) for column in members]
    rows = max((len(column) for column in members), default=1)
    scale = rows * _MEAN_PX / (max(totals, default=0.0) or 1.0)
    heights = [max(float(_ROW_PX), size * scale) for size in sizes]
    stacked = [sum(heights[place] + _SPACE_PX for place in column) for column in members]
    whole = max(stacked, default=float(_ROW_PX))
    reference = stacked.index(whole) if stacked else 0
    middles: dict[int, float] = {}
    order = [*range(reference, column_count), *range(reference - 1, -1, -1)]
    for column in order:
        middles.update(_spread(members[column], heights, _wanted_middles(members[column], links, middles), whole))
    width = _box_share(column_count)
    lefts = [_left(node.column, column_count, width) for node in nodes]
    return [
        _Place(left, left + width, middles[place] - heights[place] / 2, heights[place])
        for place, left in enumerate(lefts)
    ], whole


def _wanted_middles(column: Sequence[int], links: Sequence[Ribbon], middles: dict[int, float]) -> dict[int, float]:
    """The weighted middle of what each box is joined to among the boxes that stand already."""
    sums: defaultdict[int, float] = defaultdict(float)
    weights: defaultdict[int, float] = defaultdict(float)
    inside = set(column)
    for link in links:
        for here, there in ((link.source, link.target), (link.target, link.source)):
            if here in inside and there in middles:
                sums[here] += middles[there] * link.weight
                weights[here] += link.weight
    return {place: sums[place] / weights[place] for place in weights if weights[place]}


def _spread(
    column: Sequence[int], heights: Sequence[float], wanted: dict[int, float], whole: float
) -> dict[int, float]:
    """Middles as near to the wanted ones as the boxes' heights allow, in the order of the wanted ones.

    With the heights above a box taken off, its offset may only grow from box to box: where wanted offsets fall, the
    boxes stand together at their mean (isotonic regression).
    """
    ordered = sorted(column, key=lambda place: wanted.get(place, 0.0)) if wanted else list(column)
    above, tops = 0.0, []
    blocks: list[tuple[float, int]] = []
    for place in ordered:
        offset = wanted.get(place, above + heights[place] / 2) - heights[place] / 2 - above
        tops.append(above)
        above += heights[place] + _SPACE_PX
        blocks.append((offset, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (first, first_count), (second, second_count) = blocks[-2:]
            count = first_count + second_count
            blocks[-2:] = [((first * first_count + second * second_count) / count, count)]
    room = max(whole - above, 0.0)
    offsets = [min(max(offset, 0.0), room) for offset, count in blocks for _ in range(count)]
    return {place: top + offset + heights[place] / 2 for place, top, offset in zip(ordered, tops, offsets, strict=True)}


def _drawn_ribbons(
    nodes: Sequence[Node], links: Sequence[Ribbon], places: Sequence[_Place], theme: Theme
) -> list[go.Scatter]:
    inward, outward = _sizes(nodes, links)
    starts = _ends([link.source for link in links], [places[link.target].middle for link in links], links, outward)
    stops = _ends([link.target for link in links], [places[link.source].middle for link in links], links, inward)
    drawn = []
    for link, start, stop in zip(links, starts, stops, strict=True):
        source, target = places[link.source], places[link.target]
        colour = _colour(nodes[link.source], theme)
        upper = _curve(source.right, target.left, *(_at(source, start[0]), _at(target, stop[0])))
        lower = _curve(source.right, target.left, *(_at(source, start[1]), _at(target, stop[1])))
        path = [*upper, *reversed(lower)]
        drawn.append(
            go.Scatter(
                name="ribbon", x=[x for x, _ in path], y=[y for _, y in path], mode="lines", fill="toself",
                fillcolor=_faint(colour, _FILLS[link.sureness]), hoveron="fills", hoverinfo="text",
                text=_plain(link.hover),
                line={"color": _faint(colour, 0.7), "dash": "dot", "width": 1.0 if link.sureness == "by_name" else 0.0},
            )
        )  # fmt: skip
    return drawn


def _ends(
    nodes: Sequence[int], order: Sequence[float], links: Sequence[Ribbon], totals: Sequence[float]
) -> list[tuple[float, float]]:
    """For every link the stretch of its box's side that it takes, as shares of the box's height."""
    used: defaultdict[int, float] = defaultdict(float)
    stretches: dict[int, tuple[float, float]] = {}
    for place in sorted(range(len(links)), key=lambda place: (nodes[place], order[place])):
        share = links[place].weight / totals[nodes[place]] if totals[nodes[place]] else 0.0
        stretches[place] = (used[nodes[place]], used[nodes[place]] + share)
        used[nodes[place]] += share
    return [stretches[place] for place in range(len(links))]


def _at(place: _Place, share: float) -> float:
    return place.top + share * place.height


def _curve(left: float, right: float, start: float, stop: float) -> list[tuple[float, float]]:
    """From level to level: a smooth step."""
    points = []
    for step in range(_STEP_COUNT + 1):
        share = step / _STEP_COUNT
        rise = share * share * (3 - 2 * share)
        points.append((round(left + (right - left) * share, 4), round(start + (stop - start) * rise, 2)))
    return points


def _drawn_boxes(nodes: Sequence[Node], places: Sequence[_Place], theme: Theme) -> list[go.Scatter]:
    drawn = []
    for node, place in zip(nodes, places, strict=True):
        colour = _colour(node, theme)
        bottom = place.top + place.height
        drawn.append(
            go.Scatter(
                name="box", mode="lines", fill="toself", hoveron="fills", hoverinfo="text",
                x=[place.left, place.right, place.right, place.left, place.left],
                y=[place.top, place.top, bottom, bottom, place.top],
                fillcolor=_faint(colour, 0.0 if node.sureness == "unmatched" else 0.3),
                text=_plain(node.hover or node.label),
                line={"color": colour, "width": 1.0, "dash": "dash"} if node.sureness == "unmatched" else {"width": 0},
            )
        )  # fmt: skip
        drawn.append(
            go.Scatter(
                name="edge", mode="lines", hoverinfo="skip",
                x=[place.left, place.left], y=[place.top, bottom], line={"color": colour, "width": 4},
            )
        )  # fmt: skip
    return drawn


def _names(nodes: Sequence[Node], places: Sequence[_Place], theme: Theme) -> go.Scatter:
    widths = [place.right - place.left for place in places]
    return go.Scatter(
        name="names",
        mode="text",
        x=[place.left + 0.007 for place in places],
        y=[place.middle for place in places],
        text=[
            _plain(shortened(node.label, int(width * _NARROW_PX / CHARACTER_PX) - 1))
            for node, width in zip(nodes, widths, strict=True)
        ],
        textposition="middle right",
        textfont={"size": 12, "color": theme.ink},
        hoverinfo="skip",
    )


def _colour(node: Node, theme: Theme) -> str:
    return theme.colour(node.family) if node.family else theme.host


def _faint(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def _plain(words: str) -> str:
    """Text that Plotly does not read as HTML; line breaks stay."""
    return words.replace("&", "&amp;").replace("<", "&lt;").replace("&lt;br>", "<br>")
