"""What does the Library say of one run? Its picture, what it is, how fast it was, whether its results were right."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime
from html import escape
from statistics import median

import streamlit as st

from explorer.errors import ExplorerError
from explorer.recording import Recording
from explorer.ui.answers import thumbnail_of
from explorer.ui.archive import pack
from explorer.ui.chips import device_name, settings_words
from explorer.ui.pieces import current_theme
from explorer.ui.selection import choose
from explorer.ui.sources import KIND_LABELS, Source, delete_run
from explorer.units import text


def draw_card(source: Source) -> None:
    """Draws one run with its buttons; a broken one says why and can still be deleted."""
    with st.container(border=True, key=f"card_{source.source_id}", height="stretch", vertical_alignment="distribute"):
        st.html(_head(source))
        with st.container(horizontal=True, gap="small"):
            for letter in ("a", "b"):
                st.button(
                    f"As {letter.upper()}",
                    key=f"as_{letter}_{source.source_id}",
                    on_click=choose,
                    args=(letter, source.source_id),
                    disabled=not source.has_trace,
                )
            if st.button(
                "",
                key=f"contents_{source.source_id}",
                icon=":material/info:",
                help="What is in this trace; makes it A",
                type="tertiary",
                disabled=not source.has_trace,
            ):
                choose("a", source.source_id)
                st.switch_page("screens/contents.py")
            if source.settings is not None and not source.problem:
                st.download_button(
                    "",
                    data=lambda: pack(source.folder),
                    file_name=f"{source.folder.name}.zip",
                    mime="application/zip",
                    key=f"download_{source.source_id}",
                    icon=":material/download:",
                    help="Download the recording as a zip",
                    on_click="ignore",
                    type="tertiary",
                )
            if source.kind != "sample":
                _draw_delete(source)


def step_ns(source: Source) -> float | None:
    """The median step without the profiler, None where it was not measured."""
    latencies = source.facts.steady_latencies_ns if source.facts else []
    return median(latencies) if latencies else None


def _draw_delete(source: Source) -> None:
    with st.popover("", icon=":material/delete:", type="tertiary", key=f"delete_{source.source_id}"):
        st.markdown("Delete this recording for good?" if source.kind == "run" else "Remove this upload from the list?")
        st.button(
            "Delete" if source.kind == "run" else "Remove",
            key=f"sure_{source.source_id}",
            on_click=delete_run,
            args=(source,),
            type="primary",
        )


def _head(source: Source) -> str:
    lines = [f'<div class="source-title">{escape(source.title)}</div>']
    if source.problem:
        lines.append(f'<div class="box loud"><b>Cannot be opened</b>{escape(source.problem)}</div>')
    else:
        lines.append(_picture(source))
        lines += [f'<div class="source-facts">{line}</div>' for line in _fact_lines(source)]
    return "".join(lines)


def _fact_lines(source: Source) -> list[str]:
    first, second = [], [KIND_LABELS[source.kind]]
    step = step_ns(source)
    if step is not None:
        first.append(f"<b>{text(step, 'ns')}</b> a step")
    if device_name(source):
        first.append(escape(device_name(source)))
    first.append(_verified(source))
    if source.facts and source.facts.started_unix_s:
        second.append(datetime.fromtimestamp(source.facts.started_unix_s, UTC).strftime("%-d %B %Y, %H:%M UTC"))
    said = source.title.split(" · ")
    words = settings_words(source.settings) if source.settings else []
    further = " · ".join(escape(word) for word in words if word not in said)
    return [line for line in (" · ".join(filter(None, first)), further, " · ".join(second)) if line]


def _verified(source: Source) -> str:
    if source.state in ("failed", "cancelled", "lost"):
        failure = Recording(source.folder).failure()
        hover = escape(failure.message) if failure else ""
        return f'<span style="color:var(--warning)" title="{hover}">{source.state}</span>'
    if source.facts is None or source.facts.correctness is None:
        return ""
    checked = source.facts.correctness
    hover = f"relative error of the logits {text(checked.logits_error_ratio, 'ratio')}"
    if checked.passed:
        return f'<span title="{hover}">✓ results checked</span>'
    return f'<span style="color:var(--warning)" title="{hover}">✗ wrong results</span>'


def _picture(source: Source) -> str:
    try:
        picture = thumbnail_of(source, current_theme().name)
    except ExplorerError as problem:
        return f'<div class="source-facts">No picture: {escape(str(problem))}</div>'
    if not picture:
        return ""
    packed = b64encode(picture.encode()).decode()
    return f'<img class="thumb" alt="GPU work over one step" src="data:image/svg+xml;base64,{packed}">'
