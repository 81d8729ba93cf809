"""The app object: page script, routes and server life, nothing else. Start it with `streamlit run app.py`."""

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st

from explorer.ui.routes import timeline_routes


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[dict[str, object]]:
    """Loads what every page needs once, then keeps the collector away from it.

    Streamlit collects garbage after every script run; without the freeze that walks all of pandas and plotly.
    """
    from explorer.ui.warm import warm

    warm()

    gc.collect()
    gc.freeze()
    yield {}


app = st.App("explorer/ui/main.py", routes=timeline_routes(), lifespan=lifespan)
