"""Which sizes does a person want to try, in order? A sequence by name, a list of their own, or an engine's trace."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from explorer.analysis.engine_steps import sequence_from_trace
from explorer.errors import ExplorerError
from explorer.shapes_settings import LARGEST_CALL_COUNT, SEQUENCE_LABELS, SEQUENCES, Axis, sizes_of_text
from explorer.ui import pieces
from explorer.ui.answers import trace_of
from explorer.ui.engine_trace import pick_engine_trace

_OWN, _FILE, _TRACE = "own", "file", "trace"
_LABELS = {**SEQUENCE_LABELS, _OWN: "a list of my own", _FILE: "a CSV or JSON file", _TRACE: "an engine's trace"}
_AXIS_LABELS: dict[Axis, str] = {"batch": "batches of a decode", "length": "lengths of a prompt"}
_LARGEST_FILE_BYTES = 2**20


class Sizes(NamedTuple):
    """What the calls are given: batches or lengths, in order."""

    axis: Axis
    sizes: tuple[int, ...]


def draw_sizes() -> Sizes | None:
    """Draws the choice; None until there is a list, and where it cannot be used, which a box says."""
    chosen = st.selectbox("Sizes, in order", list(_LABELS), format_func=_LABELS.__getitem__, key="shapes_sequence")
    if chosen in SEQUENCES:
        return Sizes(*SEQUENCES[chosen])
    axis = st.segmented_control(
        "They are",
        list(_AXIS_LABELS),
        default="batch",
        required=True,
        format_func=_AXIS_LABELS.__getitem__,
        key="shapes_axis",
    )
    try:
        return {_OWN: _draw_own, _FILE: _draw_file, _TRACE: _draw_trace}[chosen](axis)
    except ExplorerError as problem:
        pieces.box("These sizes cannot be used", [str(problem)], loud=True)
        return None


def _draw_own(axis: Axis) -> Sizes | None:
    words = st.text_area("Sizes", "8 16 1 32 1 64", height=68, key="shapes_own", label_visibility="collapsed")
    return Sizes(axis, sizes_of_text("the list", words))


def _draw_file(axis: Axis) -> Sizes | None:
    file = st.file_uploader("One size a call, in order", type=["csv", "json", "txt"], key="shapes_file")
    if file is None:
        return None
    words = file.getvalue()[:_LARGEST_FILE_BYTES].decode("utf-8", errors="replace")
    return _said(Sizes(axis, sizes_of_text(file.name, words)), "")


def _draw_trace(axis: Axis) -> Sizes | None:
    source = pick_engine_trace("shapes_trace")
    if source is None:
        return None
    found = sequence_from_trace(trace_of(source), axis, LARGEST_CALL_COUNT)
    return _said(Sizes(axis, found.sizes), found.note)


def _said(found: Sizes, note: str) -> Sizes:
    shown = ", ".join(map(str, found.sizes[:12])) + (" …" if len(found.sizes) > 12 else "")
    pieces.quiet_line(f"{note} {shown}".strip())
    return found
