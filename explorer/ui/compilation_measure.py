"""How does a person make the experiment with shapes on their own machine? A small form, and its progress."""

from __future__ import annotations

import streamlit as st

from explorer.errors import ExplorerError
from explorer.experiments import validated
from explorer.launch import ENDED
from explorer.model_shapes import MODEL_SHAPES
from explorer.shapes_settings import DYNAMIC_LABELS, EXPRESSIONS, MODEL_SUBJECT, ShapesSettings
from explorer.ui import pieces
from explorer.ui.compilation_sizes import Sizes, draw_sizes
from explorer.ui.jobs import launcher, statuses
from explorer.ui.kept_address import follow_kept
from explorer.ui.machine import Machine, this_machine
from explorer.ui.places import new_run_folder
from explorer.ui.run_progress import draw_job


def draw_measure() -> None:
    """Draws the form and whatever experiment the address names."""
    machine = this_machine()
    pieces.part_title("Try a sequence of shapes", machine.name)
    left, middle, right = st.columns(3)
    subjects = {**EXPRESSIONS, MODEL_SUBJECT: "the model's step"}
    with left:
        subject = st.selectbox("What is called", list(subjects), format_func=subjects.__getitem__, key="shapes_subject")
        model, scopes = _draw_model() if subject == MODEL_SUBJECT else (ShapesSettings().model, ["model"])
    with middle:
        sizes = draw_sizes()
    with right:
        dynamics = st.multiselect(
            "Compiled with",
            list(DYNAMIC_LABELS),
            ["none"],
            format_func=DYNAMIC_LABELS.__getitem__,
            key="shapes_dynamics",
        )
    generates = st.checkbox("generate code as well (seconds to minutes a graph)", key="shapes_code")
    if st.button("Start", key="shapes_start", type="primary", disabled=sizes is None) and sizes is not None:
        called = {"subject": subject, "model": model, "scopes": scopes}
        _start({**called, **_settings(machine, sizes, dynamics, generates)})
    follow_kept("shaping", _poll)


def draw_fix(settings: ShapesSettings) -> None:
    """Buttons that run the same sequence with a fix, on this machine."""
    fixes = _fixes(settings)
    with st.container(horizontal=True, gap="small"):
        for label, changes in fixes.items():
            if st.button(label, key=f"shapes_fix_{label}", icon=":material/play_arrow:"):
                _start({**settings.to_json(), **changes, "device": this_machine().device})


def _fixes(settings: ShapesSettings) -> dict[str, dict[str, object]]:
    if settings.subject == "position_attribute":
        return {
            "Run it with a tensor buffer": {"subject": "position_buffer"},
            "Run it with an argument": {"subject": "position_argument"},
        }
    ways = {
        "Run it marked dynamic": "mark_dynamic",
        "Run it with dynamic=True": "true",
        "Run it with buckets": "buckets",
    }
    fits = {label: way for label, way in ways.items() if settings.axis == "batch" or way != "buckets"}
    return {label: {"dynamics": (way,)} for label, way in fits.items() if (way,) != settings.dynamics}


def _draw_model() -> tuple[str, list[str]]:
    """Which model, and whether it is compiled whole, layer by layer, or both one after the other."""
    model = st.selectbox("Model", list(MODEL_SHAPES), key="shapes_model")
    labels = {"model": "whole", "layer": "per layer"}
    scopes = st.multiselect("Compiled", list(labels), ["model"], format_func=labels.__getitem__, key="shapes_scopes")
    return model, scopes


def _settings(machine: Machine, sizes: Sizes, dynamics: list[str], generates: bool) -> dict[str, object]:
    return {
        "device": machine.device,
        "dtype": "bfloat16" if machine.device == "cuda" else "float32",
        "axis": sizes.axis,
        "sizes": sizes.sizes,
        "dynamics": dynamics,
        "backend": "inductor" if generates else "graphs_only",
        "tries_warm": generates,
    }


def _start(fields: dict[str, object]) -> None:
    try:
        run_id = launcher().submit(validated(ShapesSettings.from_json(fields)), new_run_folder("shapes"))
    except ExplorerError as problem:
        pieces.box("The experiment was not started", [str(problem)], loud=True)
        return
    st.query_params["shaping"] = run_id
    st.rerun()


def _poll(run_id: str) -> None:
    found = statuses([run_id])
    if not found:
        pieces.box("This experiment is gone", ["The address names one that is no longer here. Start a new one."])
        return
    with st.container(border=True, key="shapes_progress"):
        draw_job("S", found[0])
    if found[0].state in ENDED and st.session_state.get("shapes_seen") != run_id:
        st.session_state["shapes_seen"] = run_id
        st.session_state["shapes_finished"] = f"run:{run_id}"
        st.rerun()
