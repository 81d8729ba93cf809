"""Does the Timeline page say what it shows, hand the browser ids and no events, and survive what is missing?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from explorer.ui.timeline.store import timeline_store
from tests.ui.conftest import EAGER
from tests.ui.drawn import KERNELS, write_recording

OpenPage = Callable[..., AppTest]


def component_of(app: AppTest) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(app.get("bidi_component")[0].proto.json)
    return found


def html_of(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


def test_the_headline_says_both_steps_with_numbers(pair: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("timeline", a="sample:eager", b="sample:graph"))
    assert "A&#x27;s first profiled step takes 239 µs, the GPU busy 19 % of it with 3 kernels." in page
    assert "B&#x27;s first profiled step takes 119 µs" in page


def test_the_browser_gets_ids_and_colours_but_no_events(pair: Path, open_page: OpenPage) -> None:
    component = component_of(open_page("timeline", a="sample:eager", b="sample:graph"))
    assert [(run["letter"], run["source"]) for run in component["runs"]] == [
        ("a", "sample:eager"),
        ("b", "sample:graph"),
    ]
    assert all(run["id"].startswith("sample-") for run in component["runs"])
    assert not any(kernel in json.dumps(component) for _, kernel, _ in KERNELS)
    assert set(component["themes"]["families"]) <= set(component["themes"]["dark"]["fills"])


def test_what_is_not_bundled_gets_an_id_that_says_nothing_of_it(traces: Path, open_page: OpenPage) -> None:
    write_recording(traces / "runs" / "mine", EAGER)
    lent = component_of(open_page("timeline", a="run:mine", b="run:mine"))["runs"][0]["id"]
    assert "mine" not in lent
    shown = timeline_store().shown(lent)
    assert shown is not None
    assert shown.source.source_id == "run:mine"


def test_a_rerun_keeps_the_ids(traces: Path, open_page: OpenPage) -> None:
    write_recording(traces / "runs" / "mine", EAGER)
    app = open_page("timeline", a="run:mine", b="run:mine")
    before = component_of(app)["runs"]
    assert component_of(app.run())["runs"] == before


def test_a_run_without_a_trace_gets_a_box_and_the_other_is_drawn(pair: Path, open_page: OpenPage) -> None:
    write_recording(pair / "runs" / "broken", EAGER, with_trace=False)
    app = open_page("timeline", a="run:broken", b="sample:graph")
    assert "A cannot be shown" in html_of(app)
    assert [run["letter"] for run in component_of(app)["runs"]] == ["b"]
