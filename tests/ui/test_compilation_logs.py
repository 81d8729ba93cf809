"""Is a log found in whatever a person hands in, and is everything else refused in words?"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explorer.analysis.compilation import why_compiled
from explorer.analysis.compilation_log import log_headline, longest_stages, result_of_log
from explorer.errors import TraceError
from explorer.torch_trace_log import CompileLog
from explorer.ui import compilation_logs
from explorer.ui.compilation_logs import logs_of_upload
from tests.test_torch_trace_log import BREAK, METRICS, at, line
from tests.ui.test_compare_page import html_of

OpenPage = Callable[..., AppTest]
FIRST = {**METRICS, "compile_id": "0/0", "recompile_reason": None}
REFUSED = {**METRICS, "compile_id": "0/2", "fail_type": "FailOnRecompileLimitHit", "fail_reason": "recompile_limit"}
LOG = (
    line(at(0, 0, artifact={"name": "dynamo_graph_break_reason"}), BREAK)
    + line(at(0, 0, dynamo_cpp_guards_str={}), "| +- NOT_NONE: y")
    + line(at(0, 0, compilation_metrics=FIRST))
    + line(at(0, 1, compilation_metrics=METRICS))
    + line(at(0, 2, compilation_metrics=REFUSED))
)


def zipped(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


def only(logs: dict[str, CompileLog]) -> CompileLog:
    (log,) = logs.values()
    return log


def test_a_log_reads_the_same_bare_gzipped_and_in_a_zip() -> None:
    bare = only(logs_of_upload("a.log", LOG.encode()))
    assert [entry.compile_id for entry in bare.entries] == ["0/0", "0/1", "0/2"]
    assert only(logs_of_upload("a.log.gz", gzip.compress(LOG.encode()))) == bare
    logs = logs_of_upload("a.zip", zipped({"rank0/t.log": LOG, "rank1/t.log": LOG, "rank1/notes.txt": "none"}))
    assert logs == {"rank0": bare, "rank1": bare}


def test_a_tlparse_folder_gives_guards_and_breaks_from_its_files() -> None:
    records = [
        at(0, 0, artifact={"name": "dynamo_graph_break_reason"}),
        at(0, 0, dynamo_cpp_guards_str={}, attempt=1),
        at(0, 0, compilation_metrics=FIRST, attempt=1),
    ]
    files = {
        "out/raw.jsonl": "\n".join(json.dumps(record) for record in records),
        "out/index.html": "<b>x</b>",
        "out/-_0_0_0/dynamo_graph_break_reason_3.txt": BREAK,
        "out/-_0_0_1/dynamo_cpp_guards_str_9.txt": "| +- NOT_NONE: y",
    }
    log = only(logs_of_upload("out.zip", zipped(files)))
    assert log.breaks[0].line == 41
    assert log.entries[0].guards[0].texts == ["NOT_NONE: y"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "tells of no compilation"),
        (b"not a log\n" * 5, "tells of no compilation"),
        (b"\xff\xfe\x00" * 100, "tells of no compilation"),
        (b"PK\x03\x04 and no more", "damaged or encrypted"),
        (b"\x1f\x8b and no more", "damaged or encrypted"),
        (gzip.compress(LOG.encode())[:-12], "damaged or encrypted"),
        (zipped({"settings.json": "{}"}), "tells of no compilation"),
        (zipped({"../../escape.log": "nothing"}), "tells of no compilation"),
    ],
    ids=["empty", "text", "bytes", "no zip", "no gzip", "cut gzip", "no log in it", "a path in it"],
)
def test_what_is_no_log_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(TraceError, match=said):
        logs_of_upload("upload", content)


def test_what_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation_logs, "LIMIT_BYTES", 10_000)
    for content in (gzip.compress(b"x" * 100_000), zipped({"a/x.log": "x" * 9_000, "b/x.log": "x\n" * 9_000})):
        with pytest.raises(TraceError, match="holds more than"):
            logs_of_upload("bomb", content)
    with pytest.raises(TraceError, match="can be uploaded"):
        logs_of_upload("big", b"x" * 10_001)


def test_a_log_is_told_in_the_words_of_an_experiment() -> None:
    log = only(logs_of_upload("a.log", LOG.encode()))
    result = result_of_log(log)
    assert [call.outcome for call in result.calls] == ["compiled", "compiled", "eager"]
    why = why_compiled(result, result.calls[1])
    assert why is not None
    assert "specialised to 1" in why.cause
    assert "3 compilations, 2 of them because a guard failed, took 27.0 ms in all" in log_headline(log)
    assert "graphs broke 1 time" in log_headline(log)
    assert longest_stages(log)[0] == (
        "0/0 step",
        {"Dynamo": 2e6, "AOTAutograd": 1e6, "Inductor": 3e6, "kernels": 1e6, "autotune": 2e6},
    )


def test_the_page_shows_a_log_and_its_text_is_only_text(pair: Path, open_page: OpenPage) -> None:
    app = open_page("compilation")
    hostile = LOG.replace("y.sum().item()", "<script>alert(1)</script>")
    app.file_uploader(key="compilation_upload").set_value(("a.log", hostile.encode(), "text/plain")).run()
    assert not app.exception
    html = html_of(app)
    assert "3 compilations" in html
    assert "serve.py, line 41" in html
    assert "&lt;script&gt;" in html
    assert "<script>" not in html


def test_the_page_says_what_is_no_log(pair: Path, open_page: OpenPage) -> None:
    app = open_page("compilation")
    app.file_uploader(key="compilation_upload").set_value(("a.log", b"nothing", "text/plain")).run()
    assert "This log cannot be shown" in html_of(app)
