"""How does a figure stand on a page? The house configuration, and the legend that figures share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import streamlit as st

from explorer.charts.theme import IDLE_PARTS, Theme, key_label, key_meaning
from explorer.trace import FAMILIES
from explorer.ui.pieces import legend
from explorer.units import Number

_FIGURE_LIMIT = 200
STILL = {"displayModeBar": False, "displaylogo": False}


def built(build: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """`build(*arguments, **options)`, once for the same arguments by value: plotly checks every property it is given.

    Sessions share the figure, so nobody changes it afterwards.
    """
    return _built(f"{build.__module__}.{build.__qualname__}", arguments, options, build)


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


@st.cache_resource(show_spinner=False, max_entries=_FIGURE_LIMIT, hash_funcs={Theme: lambda theme: theme.name})
def _built(name: str, arguments: tuple[Any, ...], options: dict[str, Any], _build: Callable[..., Any]) -> Any:
    del name  # a function is no key
    return _build(*arguments, **options)
