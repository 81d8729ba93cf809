"""How does a figure stand on a page? The house configuration, and the legend that figures share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import streamlit as st

from explorer.charts.theme import IDLE_PARTS, Theme, key_label, key_meaning
from explorer.trace import FAMILIES
from explorer.ui.pieces import legend
from explorer.units import Number

STILL = {"displayModeBar": False, "displaylogo": False}


def draw_figure(figure: Any, *, key: str, alt: str) -> None:
    """Draws a figure as wide as the page; `alt` says in a sentence what it shows."""
    st.plotly_chart(figure, theme=None, key=key, alt=alt, config=STILL)


def draw_legend(shown: Iterable[dict[str, Number]], theme: Theme, mark: str = "") -> None:
    """One legend line for families and one for parts of idle time, of what occurs in any of the given bars."""
    occurring = {key for parts in shown for key, value in parts.items() if value}
    lines = [_line("busy", FAMILIES, occurring, theme), _line("idle", IDLE_PARTS, occurring, theme)]
    if mark:
        lines.append(
            f'<div class="legend"><span class="lead"></span><span><span class="floor"></span>{mark}</span></div>'
        )
    st.html("".join(lines))


def _line(lead: str, keys: Sequence[str], occurring: set[str], theme: Theme) -> str:
    entries = [(key_label(key), theme.swatch(key), key_meaning(key)) for key in keys if key in occurring]
    return legend(entries, lead) if entries else ""
