"""How long does the server take for a click? A visitor who speaks Streamlit's own protocol, without a browser.

A visitor's browser runs on a machine of its own. In a benchmark it would share this one's processors with the server
and with everybody else, and its drawing would be measured as the server's time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

LONGEST_S = 60
_PAUSE_S = 0.1


class Visitor:
    """One session on one page. `open` comes first; clicks are measured from sending to the script's end."""

    def __init__(self, connection: ClientConnection, page: str) -> None:
        self._connection = connection
        self._name, _, self._query = page.partition("?")
        self._page_hash = ""
        self._swap_id = ""

    def open(self) -> None:
        """Runs the page's script for the first time."""
        self._run("")

    def click_times(self, count: int) -> list[float]:
        """Milliseconds of each click on "Swap", which changes A, B and the address."""
        times = []
        for _ in range(count):
            before = self._query
            started = time.perf_counter()
            self._run(self._swap_id)
            times.append((time.perf_counter() - started) * 1e3)
            if self._query == before:
                raise RuntimeError("A click on Swap did not change the address.")
            time.sleep(_PAUSE_S)
        return times

    def _run(self, pressed: str) -> None:
        """Asks for a run of the script, with a button pressed or none, and waits for its end."""
        asked = BackMsg()
        asked.rerun_script.query_string = self._query
        asked.rerun_script.page_name = self._name
        asked.rerun_script.page_script_hash = self._page_hash
        if pressed:
            state = asked.rerun_script.widget_states.widgets.add()
            state.id, state.trigger_value = pressed, True
        self._connection.send(asked.SerializeToString())
        while True:
            content = self._connection.recv(timeout=LONGEST_S)
            assert isinstance(content, bytes)
            message = ForwardMsg.FromString(content)
            if message.WhichOneof("type") == "script_finished":
                if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                    return
            else:
                self._take(message)

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._page_hash = message.new_session.page_script_hash
        elif kind == "navigation":
            self._page_hash = message.navigation.page_script_hash
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "delta" and message.delta.new_element.button.label == "Swap":
            self._swap_id = message.delta.new_element.button.id


@contextmanager
def visiting(address: str, page: str) -> Iterator[Visitor]:
    """A visitor of `page` (such as `timeline?a=…&b=…`) of the app at `address`, whose first run is over."""
    stream = f"ws://{urlsplit(address).netloc}/_stcore/stream"
    with connect(stream, subprotocols=["streamlit"], max_size=None) as connection:  # type: ignore[list-item]
        visitor = Visitor(connection, page)
        visitor.open()
        yield visitor
