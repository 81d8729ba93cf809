"""How does a person record a gallery on their own device? Sizes, dtype, expressions, and the recording's progress.

A function of one's own is taken by the command line only: a page must not run code that somebody typed into it.
"""

from __future__ import annotations

import dataclasses

import streamlit as st

from explorer.errors import ExplorerError
from explorer.experiments import validated
from explorer.gallery_settings import EXPRESSION_TITLES, GallerySettings
from explorer.launch import ENDED
from explorer.settings import CHOICES
from explorer.ui import pieces
from explorer.ui.jobs import launcher, statuses
from explorer.ui.kept_address import follow_kept
from explorer.ui.machine import this_machine
from explorer.ui.places import new_run_folder
from explorer.ui.run_progress import draw_job


def draw_measure() -> None:
    """Draws the form and whatever recording the address names."""
    machine = this_machine()
    on_gpu = machine.device == "cuda"
    pieces.part_title("Record expressions on this machine", machine.name)
    named = st.multiselect(
        "Expressions",
        list(EXPRESSION_TITLES),
        list(EXPRESSION_TITLES),
        format_func=EXPRESSION_TITLES.__getitem__,
        key="gallery_expressions",
    )
    rows, hidden, dtype = st.columns(3)
    fields = {
        **dataclasses.asdict(GallerySettings()),
        "device": machine.device,
        "expressions": tuple(named),
        "row_count": int(rows.number_input("rows", 1, 65536, 8192 if on_gpu else 64, key="gallery_rows")),
        "hidden_size": int(hidden.number_input("columns", 8, 65536, 8192 if on_gpu else 256, 8, key="gallery_hidden")),
        "dtype": dtype.selectbox("dtype", CHOICES["dtype"], 0 if on_gpu else 2, key="gallery_dtype"),
    }
    if st.button("Record", key="gallery_start", type="primary"):
        _start(fields)
    pieces.quiet_line("An expression of your own: explorer run --function package.module:name --out traces/runs/own")
    follow_kept("recording", _poll)


def _start(fields: dict[str, object]) -> None:
    try:
        run_id = launcher().submit(validated(GallerySettings.from_json(fields)), new_run_folder("gallery"))
    except ExplorerError as problem:
        pieces.box("The recording was not started", [str(problem)], loud=True)
        return
    st.query_params["recording"] = run_id
    st.rerun()


def _poll(run_id: str) -> None:
    found = statuses([run_id])
    if not found:
        pieces.box("This recording is gone", ["The address names a recording that is no longer here. Start a new one."])
        return
    with st.container(border=True, key="gallery_progress"):
        draw_job("G", found[0])
    if found[0].state in ENDED and st.session_state.get("gallery_seen") != run_id:
        st.session_state["gallery_seen"] = run_id
        st.query_params["gallery"] = f"run:{run_id}"
        st.rerun()
