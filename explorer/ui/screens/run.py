"""Run: what happens on my machine with these settings?"""

from __future__ import annotations

import streamlit as st

from explorer.errors import ExplorerError
from explorer.settings import RunSettings
from explorer.ui import pieces
from explorer.ui.cost_line import cost_line
from explorer.ui.jobs import any_active, start_runs, statuses
from explorer.ui.kept_address import draw_put_away, kept_in_address
from explorer.ui.machine import missing_device, this_machine
from explorer.ui.run_progress import draw_runs
from explorer.ui.settings_form import draw_form, fill_form
from explorer.ui.sources import all_sources


def show() -> None:
    """Draws the form, the button and whatever runs the address names, or named before the page was left."""
    machine = this_machine()
    fill_form(machine)
    if machine.device == "cuda":
        detail = f"Runs use this machine's {machine.name}, one at a time, each in a process of its own."
    else:
        detail = (
            "This machine has no GPU that PyTorch could use, so runs take the CPU and the tiny model, where operators "
            "stand in for kernels. The bundled H200 recordings are in Compare."
        )
    pieces.finding("Run one model under two settings, then see what the settings changed.", detail)
    named = [run_id for run_id in kept_in_address("runs").split(",") if run_id]
    if named:
        draw_runs(named)
        if not any_active(statuses(named)):
            draw_put_away("runs")
    a, b = draw_form()
    problems = {letter: one.refusals() + missing_device(one, machine) for letter, one in (("A", a), ("B", b))}
    for letter, sentences in problems.items():
        if sentences:
            pieces.box(f"{letter} cannot run", sentences, loud=True)
    if not any(problems.values()):
        cost_line({"A": a, "B": b}, machine, all_sources())
    with st.container(horizontal=True):
        start = st.button("Run both", key="run_both", type="primary", disabled=any(problems.values()))
        if a == b:
            st.html('<span class="quiet">A and B are the same: their difference will be this machine\'s spread.</span>')
    if start:
        _start(a, b)


def _start(a: RunSettings, b: RunSettings) -> None:
    try:
        run_ids = start_runs([a, b])
    except ExplorerError as problem:
        pieces.box("The runs were not started", [str(problem)], loud=True)
        return
    st.query_params["runs"] = ",".join(run_ids)
    st.rerun()


if __name__ == "__main__":
    show()
