"""What are pages built from? Small pieces of escaped HTML in the house style, and the one box for errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import streamlit as st

from explorer.charts.theme import Theme, theme_named

_ASSETS = Path(__file__).resolve().parents[2] / "assets"


def current_theme() -> Theme:
    """The theme that the browser shows."""
    return theme_named(st.context.theme.type)


def write_style(theme: Theme) -> None:
    """Puts the house style and the theme's colours on the page."""
    names = ("ink", "muted", "rule", "surface", "background", "accent", "warning")
    variables = "".join(f"--{name}:{getattr(theme, name)};" for name in names)
    st.html(f"<style>:root{{{variables}}}\n{_ASSETS.joinpath('style.css').read_text(encoding='utf-8')}</style>")


def finding(headline: str, detail: str = "") -> None:
    """The page's headline, a finding with numbers, and the sentence under it."""
    below = f'<p class="finding-detail">{escape(detail)}</p>' if detail else ""
    st.html(f'<h1 class="finding">{escape(headline)}</h1>{below}')


def part_title(title: str, note: str = "") -> None:
    """The title of one part of a page, with a quiet note behind it."""
    st.html(f'<h2 class="part-title">{escape(title)}<small>{escape(note)}</small></h2>')


@dataclass(frozen=True)
class Card:
    """One number of A and B: `value` is HTML made by `arrow_text`, the rest plain text."""

    label: str
    value: str
    note: str = ""
    hover: str = ""
    quiet: str = ""


def cards(shown: Iterable[Card]) -> None:
    """A line of cards."""
    st.html(f'<div class="cards">{"".join(_card(card) for card in shown)}</div>')


def _card(card: Card) -> str:
    quiet = f'<div class="note quiet">{escape(card.quiet)}</div>' if card.quiet else ""
    return (
        f'<div class="card" title="{escape(card.hover)}"><div class="label">{escape(card.label)}</div>'
        f'<div class="value">{card.value}</div><div class="note">{escape(card.note)}</div>{quiet}</div>'
    )


def arrow_text(a: str, b: str) -> str:
    """`41.7 ms`, `2.36 ms` → HTML of `41.7 → 2.36 ms`: the unit once where it is the same."""
    number_a, unit_a = _split(a)
    number_b, unit_b = _split(b)
    left = escape(number_a) if unit_a == unit_b else f"{escape(number_a)}{_unit(unit_a)}"
    return f'{left}<span class="arrow"> → </span>{escape(number_b)}{_unit(unit_b)}'


def single_text(value: str) -> str:
    """HTML of one value with its unit."""
    number, unit = _split(value)
    return f"{escape(number)}{_unit(unit)}"


def box(title: str, sentences: Sequence[str], *, loud: bool = False) -> None:
    """One box that says what, where and what to do; the rest of the page stays."""
    inside = escape(sentences[0]) if len(sentences) == 1 else ""
    if len(sentences) > 1:
        inside = f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in sentences)}</ul>"
    kind, role = ("box loud", "alert") if loud else ("box", "note")
    st.html(f'<div class="{kind}" role="{role}"><b>{escape(title)}</b>{inside}</div>')


def quiet_line(sentence: str) -> None:
    """A note in small grey text."""
    st.html(f'<p class="source-facts">{escape(sentence)}</p>')


def legend(entries: Iterable[tuple[str, str, str]], lead: str = "") -> str:
    """HTML of a legend line from (label, CSS of the swatch, meaning on hover)."""
    spans = "".join(
        f'<span title="{escape(meaning)}"><span class="swatch" style="{escape(css)}"></span>{escape(label)}</span>'
        for label, css, meaning in entries
    )
    return f'<div class="legend"><span class="lead">{escape(lead)}</span><span class="entries">{spans}</span></div>'


def _split(value: str) -> tuple[str, str]:
    number, _, unit = value.partition(" ")
    return number, unit


def _unit(unit: str) -> str:
    return f' <span class="unit">{escape(unit)}</span>' if unit else ""
