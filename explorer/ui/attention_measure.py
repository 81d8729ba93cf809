"""How does a person probe attention on their own device? A small form, and the probe's progress."""

from __future__ import annotations

import dataclasses

import streamlit as st

from explorer.attention_call import CALL_CHOICES, AttentionCall
from explorer.errors import ExplorerError
from explorer.experiments import validated
from explorer.launch import ENDED
from explorer.probe_settings import CALL_SETS, ProbeSettings
from explorer.ui import pieces
from explorer.ui.jobs import launcher, statuses
from explorer.ui.kept_address import follow_kept
from explorer.ui.machine import Machine, this_machine
from explorer.ui.places import new_run_folder
from explorer.ui.run_progress import draw_job

_SET_LABELS = {"presets": "what engines call", "why_not": "why not flash?", "grid": "grid"}
_OWN_NUMBERS = ("batch_size", "query_head_count", "kv_head_count", "query_tokens", "kv_tokens", "head_size")


def draw_measure() -> None:
    """Draws the form and whatever probe the address names."""
    machine = this_machine()
    pieces.part_title("Probe this machine", machine.name)
    if machine.device == "cpu":
        pieces.quiet_line("Without a GPU the CPU answers, which has fewer backends and other conditions than CUDA.")
    sets = st.multiselect(
        "Settings to try", CALL_SETS, CALL_SETS, format_func=_SET_LABELS.__getitem__, key="probe_sets", width=520
    )
    own = _own_call()
    if st.button("Start the probe", key="probe_start", type="primary"):
        _start(_settings(machine, tuple(sets), own))
    follow_kept("probing", _poll)


def _own_call() -> dict[str, object] | None:
    with st.expander("A setting of your own", key="probe_own"):
        if not st.checkbox("try it as well", key="probe_own_on"):
            return None
        defaults = AttentionCall(label="own setting", query_tokens=1, kv_head_count=8)
        fields: dict[str, object] = {"label": defaults.label}
        for column, name in zip(st.columns(len(_OWN_NUMBERS)), _OWN_NUMBERS, strict=True):
            label = name.replace("_", " ")
            fields[name] = int(column.number_input(label, 1, 2**20, getattr(defaults, name), key=f"probe_own_{name}"))
        for column, (name, options) in zip(st.columns(len(CALL_CHOICES)), CALL_CHOICES.items(), strict=True):
            at = options.index(getattr(defaults, name))
            fields[name] = column.selectbox(name.replace("_", " "), options, at, key=f"probe_own_{name}")
        left, right = st.columns(2)
        fields["is_causal"] = left.checkbox("is_causal", key="probe_own_is_causal")
        fields["dropout_ratio"] = float(right.number_input("dropout", 0.0, 0.99, 0.0, key="probe_own_dropout"))
        return {**fields, "value_head_size": fields["head_size"]}


def _settings(machine: Machine, sets: tuple[str, ...], own: dict[str, object] | None) -> dict[str, object]:
    """The probe's settings as JSON has them: what a person chose is checked where it is read."""
    on_gpu = machine.device == "cuda"
    return {
        **dataclasses.asdict(ProbeSettings()),
        "device": machine.device,
        "call_sets": sets,
        "own_calls": [own] if own else [],
        "scale": "full" if on_gpu else "small",
        "flex_seconds": ProbeSettings().flex_seconds if on_gpu else 0,
        "tries_compile": on_gpu,
    }


def _start(fields: dict[str, object]) -> None:
    try:
        run_id = launcher().submit(validated(ProbeSettings.from_json(fields)), new_run_folder("probe"))
    except ExplorerError as problem:
        pieces.box("The probe was not started", [str(problem)], loud=True)
        return
    st.query_params["probing"] = run_id
    st.rerun()


def _poll(run_id: str) -> None:
    found = statuses([run_id])
    if not found:
        pieces.box("This probe is gone", ["The address names a probe that is no longer here. Start a new one."])
        return
    with st.container(border=True, key="probe_progress"):
        draw_job("P", found[0])
    if found[0].state in ENDED and st.session_state.get("probe_seen") != run_id:
        st.session_state["probe_seen"] = run_id
        st.session_state["probe_finished"] = f"run:{run_id}"
        st.rerun()
