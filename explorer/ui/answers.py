"""What has already been found out about a source? Every trace is read once and every question answered once a server.

Cached by the files' stamp, so that a rerun costs a look-up and a changed recording is read anew.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from explorer.analysis.gaps import gap_report
from explorer.analysis.kernels import kernel_report
from explorer.analysis.pieces import devices_of
from explorer.analysis.step import step_report
from explorer.analysis.trust import trust_report
from explorer.analysis.windows import WindowKind, has_step_windows, step_windows
from explorer.charts.theme import theme_named
from explorer.charts.thumbnail import thumbnail
from explorer.errors import TraceError
from explorer.ingest import open_trace
from explorer.recording import Recording
from explorer.report import Report
from explorer.trace import Trace
from explorer.ui.sources import Source

_TRACE_LIMIT = 12
_REPORT_LIMIT = 48


def trace_of(source: Source) -> Trace:
    """The source's trace; raises TraceError when it has none or it cannot be read."""
    if not source.trace_path.is_file():
        raise TraceError(source.problem or _why_no_trace(source))
    return _trace(str(source.trace_path), source.stamp)


def has_steps_of(source: Source) -> bool:
    """Whether its work falls into steps: see `analysis.windows.has_step_windows`."""
    return _has_steps(source.stamp, trace_of(source))


def gaps_of(source: Source, window: WindowKind = "steps") -> Report:
    """Where its GPU waits: see `analysis.gaps.gap_report`."""
    return _gaps(source.stamp, window, trace_of(source))


def kernels_of(source: Source, window: WindowKind = "steps") -> Report:
    """Which kernels run in it: see `analysis.kernels.kernel_report`."""
    return _kernels(source.stamp, window, trace_of(source))


def step_of(source: Source, window: WindowKind = "steps", device: str | None = None) -> Report:
    """How long its step is and where the limit is: see `analysis.step.step_report`."""
    return _step(source.stamp, window, device, source, trace_of(source))


def trust_of(source: Source) -> Report:
    """How far its figures can be trusted: see `analysis.trust.trust_report`."""
    return _trust(source.stamp, trace_of(source))


def thumbnail_of(source: Source, theme: str) -> str:
    """An SVG strip of its first step; raises TraceError when there is no trace."""
    return _thumbnail(source.stamp, theme, trace_of(source))


def _why_no_trace(source: Source) -> str:
    if source.settings is None:
        return f"{source.title} is no longer there. Add it again in the Library."
    return Recording(source.folder).why_no_trace()


@st.cache_resource(show_spinner="Reading the trace", max_entries=_TRACE_LIMIT)
def _trace(path: str, stamp: str) -> Trace:
    del stamp  # only part of the cache's key
    return open_trace(Path(path), is_polite=True)


@st.cache_resource(show_spinner=False, max_entries=_REPORT_LIMIT)
def _has_steps(stamp: str, _trace_read: Trace) -> bool:
    del stamp
    return has_step_windows(_trace_read)


@st.cache_resource(show_spinner=False, max_entries=_REPORT_LIMIT)
def _gaps(stamp: str, window: WindowKind, _trace_read: Trace) -> Report:
    del stamp
    return gap_report(_trace_read, window)


@st.cache_resource(show_spinner=False, max_entries=_REPORT_LIMIT)
def _kernels(stamp: str, window: WindowKind, _trace_read: Trace) -> Report:
    del stamp
    return kernel_report(_trace_read, window)


@st.cache_resource(show_spinner=False, max_entries=_REPORT_LIMIT)
def _step(stamp: str, window: WindowKind, device: str | None, _source: Source, _trace_read: Trace) -> Report:
    del stamp
    return step_report(_trace_read, _source.settings, _source.facts, window, device)


@st.cache_resource(show_spinner=False, max_entries=_REPORT_LIMIT)
def _trust(stamp: str, _trace_read: Trace) -> Report:
    del stamp
    return trust_report(_trace_read)


@st.cache_resource(show_spinner=False, max_entries=_REPORT_LIMIT * 4)
def _thumbnail(stamp: str, theme: str, _trace_read: Trace) -> str:
    del stamp
    for device in devices_of(_trace_read):
        for window in step_windows(_trace_read, device):
            return thumbnail(_trace_read, window.start_ns, window.end_ns, theme_named(theme))
    return ""
