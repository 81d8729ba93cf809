"""Which two runs are A and B? The address says so, the session remembers it from page to page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from explorer.ui import pieces
from explorer.ui.sources import Source, default_pair, find_source, list_upload

LETTERS = ("a", "b")


@dataclass(frozen=True)
class Selection:
    """The chosen runs; None where nothing is chosen or what the address names is gone."""

    a: Source | None
    b: Source | None

    def side(self, letter: str) -> Source | None:
        return self.a if letter == "a" else self.b


def adopt_address(sources: Sequence[Source]) -> None:
    """Takes A and B from the address where it changed since we last wrote it, else keeps the session's choice.

    An upload that the address names is one of this session's from then on: after a reload the session knows no other.
    """
    defaults = dict(zip(LETTERS, default_pair(list(sources)), strict=True))
    st.session_state["took_defaults"] = not any(
        letter in st.query_params or f"chosen_{letter}" in st.session_state for letter in LETTERS
    )
    for letter in LETTERS:
        named = st.query_params.get(letter)
        if named and named != st.session_state.get(f"address_{letter}"):
            st.session_state[f"chosen_{letter}"] = named
            source = find_source(named, sources)
            if source is not None and source.kind == "upload":
                list_upload(named)
        elif f"chosen_{letter}" not in st.session_state:
            st.session_state[f"chosen_{letter}"] = defaults[letter]


def write_address() -> None:
    """Puts A and B into the address, so that a copied link shows the same picture."""
    for letter in LETTERS:
        chosen = st.session_state.get(f"chosen_{letter}")
        st.session_state[f"address_{letter}"] = chosen
        if chosen and st.query_params.get(letter) != chosen:
            st.query_params[letter] = chosen


def chosen(sources: Sequence[Source]) -> Selection:
    """The two chosen sources."""
    a, b = (find_source(st.session_state.get(f"chosen_{letter}"), sources) for letter in LETTERS)
    return Selection(a, b)


def choose(letter: str, source_id: str | None) -> None:
    """Makes a source A or B, from the next run of the page on."""
    st.session_state[f"chosen_{letter}"] = source_id


def took_defaults() -> bool:
    """Whether the session has just begun, without a choice in the address."""
    return bool(st.session_state["took_defaults"])


def draw_missing(letter: str) -> None:
    """Says why there is no A or B: nobody chose one, or the address names one that is not here."""
    named = st.session_state.get(f"chosen_{letter}")
    ways = "Pick a run on the left, add a trace in the Library, or start one on the Run page."
    if named:
        gone = f"The address names “{named}”, which is not on this server: deleted, or measured elsewhere."
        pieces.box(f"{letter.upper()} is not here", [gone, ways])
    else:
        pieces.box(f"{letter.upper()} is not chosen", [ways])


def swap() -> None:
    """Makes A of B and B of A."""
    a, b = (st.session_state.get(f"chosen_{letter}") for letter in LETTERS)
    choose("a", b)
    choose("b", a)
