"""Which engine's trace shall a list of sizes come from? The same question on the Buckets and the Compilation page."""

from __future__ import annotations

import streamlit as st

from explorer.ui.sources import Source, all_sources, find_source


def pick_engine_trace(key: str) -> Source | None:
    """Draws the choice among all runs with a trace, newest first; None until one is chosen."""
    sources = [source for source in all_sources() if source.has_trace]
    named = {source.source_id: source for source in reversed(sources)}
    chosen = st.selectbox(
        "Trace of a vLLM or SGLang engine, uploaded in the Library",
        list(named),
        index=None,
        format_func=lambda source_id: named[source_id].title,
        key=key,
        placeholder="Choose a trace",
    )
    return find_source(chosen, sources)
