"""How is the timeline put on a page? One components-v2 component; Python gives it ids and colours, never events."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import streamlit as st

from explorer.charts.theme import DARK, FAMILY_COLOURS, FAMILY_LABELS, IDLE_LABELS, IDLE_MEANINGS, LIGHT, Theme
from explorer.ui.routes import ASSETS, PREFIX, asset_address, plotly_address
from explorer.ui.sources import Source
from explorer.ui.timeline.store import timeline_id

NAME = "kernel_explorer_timeline"
_BOOT = ASSETS / "boot.js"
_STYLE = ASSETS / "timeline.css"


def draw_timeline(sources: Mapping[str, Source], *, is_compact: bool = False) -> None:
    """Draws the linked timelines of one or two runs by their letters.

    A compact one, for a page about something else, has one line of controls and opens on the shortest step.

    Zooming, searching and clicking go to the routes of `explorer.ui.routes` and run no page script. Only an id that
    has ended asks for a new run of the script, which hands out new ones.
    """
    _component()(
        key="timeline",
        data={
            "is_compact": is_compact,
            "main": asset_address("main.js"),
            "plotly": plotly_address(),
            "api": PREFIX,
            "runs": [
                {
                    "letter": letter,
                    "title": source.title,
                    "source": source.source_id,
                    "id": timeline_id(source),
                }
                for letter, source in sources.items()
            ],
            "themes": _themes(),
        },
        on_ended_change=_ignored,
    )


@cache
def _component() -> Any:
    return st.components.v2.component(
        NAME,
        css=_STYLE.read_text(encoding="utf-8"),
        js=_BOOT.read_text(encoding="utf-8"),
        isolate_styles=False,
    )


def _ignored() -> None:
    """The rerun itself is what was asked for."""


def _themes() -> dict[str, Any]:
    return {
        "light": _colours(LIGHT),
        "dark": _colours(DARK),
        "labels": {**FAMILY_LABELS, **IDLE_LABELS},
        "meanings": dict(IDLE_MEANINGS),
        "families": list(FAMILY_COLOURS),
        "idle": list(IDLE_LABELS),
    }


def _colours(theme: Theme) -> dict[str, Any]:
    fills = {**FAMILY_COLOURS, **theme.idle, **_host_colours(theme)}
    return {
        "background": theme.background,
        "ink": theme.ink,
        "muted": theme.muted,
        "rule": theme.rule,
        "surface": theme.surface,
        "accent": theme.accent,
        "warning": theme.warning,
        "fills": fills,
        "inks": {key: theme.ink_on(fill) for key, fill in fills.items()},
    }


def _host_colours(theme: Theme) -> dict[str, str]:
    return {
        "operator": theme.host,
        "compile": "#B8A9D9" if theme.name == "light" else "#6B5B95",
        "call_launch": theme.host_deep,
        "call_graph_launch": theme.host_deep,
        "call_copy": FAMILY_COLOURS["memory"],
        "call_sync": theme.idle["host_sync"],
        "call_sync_copy": theme.idle["host_sync"],
        "call_allocator": theme.idle["allocator"],
        "call_other": theme.muted,
        "step": theme.surface,
        "layer": theme.surface,
        "annotation": theme.surface,
    }
