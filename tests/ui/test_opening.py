"""Does what is handed in on the Library page lead to its report, by itself, in pairs, as ranks, and when it fails?"""

from __future__ import annotations

import io
import json
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from streamlit.testing.v1 import AppTest

from explorer.errors import TraceError
from explorer.ingest import OnProgress
from explorer.ui import opening
from explorer.ui.archive import pack
from explorer.ui.uploads import OPEN_FROM_VARIABLE, keep_path
from tests.shared import SHARED, needs_shared
from tests.ui.drawn import trace_events
from tests.ui.test_compare_page import html_of

OpenPage = Callable[..., AppTest]
REPORT = "pieces of GPU work on 1 device"


def document(**head: Any) -> bytes:
    return json.dumps({**head, "traceEvents": trace_events()}).encode()


def rank(number: int) -> bytes:
    return document(distributedInfo={"backend": "nccl", "rank": number, "world_size": 2})


def hand_in(app: AppTest, *files: tuple[str, bytes], turn: int = 0) -> AppTest:
    app.file_uploader(key=f"upload_files_{turn}").set_value([(name, content, "") for name, content in files])
    app.run()
    assert not app.exception, app.exception
    return app


def test_one_trace_opens_in_its_report_with_the_trust_card(pair: Path, open_page: OpenPage) -> None:
    page = html_of(hand_in(open_page("library"), ("mine.json", document())))

    assert REPORT in page
    assert "GPU work with a known launch" in page


def test_two_traces_become_a_and_b(pair: Path, open_page: OpenPage) -> None:
    app = hand_in(open_page("library"), ("one.json", document()), ("two.json", document(schemaVersion=2)))

    labels = [app.selectbox(key=f"picker_{letter}").value for letter in "ab"]
    assert all(str(label).startswith("upload:") for label in labels)
    assert len(set(labels)) == 2
    assert "Both steps take" in html_of(app)


def test_ranks_of_one_job_can_be_opened_as_one_trace(pair: Path, open_page: OpenPage) -> None:
    app = hand_in(open_page("library"), ("b.json", rank(1)), ("a.json", rank(0)))
    assert "These are ranks 0 and 1 of one job" in html_of(app)

    app.button(key="open_joined").click().run()

    assert "12 pieces of GPU work on 2 devices" in html_of(app)


def test_ranks_of_one_job_can_be_opened_as_a_and_b(pair: Path, open_page: OpenPage) -> None:
    app = hand_in(open_page("library"), ("a.json", rank(0)), ("b.json", rank(1)))

    app.button(key="open_pair").click().run()

    assert app.query_params["a"] != app.query_params["b"]
    assert "ranks" not in html_of(app)


def test_a_zip_with_a_trace_is_read_and_one_with_a_recording_has_its_settings(pair: Path, open_page: OpenPage) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("deep/trace.json", document())

    assert REPORT in html_of(hand_in(open_page("library"), ("mine.zip", packed.getvalue())))
    again = hand_in(open_page("library"), ("eager.zip", pack(pair / "samples" / "eager")))
    assert "torch_version" in html_of(again)


def test_what_cannot_be_read_is_told_and_not_listed(pair: Path, open_page: OpenPage) -> None:
    app = hand_in(open_page("library"), ("empty.json", b'{"hello": 1}'), ("mine.json", document()))

    page = html_of(app)
    assert "empty.json holds no trace events" in page
    assert "3 runs to compare" in page
    app = hand_in(app, ("mine.json", document()), turn=1)
    assert REPORT in html_of(app)


def test_what_is_refused_at_once_is_told_beside_what_was_read(pair: Path, open_page: OpenPage) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("trace.json", document())
    damaged = packed.getvalue().replace(b"traceEvents", b"traceevents")
    app = hand_in(open_page("library"), ("mine.json", document()), ("a.png.json", b"\x89PNG"), ("b.zip", damaged))

    page = html_of(app)
    assert "a.png.json is neither JSON, gzip nor zip" in page
    assert "b.zip" in page
    assert "3 runs to compare" in page


def test_the_same_trace_handed_in_twice_is_opened_once(pair: Path, open_page: OpenPage) -> None:
    assert REPORT in html_of(hand_in(open_page("library"), ("one.json", document()), ("two.json", document())))


def test_progress_is_shown_in_bytes_and_a_cancelled_reading_leaves_nothing(
    pair: Path, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, stopped = threading.Event(), threading.Event()

    def endless(_path: Path, progress: OnProgress, *, is_polite: bool) -> NoReturn:
        assert is_polite
        try:
            while True:
                progress(3 << 20, 12 << 20)
                said.set()
                time.sleep(0.01)
        finally:
            stopped.set()

    monkeypatch.setattr(opening, "open_trace", endless)
    monkeypatch.setattr(opening, "_SHORT_S", 0.1)
    app = hand_in(open_page("library"), ("slow.json", document()))
    assert said.wait(60)
    app.run()
    assert "about 20 events" in html_of(app)
    assert app.get("progress")[0].proto.text == "3.00 MiB of 12.0 MiB read"
    assert "2 runs to compare" in html_of(app)

    (cancel,) = (button for button in app.button if str(button.key).startswith("cancel_"))
    cancel.click().run()

    assert stopped.wait(60)
    assert not app.get("progress")
    assert "2 runs to compare" in html_of(app)


def test_limit_and_ways_round_it_stand_below_the_drop_zone(pair: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("library"))

    assert "Up to 500 MB a file" in page
    for way in ("gzip", "EXPLORER_OPEN_FROM=FOLDER", "explorer contents PATH"):
        assert way in page


def test_a_path_is_opened_where_it_lies(
    pair: Path, open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "mine.json").write_bytes(document())
    monkeypatch.setenv(OPEN_FROM_VARIABLE, str(folder))
    app = open_page("library")

    app.text_input(key="upload_path_0").set_value(str(folder / "mine.json")).run()

    assert REPORT in html_of(app)
    assert "mine.json" in str(app.segmented_control(key="contents_letter").options)


@pytest.mark.parametrize("named", ["", "here"])
def test_a_path_outside_the_named_folders_is_refused(
    named: str, traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "secret.json").write_bytes(document())
    (tmp_path / "here" / "link.json").symlink_to(tmp_path / "secret.json")
    monkeypatch.setenv(OPEN_FROM_VARIABLE, str(tmp_path / named) if named else "")

    for typed in (tmp_path / "secret.json", tmp_path / "here" / ".." / "secret.json", tmp_path / "here" / "link.json"):
        with pytest.raises(TraceError, match="none of the folders"):
            keep_path(str(typed))


def test_a_path_without_a_file_says_so(traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPEN_FROM_VARIABLE, str(tmp_path))
    with pytest.raises(TraceError, match="no file on this machine"):
        keep_path(str(tmp_path / "nothing.json"))


@needs_shared
@pytest.mark.slow
def test_two_real_ranks_become_one_trace(pair: Path, open_page: OpenPage) -> None:
    paths = [SHARED / "traces" / f"h200x2_tp_eager_rank{number}.json.gz" for number in (0, 1)]
    app = hand_in(open_page("library"), *[(path.name, path.read_bytes()) for path in paths])
    app.button(key="open_joined").click().run()

    page = html_of(app)
    assert "1,536 pieces of GPU work on 2 devices" in page
    assert "rank1/1" in page
