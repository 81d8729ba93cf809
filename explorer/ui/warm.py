"""What does every page need? Loaded once at server start, so that the first person does not wait for it."""

from __future__ import annotations

import importlib

_HEAVY = ("plotly.graph_objects", "explorer.ui.answers", "explorer.ui.frame", "explorer.ui.settings_form")


def warm() -> None:
    """Imports what the pages import."""
    for name in _HEAVY:
        importlib.import_module(name)
