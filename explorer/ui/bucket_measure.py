"""How does a person measure step times on their own device? A small form, and the sweep's progress."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.errors import ExplorerError
from explorer.experiments import validated
from explorer.launch import ENDED
from explorer.model_shapes import MODEL_SHAPES
from explorer.settings import default_cache_tokens
from explorer.sweep_settings import SweepSettings
from explorer.ui import pieces
from explorer.ui.jobs import launcher, statuses
from explorer.ui.kept_address import follow_kept
from explorer.ui.machine import this_machine
from explorer.ui.places import new_run_folder
from explorer.ui.run_progress import draw_job

_SIZES_ON_A_CPU = (1, 2, 4, 8, 16)


def draw_measure(sizes: Sequence[int]) -> None:
    """Draws the form for a sweep of `sizes` and whatever sweep the address names; a CPU measures eager steps only."""
    machine = this_machine()
    on_cpu = machine.device == "cpu"
    if on_cpu:
        pieces.box(
            "This machine cannot capture CUDA graphs",
            [
                "Capturing needs a CUDA device, and PyTorch would run on the CPU here. A sweep measures eager steps; "
                "graph times, memory and start-up stay those of the chosen recording."
            ],
        )
    columns = st.columns((1.4, 1, 1.4, 1.4), vertical_alignment="bottom")
    model = columns[0].selectbox("Model", list(MODEL_SHAPES), index=0 if on_cpu else 1, key="sweep_model")
    context = columns[1].number_input("Context", 1, 131072, 60 if on_cpu else 500, key="sweep_context")
    compiled = columns[2].number_input(
        "Compile sizes up to",
        0,
        512,
        0,
        key="sweep_compile",
        disabled=on_cpu,
        help="Each such size is compiled by itself before it is captured, as SGLang does; seconds a size.",
    )
    wanted = _SIZES_ON_A_CPU if on_cpu else tuple(sizes)
    if columns[3].button(f"Measure {len(wanted)} sizes", key="sweep_start", type="primary"):
        _start(
            SweepSettings(
                model=model,
                device=machine.device,
                sizes=wanted,
                context_tokens=int(context),
                cache_tokens=default_cache_tokens(int(context)),
                compile_up_to=int(compiled),
            )
        )
    follow_kept("sweep", _poll)


def _start(settings: SweepSettings) -> None:
    try:
        run_id = launcher().submit(validated(settings), new_run_folder("sweep"))
    except ExplorerError as problem:
        pieces.box("The sweep was not started", [str(problem)], loud=True)
        return
    st.query_params["sweep"] = run_id
    st.rerun()


def _poll(run_id: str) -> None:
    found = statuses([run_id])
    if not found:
        pieces.box("This sweep is gone", ["The address names a sweep that is no longer here. Start a new one."])
        return
    with st.container(border=True, key="sweep_progress"):
        draw_job("S", found[0])
    if found[0].state in ENDED and st.session_state.get("sweep_seen") != run_id:
        st.session_state["sweep_seen"] = run_id
        if found[0].state == "finished":
            st.session_state["sweep_finished"] = f"run:{run_id}"
        st.rerun()
