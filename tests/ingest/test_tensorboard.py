"""Does a real TensorBoard open what is exported, and does its plugin's parser serve as a second opinion?"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.analysis.second_opinion import beside
from explorer.errors import TraceError
from explorer.ingest import read_trace
from explorer.ingest.chrome_events import document_texts
from explorer.ingest.tb_profiler import second_opinion
from explorer.ingest.tensorboard import write_tensorboard_folder
from explorer.report import Metric, Report
from tests.drawing import draw, drawn_document
from tests.reading import trace_of_bytes
from tests.shared import SHARED, needs_shared

DRAWING = """
    steps      00000000000011111111111
    operators  aaaa.bbbb...aaaa.bbbb..
    host       .A...B.......A...B.....
    stream 7   ..aaa..bb.....aaa..bb..
"""


def test_exported_trace_reads_back_as_the_same_trace() -> None:
    trace = draw(DRAWING)

    again = trace_of_bytes("".join(document_texts(trace)).encode())

    for column in ("start_ns", "end_ns", "name", "call_row", "operator_row", "stream", "device"):
        assert again.work[column].to_pylist() == trace.work[column].to_pylist(), column
    assert again.annotations["name"].to_pylist() == ["ProfilerStep#0", "ProfilerStep#1"]


def test_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")

    with pytest.raises(TraceError, match="Cannot write"):
        write_tensorboard_folder({"a": draw(DRAWING)}, tmp_path / "taken")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def tensorboard(tmp_path: Path) -> Iterator[str]:
    """The address of a TensorBoard over an exported folder."""
    runs = {"drawn steps": draw(DRAWING)}
    if SHARED.is_dir():
        runs["item sync"] = read_trace(SHARED / "traces" / "h200_item_sync.json.gz")
        runs["repaired"] = read_trace(SHARED / "cases" / "01-windows-path-escapes" / "trace.json")
    write_tensorboard_folder(runs, tmp_path / "logs")
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "tensorboard.main", "--logdir", str(tmp_path / "logs"), "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        address = f"http://127.0.0.1:{port}/data/plugin/pytorch_profiler"
        wait_for(f"{address}/runs", lambda found: not found["loading"] and len(found["runs"]) == len(runs))
        yield address
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)


def ask(url: str) -> Any:
    """What a URL answers, as JSON."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


def wait_for(url: str, is_ready: Any) -> None:
    """Asks until the answer will do."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            if is_ready(ask(url)):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError, json.JSONDecodeError):
            pass
        time.sleep(0.5)
    pytest.fail(f"{url} did not get ready")


@pytest.mark.slow
def test_real_tensorboard_opens_the_exported_folder(tensorboard: str) -> None:
    runs = ask(f"{tensorboard}/runs")["runs"]
    assert "drawn_steps" in runs
    for run in runs:
        (worker,) = ask(f"{tensorboard}/workers?run={run}&view=Overview")
        span = ask(f"{tensorboard}/spans?run={run}&worker={worker}")[0]
        overview = ask(f"{tensorboard}/overview?run={run}&worker={worker}&span={span}&view=Overview")
        assert overview["performance"][0]["value"] > 0
    query = "run=drawn_steps&worker=drawn_steps&span=1"
    steps = ask(f"{tensorboard}/overview?{query}&view=Overview")["steps"]["rows"]
    table = ask(f"{tensorboard}/kernel/table?{query}&view=Kernel&group_by=Kernel")["data"]
    names = [column["name"] for column in table["columns"]]
    kernels = [dict(zip(names, row, strict=True)) for row in table["rows"]]
    operators = ask(f"{tensorboard}/operation/table?{query}&view=Operator&group_by=Operation")["data"]
    assert [(row[0], row[1]) for row in steps] == [("0", 50), ("1", 50)]
    assert {row["Name"]: (row["Calls"], row["Total Duration (us)"]) for row in kernels} == {
        "kernel_a": (2, 60),
        "kernel_b": (2, 40),
    }
    assert {row["name"]: row["device_self_duration"] for row in operators} == {"aten::a": 60, "aten::b": 40}


@pytest.mark.slow
def test_second_opinion_stands_beside_our_figures(tmp_path: Path) -> None:
    trace = draw(DRAWING)
    (path,) = write_tensorboard_folder({"drawn": trace}, tmp_path)

    opinion = second_opinion(path)
    figures = {row[0]: row[1:3] for row in beside(trace, opinion).table("figures").to_numpy().tolist()}

    assert opinion.window.startswith("2 steps")
    assert figures["kernel time a step"] == [50_000, 50_000]
    assert figures["GPU utilisation"] == [pytest.approx(100 / 230), pytest.approx(100 / 180)]
    operators = opinion.table("operators").set_index("operator")
    assert operators["device_self_ns"].to_dict() == {"aten::a": 60_000, "aten::b": 40_000}
    assert any("tensor cores" in note for note in opinion.notes)


@needs_shared
@pytest.mark.slow
def test_second_opinion_that_fails_says_so() -> None:
    opinion = second_opinion(SHARED / "cases" / "01-windows-path-escapes" / "trace.json")

    assert opinion.value("step_ns") is None
    assert "cannot read this trace" in opinion.metric("step_ns").reason
    assert beside(draw(DRAWING), opinion).table("figures")["theirs"].isna().all()


def test_second_opinion_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "drawn.json"
    path.write_text(json.dumps(drawn_document(DRAWING)), encoding="utf-8")

    opinion = second_opinion(path, longest_s=0.05)

    assert "was stopped" in opinion.notes[0]


def test_a_cpus_step_stands_beside_theirs() -> None:
    trace = draw("steps     0000000000\noperators aa....bbb.")
    row = beside(trace, Report("", "", (Metric("step_ns", "step", 1, "ns"), *_NO_RATIOS))).table("figures").iloc[0]
    assert row["ours"] == 100_000
    assert "GPU work" not in row["why"]


_NO_RATIOS = tuple(
    Metric(key, key, None, "ratio")
    for key in ("gpu_utilisation_ratio", "sm_efficiency_ratio", "occupancy_ratio", "tensor_core_ratio")
)
