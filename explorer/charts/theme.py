"""Which colour means what? One palette for figures, tables and legends, on light and on dark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import plotly.graph_objects as go

ThemeName = Literal["light", "dark"]
FONT = '"Source Sans", "Source Sans 3", "Helvetica Neue", Arial, sans-serif'
CHARACTER_PX = 6.3
"""The mean width of a character at 12 px, rounded up: decides whether a label fits into its bar."""

FAMILY_COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "matmul": "#0072B2",
        "attention": "#D55E00",
        "norm_reduction": "#009E73",
        "elementwise": "#56B4E9",
        "copy_cast": "#CC79A7",
        "embedding_gather": "#E69F00",
        "communication": "#7A3E9D",
        "memory": "#8C6D46",
        "other": "#8A8F98",
    }
)
"""The colour of a kernel family, the same on both themes; after Okabe and Ito's palette for colour-blind readers."""

FAMILY_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "matmul": "matrix products",
        "attention": "attention",
        "norm_reduction": "norm and reduction",
        "elementwise": "elementwise",
        "copy_cast": "copy and cast",
        "embedding_gather": "embedding and gather",
        "communication": "communication",
        "memory": "memcpy and memset",
        "other": "other",
    }
)

IDLE_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "inside_graph": "inside graph",
        "device_latency": "device latency",
        "launch_call": "launch call",
        "dispatch": "dispatch",
        "compile_and_guards": "compile and guards",
        "python_and_host": "Python and host",
        "allocator": "allocator",
        "host_sync": "host sync",
        "unattributed": "unattributed",
    }
)
"""The parts of idle time in the order in which they are drawn: from the device's own to the host's fault."""

IDLE_PARTS: tuple[str, ...] = tuple(IDLE_LABELS)

IDLE_MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "inside_graph": "between two kernels of one graph launch; the host has no part in it",
        "device_latency": "submitted, but not started: launch latency and stream dependencies",
        "launch_call": "the host was inside the call that submits work",
        "dispatch": "the host was inside a PyTorch operator, outside every runtime call",
        "compile_and_guards": "the host was checking guards or compiling",
        "python_and_host": "the host was in Python or elsewhere, outside every operator",
        "allocator": "the host was allocating or freeing memory",
        "host_sync": "the host was blocked in a synchronisation",
        "unattributed": "the work that ended this gap has no known launch",
    }
)

# Pale to strong means contrast with the background, so the dark theme's scale runs the other way.
_IDLE_LIGHT = ("#EAE4DE", "#D7CBC2", "#B9A394", "#967869", "#7E5C4D", "#654034", "#4A2B22", "#F5EEE8", "#D9DBDF")
_IDLE_DARK = ("#39332F", "#4A403B", "#67554C", "#8E7366", "#AB8B7C", "#CAA795", "#E6C9B9", "#221E1C", "#3A3F47")


@dataclass(frozen=True)
class Theme:
    """The colours of one theme; `idle` is by gap part."""

    name: ThemeName
    background: str
    ink: str
    muted: str
    rule: str
    surface: str
    accent: str
    host: str
    host_deep: str
    hatch: str
    warning: str
    idle: Mapping[str, str]

    def colour(self, key: str) -> str:
        """The colour of a kernel family or a gap part; a KeyError is our own bug."""
        return FAMILY_COLOURS[key] if key in FAMILY_COLOURS else self.idle[key]

    def edge(self, key: str) -> dict[str, object]:
        """Marker settings beside the colour: a synchronisation is outlined, unattributed idle is hatched."""
        if key == "host_sync":
            return {"line": {"color": self.idle["allocator"], "width": 1.5}}
        if key == "unattributed":
            return {"pattern": {"shape": "/", "fgcolor": self.hatch, "size": 5, "solidity": 0.25}, "line": {"width": 0}}
        return {"line": {"width": 0}}

    def swatch(self, key: str) -> str:
        """CSS of a legend's swatch for that key, drawn as `edge` says."""
        fill = self.colour(key)
        if key == "host_sync":
            return f"background:{fill};border:1.5px solid {self.idle['allocator']}"
        if key == "unattributed":
            return f"background:repeating-linear-gradient(135deg,{self.hatch} 0 1px,{fill} 1px 4px)"
        return f"background:{fill}"

    def ink_on(self, fill: str) -> str:
        """Black or white, whichever reads better on that `#RRGGBB` fill (WCAG relative luminance)."""
        light = luminance(fill)
        return "#FFFFFF" if 1.05 / (light + 0.05) > (light + 0.05) / 0.05 * 0.72 else "#1B2230"


LIGHT = Theme(
    name="light",
    background="#FFFFFF",
    ink="#1B2230",
    muted="#5A6473",
    rule="#E3E7ED",
    surface="#F3F5F8",
    accent="#0B5CAD",
    host="#A3B1C6",
    host_deep="#44546A",
    hatch="#AEB4BE",
    warning="#B3261E",
    idle=MappingProxyType(dict(zip(IDLE_PARTS, _IDLE_LIGHT, strict=True))),
)
DARK = Theme(
    name="dark",
    background="#12161E",
    ink="#E8ECF2",
    muted="#9CA7B6",
    rule="#2A3240",
    surface="#1D2430",
    accent="#5AA9F0",
    host="#55647A",
    host_deep="#93A5BF",
    hatch="#646C78",
    warning="#FF8A80",
    idle=MappingProxyType(dict(zip(IDLE_PARTS, _IDLE_DARK, strict=True))),
)


def theme_named(name: str | None) -> Theme:
    """The theme of that name; light where the browser has not said yet."""
    return DARK if name == "dark" else LIGHT


def key_label(key: str) -> str:
    """The words for a kernel family or a gap part."""
    return FAMILY_LABELS[key] if key in FAMILY_LABELS else IDLE_LABELS[key]


def key_meaning(key: str) -> str:
    """What a gap part means, in a clause; empty for a family, whose name says it."""
    return IDLE_MEANINGS.get(key, "")


def luminance(fill: str) -> float:
    """WCAG relative luminance of `#RRGGBB`: 0 is black, 1 is white."""
    channels = [int(fill[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def styled(figure: go.Figure, theme: Theme, height: int) -> go.Figure:
    """The figure in the house style: transparent, no grid, one font; changed in place and returned."""
    axis = {
        "showgrid": False,
        "zeroline": False,
        "linecolor": theme.rule,
        "tickcolor": theme.rule,
        "tickfont": {"color": theme.muted, "size": 12},
        "title": {"font": {"color": theme.muted, "size": 12}},
    }
    figure.update_layout(
        height=height,
        margin={"l": 0, "r": 0, "t": 0, "b": 0, "pad": 0},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 13, "color": theme.ink},
        showlegend=False,
        hoverlabel={
            "bgcolor": theme.surface,
            "bordercolor": theme.rule,
            "font": {"family": FONT, "size": 13, "color": theme.ink},
            "align": "left",
        },
        dragmode="pan",
    )
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
    return figure
