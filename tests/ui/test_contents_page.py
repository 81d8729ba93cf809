"""Does "What is in this trace" say what a trace holds, what it lacks, and what the second tool says?"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explorer.report import Report
from explorer.ui import contents_answers
from explorer.ui.background import Task
from explorer.ui.sources import add_upload, all_sources, find_source
from explorer.ui.tensorboard import tensorboard_zip
from tests.shared import SHARED, needs_shared
from tests.ui.drawn import trace_events
from tests.ui.test_compare_page import html_of

OpenPage = Callable[..., AppTest]


def test_it_says_what_is_there_and_what_was_not_recorded(pair: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("contents"))

    assert (
        'class="finding">20 events over 1.50 ms: 6 operators on 1 host thread, 6 pieces of GPU work on 1 device.'
        in page
    )
    assert "Python lines behind a gap: no Python frame was recorded. Needs with_stack=True." in page
    assert "GPU work with a known launch" in page
    assert "torch_version" in page
    assert "Launches by stream" in page


def test_b_is_shown_when_it_is_chosen(pair: Path, open_page: OpenPage) -> None:
    app = open_page(
        "contents", b=add_upload("mine.json", json.dumps({"traceEvents": trace_events(step_count=1)}).encode())
    )
    assert "20 events" in html_of(app)

    app.segmented_control(key="contents_letter").set_value("b").run()

    assert "10 events" in html_of(app)
    assert "torch_version" not in html_of(app)


def test_a_file_that_breaks_off_is_said_to_be_damaged_first(pair: Path, open_page: OpenPage) -> None:
    path = pair / "samples" / "eager" / "trace.json.gz"
    assert "The file is damaged" not in html_of(open_page("contents"))
    whole = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(whole[: len(whole) * 3 // 4]))
    assert "The file is damaged: it breaks off at one place" in html_of(open_page("contents"))


def test_a_trace_of_the_cpu_says_that_nothing_is_launched(pair: Path, open_page: OpenPage) -> None:
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1.0, "dur": 2.0, "pid": 1, "tid": 1, "args": {}}
    source_id = add_upload("cpu.json", json.dumps({"traceEvents": [event]}).encode())

    page = html_of(open_page("contents", a=source_id))

    assert "no GPU work" in page
    assert "on the CPU nothing is launched" in page


def test_the_second_opinion_is_asked_and_stands_beside_ours(
    pair: Path, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def refuses(path: Path, **_: object) -> Report:
        asked.append(path)
        return Report("?", "", (), (), ("torch-tb-profiler cannot read this trace: KeyError",))

    monkeypatch.setattr(contents_answers, "second_opinion", refuses)
    app = open_page("contents")
    app.button(key="ask_opinion").click().run()
    _task(app).wait(10)
    app.run()

    assert asked == [pair / "samples" / "eager" / "trace.json.gz"]
    assert "torch-tb-profiler cannot read this trace: KeyError" in html_of(app)
    app.button(key="forget_opinion").click().run()
    assert app.button(key="ask_opinion").label == "Ask torch-tb-profiler"


@needs_shared
@pytest.mark.slow
def test_the_second_opinion_of_a_real_trace_says_its_errors(pair: Path, open_page: OpenPage) -> None:
    path = SHARED / "traces" / "h200_item_sync.json.gz"
    app = open_page("contents", a=add_upload(path.name, path.read_bytes()))
    app.button(key="ask_opinion").click().run()
    _task(app).wait(120)
    app.run()

    page = html_of(app)
    assert "Theirs counts kernels only, over the host times of all steps" in page
    assert "Its list of kernels that use tensor cores is old" in page
    assert "Its recommendations, in its words" in page


def test_the_tensorboard_folder_comes_as_a_zip(pair: Path) -> None:
    source = find_source("sample:eager", all_sources())
    assert source is not None

    with zipfile.ZipFile(io.BytesIO(tensorboard_zip([source]))) as archive:
        names = archive.namelist()

    run = "qwen3-0_6b_batch_1_eager"
    assert names == ["tensorboard/HOW_TO_OPEN.txt", f"tensorboard/{run}/{run}.1000000000000.pt.trace.json.gz"]


def _task(app: AppTest) -> Task[Report]:
    (task,) = app.session_state["opinions"].values()
    assert isinstance(task, Task)
    return task
