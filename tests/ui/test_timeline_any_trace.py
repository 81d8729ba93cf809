"""Does every question about a timeline get an answer, whatever the trace lacks?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from explorer.errors import ExplorerError
from explorer.ui.routes import PREFIX, timeline_routes
from explorer.ui.sources import Source, add_upload, all_sources, find_source
from explorer.ui.timeline.store import timeline_store
from tests.shared import SHARED, needs_shared

_TOO_LARGE_BYTES = 2_000_000
_FILES = [path for path in sorted(SHARED.glob("traces/*.json*")) if path.name != "expected.json"] + [
    path
    for path in sorted(SHARED.glob("cases/*/*"))
    if path.name != "expected.json" and path.name.endswith((".json", ".gz")) and path.stat().st_size < _TOO_LARGE_BYTES
]


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(Starlette(routes=timeline_routes())) as opened:
        yield opened


def _uploaded(name: str, content: bytes) -> Source | None:
    try:
        source = find_source(add_upload(name, content), all_sources())
    except ExplorerError:
        return None
    return source


def _ask_everything(client: TestClient, source: Source) -> set[str]:
    """Asserts that every route answers; returns the kinds of rows that there are."""
    address = f"{PREFIX}/{timeline_store().publish(source)}"
    answer = client.get(f"{address}/rows")
    if answer.status_code == 400:  # nothing in it can be read or drawn, and the answer says why
        assert answer.json()["problem"]
        return set()
    trace = answer.json()
    window = {"start": trace["start_ns"], "end": trace["end_ns"] + 1, "width": 800}
    questions = [("view", {**window, "rows": str(place)}) for place in range(len(trace["rows"]))]
    for place, row in enumerate(trace["rows"]):
        questions += [("story", {"row": place, "event": event}) for event in {0, row["count"] - 1} if row["count"]]
        questions.append(("names", {"table": row["table"], "codes": "0"}))
        if row["table"] == "work":
            questions.append(("ordinal", {"row": place, "event": 0}))
    questions += [
        ("step", {}),
        ("search", {"pattern": "e"}),
        ("match", {"pattern": "e", "after": trace["start_ns"]}),
        ("longest", {"rank": 0, "what": "gap", "start": trace["start_ns"], "end": trace["end_ns"]}),
        ("measure", {"start": trace["start_ns"], "end": trace["end_ns"] + 1}),
    ]
    for question, asked in questions:
        answer = client.get(f"{address}/{question}", params=asked)
        assert answer.status_code == 200, (question, asked, answer.text)
    return {row["kind"] for row in trace["rows"]}


def test_work_that_no_call_launched_is_drawn_with_unattributed_gaps(client: TestClient, traces: Path) -> None:
    events = [
        {"ph": "X", "cat": "kernel", "name": f"gemm_{at}", "ts": at, "dur": 5, "pid": 0, "tid": 7,
         "args": {"device": 0, "stream": 7}}
        for at in (10, 20, 40)
    ]  # fmt: skip
    source = _uploaded("no_calls.json", json.dumps({"traceEvents": events}).encode())
    assert source is not None
    assert "gaps" in _ask_everything(client, source)
    rows = client.get(f"{PREFIX}/{timeline_store().publish(source)}/rows").json()["rows"]
    (gaps,) = [place for place, row in enumerate(rows) if row["kind"] == "gaps"]
    told = client.get(f"{PREFIX}/{timeline_store().publish(source)}/story", params={"row": gaps, "event": 1}).json()
    assert "unattributed" in json.dumps(told)


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("path", _FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_question_is_answered_on_every_shared_file(client: TestClient, traces: Path, path: Path) -> None:
    source = _uploaded(path.name, path.read_bytes())
    if source is not None:
        _ask_everything(client, source)
