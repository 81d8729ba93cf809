"""How far is each run? A line of stages that fills with times, the log folded below, cancel, and the way on."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from statistics import median

import streamlit as st

from explorer.launch import ENDED, JobStatus, StageProgress
from explorer.recording import Recording
from explorer.settings import STAGE_LABELS
from explorer.ui import pieces
from explorer.ui.chips import wrong_results
from explorer.ui.jobs import any_active, launcher, statuses
from explorer.ui.selection import choose
from explorer.units import text

_STATE_WORDS = {"running": "running", "finished": "finished", "failed": "failed", "cancelled": "cancelled"}


def draw_runs(run_ids: Sequence[str]) -> None:
    """Draws the runs and polls them while one is active; the page runs once more when the last has ended."""
    found = statuses(run_ids)
    if not found:
        pieces.box("These runs are gone", ["The address names runs that are no longer here. Start new ones below."])
        return
    active = any_active(found)
    st.fragment(_poll, run_every=1.0 if active else None)(list(run_ids), active)
    _draw_way_on(statuses(run_ids))


def _poll(run_ids: list[str], was_active: bool) -> None:
    found = statuses(run_ids)
    with st.container(border=True, key="runs"):
        for letter, job in zip("AB", found, strict=False):
            draw_job(letter, job)
    if was_active and not any_active(found):
        st.rerun()


def draw_job(letter: str, job: JobStatus) -> None:
    """One job's stages, notes and log, with a button that cancels it; `letter` stands before its title."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(
            f'<div class="run-head"><span><span class="letter">{letter}</span>{escape(job.settings.title)}</span>'
            f'<span class="state">{escape(_state_words(job))}</span></div>',
            width="stretch",
        )
        if job.state not in ENDED and launcher().knows(job.run_id):
            st.button(
                "Cancel",
                key=f"cancel_{job.run_id}",
                on_click=launcher().cancel,
                args=(job.run_id,),
                disabled=job.is_cancelling,
            )
    st.html(f'<div class="stages">{_stages(job)}</div>')
    if job.state in ("failed", "cancelled"):
        pieces.box(f"{letter} was not measured", [job.message or "The run ended early."], loud=job.state == "failed")
    for note in job.notes:
        st.html(f'<div class="quiet">{escape(note)}</div>')
    if job.state == "finished":
        _draw_outcome(letter, job)
    with st.expander("Log", key=f"log_{job.run_id}", expanded=job.state == "failed"):
        st.code(job.log_tail or "Nothing was printed yet.", language=None, height=220)


def _draw_outcome(letter: str, job: JobStatus) -> None:
    """What a finished run measured, in a line; loud where its results are wrong."""
    facts = Recording(job.folder).facts()
    if not facts.steady_latencies_ns:  # an experiment that is no run
        return
    step = f"{text(median(facts.steady_latencies_ns), 'ns')} a step without the profiler"
    checked = facts.correctness
    if checked is None:
        st.html(f'<div class="source-facts">{step}</div>')
    elif checked.passed:
        error = text(checked.logits_error_ratio, "ratio")
        st.html(f'<div class="source-facts">{step} · results checked: {error} from eager float32</div>')
    else:
        pieces.box(f"{letter} computes wrong results", [wrong_results(checked)], loud=True)


def _state_words(job: JobStatus) -> str:
    if job.is_cancelling:
        return "being cancelled"
    if job.state == "queued":
        place = job.place_in_queue or 1
        return "waiting for the device, next in line" if place == 1 else f"waiting for the device, place {place}"
    if job.state == "cancelled" and not job.elapsed_ns:
        return "cancelled before it started"
    return f"{_STATE_WORDS[job.state]} · {text(job.elapsed_ns, 'ns')}"


def _stages(job: JobStatus) -> str:
    ended_ns = sum(stage.elapsed_ns or 0 for stage in job.stages)
    return "".join(_stage(stage, max(0, job.elapsed_ns - ended_ns)) for stage in job.stages)


def _stage(progress: StageProgress, running_ns: int) -> str:
    time = text(progress.elapsed_ns, "ns") if progress.elapsed_ns is not None else ""
    if progress.state == "running":
        counted = progress.done is not None and progress.total
        time = f"{progress.done:,} of {progress.total:,}" if counted else text(running_ns, "ns")
    if progress.state == "failed":
        time = "stopped here"
    label = escape(STAGE_LABELS.get(progress.stage, progress.stage))
    return f'<div class="stage {progress.state}">{label}<span class="time">{escape(time)}</span></div>'


def _draw_way_on(found: Sequence[JobStatus]) -> None:
    finished = [job for job in found if job.state == "finished"]
    if not finished:
        return
    complete = len(finished) == len(found)
    label = "Open in Compare" if complete else "Open the finished run in Compare"
    if st.button(label, key="open_compare", type="primary", icon=":material/arrow_forward:"):
        for letter, job in zip("ab", found, strict=False):
            choose(letter, f"run:{job.run_id}")
        st.switch_page("screens/compare.py")
