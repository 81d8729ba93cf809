"""What does a log say that somebody's own program left? The same drawings as of an experiment, from an upload."""

from __future__ import annotations

import streamlit as st

from explorer.analysis.compilation_log import log_headline, log_note, longest_stages, result_of_log
from explorer.charts.compilation import PART_COLOURS, DrawnStart, occurring_parts, start_bars
from explorer.errors import ExplorerError
from explorer.torch_trace_log import CompileLog
from explorer.ui import pieces
from explorer.ui.compilation_breaks import draw_breaks
from explorer.ui.compilation_calls import draw_guards, draw_strip
from explorer.ui.compilation_logs import logs_of_upload
from explorer.ui.figures import draw_figure

_KEPT_COUNT = 8


def draw_upload() -> None:
    """Draws the place for a log, and what the last one handed in says."""
    pieces.part_title(
        "A log of your own", "TORCH_TRACE=DIR python … leaves one; tlparse's folder, zipped, does as well"
    )
    file = st.file_uploader(
        "A TORCH_TRACE log (.log, .gz), a zip of logs, or a zip of tlparse's folder",
        type=["log", "txt", "gz", "zip"],
        key="compilation_upload",
    )
    if file is None:
        return
    try:
        with st.spinner("Reading the log"):
            logs = _read(file.file_id, file.name, file)
    except ExplorerError as problem:
        pieces.box("This log cannot be shown", [str(problem)], loud=True)
        return
    named = list(logs)
    chosen = named[0] if len(named) == 1 else st.selectbox("Log", named, key="compilation_log", width=420)
    _draw_log(logs[chosen])


def _draw_log(log: CompileLog) -> None:
    pieces.part_title(log_headline(log))
    stages = [DrawnStart(name, parts) for name, parts in longest_stages(log)]
    if stages:
        draw_figure(start_bars(stages, pieces.current_theme()), key="log_stages", alt="The longest compilations.")
        st.html(pieces.legend([(part, f"background:{PART_COLOURS[part]}", "") for part in occurring_parts(stages)]))
    result = result_of_log(log)
    if result.calls:
        pieces.part_title("Every compilation", "time on a logarithmic axis; click one for its reason")
        names = [entry.compile_id for entry in result.entries]
        draw_strip(result, names, "compilation", "compilations, in order", key="log_strip")
    guards, breaks = st.tabs(("Guards of the log", "Graph breaks of the log"))
    with guards:
        draw_guards(result)
    with breaks:
        if not log.breaks:
            pieces.quiet_line("The log tells of no graph break.")
        draw_breaks(log.breaks)
    if note := log_note(log):
        pieces.quiet_line(note)


@st.cache_resource(show_spinner=False, max_entries=_KEPT_COUNT)
def _read(file_id: str, name: str, _file: st.runtime.uploaded_file_manager.UploadedFile) -> dict[str, CompileLog]:
    del file_id  # only the cache's key, with the name
    return logs_of_upload(name, _file.getvalue())
