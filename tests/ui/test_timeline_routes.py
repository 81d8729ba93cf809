"""What do the timeline's routes answer, to whom, and what do they refuse?"""

from __future__ import annotations

import io
import json
import shutil
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from explorer.settings import RunSettings
from explorer.ui.routes import PREFIX, asset_address, plotly_address, timeline_routes
from explorer.ui.sources import Source, all_sources
from explorer.ui.timeline import patterns
from explorer.ui.timeline.store import timeline_store
from tests.ui.drawn import KERNELS, write_recording

STEP_KERNELS = len(KERNELS)


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(Starlette(routes=timeline_routes())) as opened:
        yield opened


@pytest.fixture
def sample(pair: Path) -> Source:
    return next(source for source in all_sources() if source.source_id == "sample:eager")


@pytest.fixture
def address(sample: Source) -> str:
    return f"{PREFIX}/{timeline_store().publish(sample)}"


def rows_of(client: TestClient, address: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = client.get(f"{address}/rows").json()["rows"]
    return rows


def stream_row(client: TestClient, address: str) -> int:
    return [row["kind"] for row in rows_of(client, address)].index("stream")


def decoded(content: bytes) -> tuple[dict[str, Any], np.ndarray]:
    """The head, and the rectangles' starts."""
    (length,) = struct.unpack("<I", content[:4])
    head = json.loads(content[4 : 4 + length])
    count = sum(row["rectangle_count"] for row in head["rows"])
    return head, np.frombuffer(content, "<f8", count, 4 + length)


def test_rows_tell_steps_and_palettes(client: TestClient, address: str) -> None:
    answer = client.get(f"{address}/rows").json()
    assert [step["label"] for step in answer["steps"]] == ["step#0", "step#1"]
    stream = next(row for row in answer["rows"] if row["kind"] == "stream")
    assert stream["count"] == 2 * STEP_KERNELS
    assert set(stream["palette"]) == {"matmul", "elementwise", "attention"}


def test_a_view_holds_the_asked_rows_in_their_order(client: TestClient, address: str) -> None:
    stream = stream_row(client, address)
    trace = client.get(f"{address}/rows").json()
    window = {"start": trace["start_ns"], "end": trace["end_ns"], "width": 800}
    head, starts = decoded(client.get(f"{address}/view", params={**window, "rows": f"{stream}"}).content)
    assert [row["key"] for row in head["rows"]] == [rows_of(client, address)[stream]["key"]]
    assert head["rows"][0]["rectangle_count"] == 2 * STEP_KERNELS
    assert (np.diff(starts) > 0).all()


def test_every_kernel_has_a_story_and_a_name(client: TestClient, address: str) -> None:
    stream = stream_row(client, address)
    told = client.get(f"{address}/story", params={"row": stream, "event": 0}).json()
    assert told["name"] == KERNELS[0][1]
    assert told["family"] == "matrix products"
    assert told["launched_by"]["start_ns"] < told["place"]["start_ns"]
    names = client.get(f"{address}/names", params={"table": "work", "codes": "0,1,2"}).json()["names"]
    assert set(names.values()) == {kernel for _, kernel, _ in KERNELS}


def test_a_search_is_a_regular_expression_in_any_case(client: TestClient, address: str) -> None:
    answer = client.get(f"{address}/search", params={"pattern": "NVJET.*TNT$"}).json()
    assert [(each["table"], each["count"]) for each in answer["found"]] == [("work", 2)]
    assert answer["found"][0]["text"] == "2 · 60.0 µs"


def test_what_is_no_regular_expression_is_plain_text(client: TestClient, address: str) -> None:
    answer = client.get(f"{address}/search", params={"pattern": "MulFunctor<float>>("}).json()
    assert answer["note"].startswith("no regular expression")
    assert answer["found"][0]["count"] == 2


def test_a_pattern_that_never_ends_is_stopped(
    client: TestClient, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, "TIME_LIMIT_S", 0.4)
    # Exponential on the underscore-free run of letters in a kernel's name.
    answer = client.get(f"{address}/search", params={"pattern": "^(([a-z:])+.?)+[A-Z]([a-z]|[a-z])*!$"})
    assert answer.status_code == 400
    assert "took longer" in answer.json()["problem"]


@pytest.mark.parametrize(
    ("question", "status"),
    [
        ("view?start=0&end=0&width=10", 400),
        ("view?start=0&end=x&width=10", 400),
        ("view?start=0&end=10&width=0", 400),
        ("view?start=0&end=10&width=100000", 400),
        ("view?start=0&end=10&width=10&rows=99", 400),
        ("view?start=0&end=10&width=10&rows=-1", 400),
        (f"view?start=0&end={10**30}&width=10", 400),
        ("story?row=0&event=99999", 404),
        ("story?row=-1&event=0", 404),
        ("names?table=nothing&codes=0", 404),
        ("names?table=work&codes=77777", 400),
        ("measure?start=5&end=5", 400),
        ("unknown", 404),
    ],
)
def test_a_wrong_question_is_refused_with_a_sentence(
    client: TestClient, address: str, question: str, status: int
) -> None:
    answer = client.get(f"{address}/{question}")
    assert answer.status_code == status
    assert answer.json()["problem"].endswith(".")


def test_a_bundled_recording_keeps_its_public_id(sample: Source) -> None:
    store = timeline_store()
    assert store.publish(sample) == store.publish(sample)


def test_a_lent_id_cannot_be_guessed_and_ends_when_revoked(client: TestClient, sample: Source) -> None:
    store = timeline_store()
    first, second = store.lend(sample), store.lend(sample)
    assert first != second
    assert min(len(first), len(second)) >= 32
    assert client.get(f"{PREFIX}/{first}/rows").status_code == 200
    store.revoke([first])
    for question in ("rows", "view?start=0&end=9&width=9", "trace"):
        assert client.get(f"{PREFIX}/{first}/{question}").status_code == 404
    assert client.get(f"{PREFIX}/{second}/rows").status_code == 200


def test_a_trace_that_cannot_be_read_is_refused_with_the_reason(client: TestClient, traces: Path) -> None:
    folder = write_recording(traces / "samples" / "broken", RunSettings(), with_trace=False)
    (folder / "trace.json.gz").write_bytes(b"nonsense")
    source = all_sources()[0]
    answer = client.get(f"{PREFIX}/{timeline_store().publish(source)}/rows")
    assert answer.status_code == 400
    assert answer.json()["problem"]


def test_the_trace_file_leaves_as_it_was_written(client: TestClient, sample: Source, address: str) -> None:
    answer = client.get(f"{address}/trace")
    assert answer.content == sample.trace_path.read_bytes()


def test_plotly_and_the_modules_are_cached_by_their_content(client: TestClient) -> None:
    for place in (plotly_address(), asset_address("main.js"), asset_address("timeline.css")):
        answer = client.get(place)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
    stale = client.get(f"{PREFIX}/assets/0000/main.js")
    assert stale.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("name", ["../routes.py", "..%2Froutes.py", "boot.js/../../store.py", "missing.js", ""])
def test_only_the_components_own_files_are_served(client: TestClient, name: str) -> None:
    assert client.get(f"{PREFIX}/assets/0000/{name}").status_code == 404


def test_a_timeline_is_kept_while_its_file_stays_the_same(sample: Source, pair: Path) -> None:
    store = timeline_store()
    shown = store.shown(store.publish(sample))
    assert shown is not None
    assert store.timeline(shown) is store.timeline(shown)
    shutil.copy(pair / "samples" / "graph" / "trace.json.gz", sample.trace_path)
    changed = store.shown(store.publish(next(each for each in all_sources() if each.source_id == sample.source_id)))
    assert changed is not None
    assert store.timeline(changed) is not store.timeline(shown)


def test_both_runs_come_as_one_folder_for_tensorboard(client: TestClient, address: str) -> None:
    other = next(source for source in all_sources() if source.source_id == "sample:graph")

    answer = client.get(f"{address}/tensorboard", params={"with": timeline_store().publish(other)})

    assert answer.headers["content-disposition"] == 'attachment; filename="tensorboard.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        runs = {name.split("/")[1] for name in archive.namelist() if name.endswith(".pt.trace.json.gz")}
    assert runs == {"qwen3-0_6b_batch_1_eager", "qwen3-0_6b_batch_1_compile_CUDA_graph"}


def test_a_folder_for_tensorboard_is_refused_to_an_unknown_id(client: TestClient, address: str) -> None:
    assert client.get(f"{address}/tensorboard", params={"with": "nobody"}).status_code == 404
