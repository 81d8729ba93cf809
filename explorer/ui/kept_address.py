"""Which jobs does a page still show after a person left it and came back? A change of page empties the address.

What the address last named is kept in the session and written back, until a person puts it away.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from explorer.ui.jobs import any_active, statuses


def kept_in_address(name: str) -> str:
    """What the address says under `name`, else what it said there last in this session, written back; else empty."""
    said = st.query_params.get(name, "")
    if said:
        st.session_state[_key(name)] = said
        return said
    kept = str(st.session_state.get(_key(name), ""))
    if kept:
        st.query_params[name] = kept
    return kept


def follow_kept(name: str, poll: Callable[[str], None]) -> None:
    """Draws the job kept under `name`: by the second while it goes on, then once, with a way to put it away."""
    run_id = kept_in_address(name)
    if run_id:
        is_active = any_active(statuses([run_id]))
        st.fragment(poll, run_every=1.0 if is_active else None)(run_id)
        if not is_active:
            draw_put_away(name)


def draw_put_away(name: str) -> None:
    """Draws the button that makes the address and the session forget `name`; the runs themselves stay."""
    st.button("Put away", key=f"put_away_{name}", type="tertiary", on_click=_put_away, args=(name,))


def _put_away(name: str) -> None:
    st.session_state.pop(_key(name), None)
    st.query_params.pop(name, None)


def _key(name: str) -> str:
    return f"kept_{name}"
