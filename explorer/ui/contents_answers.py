"""What has been found out about a source's contents? Reports once a server, a second opinion once a session."""

from __future__ import annotations

import streamlit as st

from explorer.analysis.contents import contents_report, contents_sentences
from explorer.analysis.launches import launch_report
from explorer.analysis.second_opinion import beside
from explorer.ingest.tb_profiler import second_opinion
from explorer.report import Report
from explorer.trace import Trace
from explorer.ui.answers import trace_of
from explorer.ui.background import Task
from explorer.ui.sources import Source

_REPORT_LIMIT = 48


def contents_of(source: Source) -> Report:
    """What is in its trace and what is not: see `analysis.contents.contents_report`."""
    return _contents(source.stamp, trace_of(source))


def sentences_of(source: Source) -> tuple[str, str]:
    """What its trace holds, and whether anything cannot be answered from it."""
    return contents_sentences(trace_of(source))


def launches_of(source: Source) -> Report:
    """How long its work waits after its launch: see `analysis.launches.launch_report`."""
    return _launches(source.stamp, trace_of(source))


def compared(source: Source, opinion: Report) -> Report:
    """Both tools' figures of it: see `analysis.second_opinion.beside`."""
    return beside(trace_of(source), opinion)


def opinion_task(source: Source) -> Task[Report] | None:
    """What torch-tb-profiler was asked about a source in this session, None where it was not."""
    return _opinions().get(source.stamp)


def ask_opinion(source: Source) -> None:
    """Asks torch-tb-profiler about a source, in a worker process."""
    path = source.trace_path
    _opinions()[source.stamp] = Task(lambda task: second_opinion(path, is_cancelled=task.is_unwanted))


def forget_opinion(source: Source) -> None:
    """Stops the asking where it still goes on, and forgets what was answered."""
    task = _opinions().pop(source.stamp, None)
    if task is not None:
        task.cancel()


def _opinions() -> dict[str, Task[Report]]:
    held: dict[str, Task[Report]] = st.session_state.setdefault("opinions", {})
    return held


@st.cache_resource(show_spinner=False, max_entries=_REPORT_LIMIT)
def _contents(stamp: str, _trace: Trace) -> Report:
    del stamp  # only part of the cache's key
    return contents_report(_trace)


@st.cache_resource(show_spinner=False, max_entries=_REPORT_LIMIT)
def _launches(stamp: str, _trace: Trace) -> Report:
    del stamp  # only part of the cache's key
    return launch_report(_trace)
