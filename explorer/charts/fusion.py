"""What flowed into which kernel? Ribbons from source lines and operators to kernels, and tensors written and read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from explorer.charts.theme import CHARACTER_PX, FONT, Theme, styled
from explorer.units import shortened

_LABEL_LIMIT = 34
_NODE_PX = 27
_LEAST_PX = 170
_FILLED_RATIO = 0.62
"""Of the height, what the nodes of the fullest column take; the rest is the space between them."""
_TILE_PX = 34
_LEFT_PX = 250


@dataclass(frozen=True)
class Node:
    """One stop of the ribbons: `column` counts from the left; `family` is its colour, empty for a quiet one."""

    label: str
    column: int
    family: str = ""
    hover: str = ""


@dataclass(frozen=True)
class Ribbon:
    """A ribbon between two nodes, by their places in the list; `weight` is its width (time, or 1)."""

    source: int
    target: int
    weight: float
    hover: str = ""


def ribbons(nodes: Sequence[Node], links: Sequence[Ribbon], titles: Sequence[str], theme: Theme) -> go.Figure:
    """A picture of at least two columns with a title over each; widths are to one scale."""
    last = max(len(titles) - 1, 1)
    colours = [theme.colour(node.family) if node.family else theme.host for node in nodes]
    figure = go.Figure(
        go.Sankey(
            arrangement="snap",
            node={
                "label": [shortened(node.label, _LABEL_LIMIT) for node in nodes],
                "customdata": [_plain(node.hover or node.label) for node in nodes],
                "hovertemplate": "%{customdata}<extra></extra>",
                "color": colours,
                "x": [min(max(node.column / last, 0.001), 0.999) for node in nodes],
                "y": _heights(nodes, links),
                "pad": 6,
                "thickness": 14,
                "line": {"width": 0},
            },
            link={
                "source": [link.source for link in links],
                "target": [link.target for link in links],
                "value": [link.weight for link in links],
                "customdata": [_plain(link.hover) for link in links],
                "hovertemplate": "%{customdata}<extra></extra>",
                "color": [_faint(colours[link.source]) for link in links],
            },
            textfont={"family": FONT, "size": 12, "color": theme.ink},
        )
    )
    widest = max((sum(node.column == column for node in nodes) for column in range(len(titles))), default=1)
    styled(figure, theme, max(_LEAST_PX, _NODE_PX * widest) + 40)
    figure.update_layout(margin={"l": 4, "r": 4, "t": 30, "b": 8})
    for column, title in enumerate(titles):
        figure.add_annotation(
            text=title,
            x=column / last,
            y=1,
            yshift=22,
            xref="paper",
            yref="paper",
            xanchor="left" if column == 0 else "right" if column == last else "center",
            showarrow=False,
            font={"color": theme.muted, "size": 12},
        )
    return figure


def _heights(nodes: Sequence[Node], links: Sequence[Ribbon]) -> list[float]:
    """The middle of each node from the top: in order inside its column, every column over the whole height."""
    sizes = [
        max(
            sum(link.weight for link in links if link.source == place),
            sum(link.weight for link in links if link.target == place),
        )
        for place in range(len(nodes))
    ]
    counts = Counter(node.column for node in nodes)
    totals = {
        column: sum(s for node, s in zip(nodes, sizes, strict=True) if node.column == column) for column in counts
    }
    scale = _FILLED_RATIO / (max(totals.values(), default=1.0) or 1.0)
    space = {column: (1 - totals[column] * scale) / counts[column] for column in counts}
    heights, used = [], dict.fromkeys(counts, 0.0)
    for node, size in zip(nodes, sizes, strict=True):
        heights.append(min(max(used[node.column] + (size * scale + space[node.column]) / 2, 0.001), 0.999))
        used[node.column] += size * scale + space[node.column]
    return heights


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.32)"


@dataclass(frozen=True)
class TrafficRow:
    """One operator or kernel: which tensors it reads and writes, by letter."""

    label: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    side: Literal["eager", "compiled"]


def traffic_tiles(rows: Sequence[TrafficRow], theme: Theme) -> go.Figure:
    """A tile where a row touches a tensor: light where it reads, full where it writes; compiled rows come below."""
    letters = list(dict.fromkeys(letter for row in rows for letter in (*row.reads, *row.writes)))
    letters.sort(key=lambda letter: ({"x": 0, "t": 1}.get(letter[0], 2), len(letter), letter))
    figure = go.Figure()
    for label, kind, opacity in (("reads", "reads", 0.35), ("writes", "writes", 1.0)):
        spots = [(letter, place, row) for place, row in enumerate(rows) for letter in getattr(row, kind)]
        figure.add_scatter(
            name=label,
            x=[letters.index(letter) for letter, _, _ in spots],
            y=[-place - (0.5 if row.side == "compiled" else 0) for _, place, row in spots],
            mode="markers+text",
            text=[label[0].upper()] * len(spots),
            textfont={"size": 11, "color": theme.ink if kind == "reads" else theme.ink_on(theme.accent)},
            marker={"symbol": "square", "size": 24, "color": theme.accent, "opacity": opacity, "line": {"width": 0}},
            hovertext=[f"{_plain(row.label)} {label} {letter}" for letter, _, row in spots],
            hoverinfo="text",
        )
    styled(figure, theme, _TILE_PX * len(rows) + 60)
    figure.update_layout(margin={"l": _LEFT_PX, "r": 8, "t": 26, "b": 8}, dragmode=False)
    figure.update_xaxes(
        tickvals=list(range(len(letters))), ticktext=letters, side="top", range=[-0.6, len(letters) - 0.4],
        fixedrange=True, showline=False,
    )  # fmt: skip
    figure.update_yaxes(
        tickvals=[-place - (0.5 if row.side == "compiled" else 0) for place, row in enumerate(rows)],
        ticktext=[shortened(row.label, int(_LEFT_PX / CHARACTER_PX) - 2) for row in rows],
        range=[-len(rows) - 0.2, 0.7],
        fixedrange=True,
        showline=False,
    )
    return figure


@dataclass(frozen=True)
class RoofPoint:
    """One group on one side: bytes that it must move (a call) and the bandwidth that it reached."""

    label: str
    side: Literal["before", "after"]
    moved_bytes: float
    bytes_per_s: float
    family: str


def bandwidth_roof(points: Sequence[RoofPoint], ceiling_bytes_per_s: float | None, theme: Theme) -> go.Figure:
    """Achieved bandwidth against moved bytes, both logarithmic; open before, full after, the measured limit a line."""
    figure = go.Figure()
    for side, symbol in (("before", "circle-open"), ("after", "circle")):
        chosen = [point for point in points if point.side == side]
        figure.add_scatter(
            name=side,
            x=[point.moved_bytes for point in chosen],
            y=[point.bytes_per_s for point in chosen],
            mode="markers",
            marker={"symbol": symbol, "size": 10, "color": [theme.colour(point.family) for point in chosen]},
            hovertext=[f"{_plain(point.label)}, {side}" for point in chosen],
            hoverinfo="text+x+y",
        )
    styled(figure, theme, 260)
    figure.update_layout(margin={"l": 84, "r": 12, "t": 12, "b": 48})
    if ceiling_bytes_per_s:
        figure.add_hline(ceiling_bytes_per_s, line={"color": theme.warning, "width": 1.5, "dash": "dash"})
    figure.update_xaxes(
        type="log",
        dtick=1,
        title={"text": "bytes that a call must move", "font": {"size": 12}},
        exponentformat="SI",
        ticksuffix="B",
    )
    figure.update_yaxes(
        type="log", dtick=1, title={"text": "achieved", "font": {"size": 12}}, exponentformat="SI", ticksuffix="B/s"
    )
    return figure


def _plain(words: str) -> str:
    """Text that Plotly does not read as HTML."""
    return words.replace("&", "&amp;").replace("<", "&lt;")
