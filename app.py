"""The app object: page script, routes and server life, nothing else. Start it with `streamlit run app.py`."""

import gc
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st

from explorer.ui.routes import timeline_routes

_TURN_S = 0.0005


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[dict[str, object]]:
    """Loads what every page needs once, then keeps the collector away from it, and lets threads take turns quickly.

    Streamlit collects garbage after every script run; without the freeze that walks all of pandas and plotly. A page
    script and thirty timelines' queries share one interpreter: at Python's own 5 ms a turn a click waits behind them.
    """
    from explorer.ui.warm import warm

    warm()

    gc.collect()
    gc.freeze()
    sys.setswitchinterval(_TURN_S)
    yield {}


app = st.App("explorer/ui/main.py", routes=timeline_routes(), lifespan=lifespan)
