"""Does every public failure case that is a trace give the figures of its CASE.md?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.analysis.gaps import gap_report
from explorer.analysis.kernels import kernel_report
from explorer.analysis.machine_output import report_object
from explorer.analysis.trust import trust_report
from explorer.trace import Trace, codes_and_words
from tests.shared import SHARED, needs_shared, read_json

Read = Callable[[Path], Trace]
pytestmark = needs_shared

_NAMES = {"busy_us": "busy_ns", "span_us": "span_ns", "idle_us": "idle_ns", "launch_bound_us": "late_host_ns"}


def _trace_cases() -> list[tuple[str, str]]:
    return [
        (folder.name, name)
        for folder in sorted((SHARED / "cases").glob("*/"))
        for name, figures in read_json(folder / "expected.json").items()
        if (folder / name).is_file() and "busy_us" in figures
    ]


def expected_of(case: str, name: str) -> dict[str, Any]:
    """What CASE.md says of one file."""
    expected: dict[str, Any] = read_json(SHARED / "cases" / case / "expected.json")[name]
    return expected


def check(metrics: dict[str, int], expected: dict[str, Any]) -> None:
    """Compares one device's metrics with a case's figures in microseconds."""
    assert metrics["kernel_count"] == expected["kernels"]
    for their, our in _NAMES.items():
        assert metrics[our] == round(expected[their] * 1000), their
    if expected["device_side_us"] is not None:
        assert metrics["device_latency_ns"] + metrics["inside_graph_ns"] == round(expected["device_side_us"] * 1000)
        assert metrics["unattributed_ns"] == round(expected["unattributed_us"] * 1000)
    for key, our in (("gpu_work", "work_count"), ("linked", "linked_count")):
        if key in expected:
            assert metrics[our] == expected[key]


@pytest.mark.parametrize(("case", "name"), _trace_cases())
def test_case_gives_the_figures_of_its_description(case: str, name: str, read: Read) -> None:
    if (case, name) == ("32-fusion-before-after", "compiled.json"):
        expected = {**expected_of(case, name), "kernels": 7, "busy_us": 184, "span_us": 960, "idle_us": 776}
        trace = read(SHARED / "cases" / case / name)
        metrics = report_object(trace, "trace")["devices"][0]["metrics"]
        assert metrics["kernel_count"] == expected["kernels"]  # the steady region is the fusion page's to choose
        assert metrics["busy_ns"] == expected["busy_us"] * 1000
        return
    trace = read(SHARED / "cases" / case / name)
    expected = expected_of(case, name)

    (device,) = report_object(trace, "trace")["devices"]

    check(device["metrics"], expected)
    if "label_launch_bound_us" in expected:
        report = gap_report(trace, "trace")
        assert report.value("label_host_wait_ns") == expected["label_launch_bound_us"] * 1000
        assert report.value("label_queued_ns") == expected["label_queued_us"] * 1000


def test_ranks_in_one_file_stay_apart(read: Read) -> None:
    case = "05-concatenated-gzip"
    trace = read(SHARED / "cases" / case / "two_ranks.json.gz")
    expected = expected_of(case, "two_ranks.json.gz")

    found = {one["device"]: one["metrics"] for one in report_object(trace, "trace")["devices"]}

    assert trace.source.document_count == expected["documents"]
    assert found.keys() == {"rank0/0", "rank1/0"}
    check(found["rank0/0"], expected["rank0"])
    check(found["rank1/0"], expected["rank1"])


def test_windows_paths_keep_their_backslashes_and_the_repair_is_said(read: Read) -> None:
    case = "01-windows-path-escapes"
    trace = read(SHARED / "cases" / case / "trace.json")
    expected = expected_of(case, "trace.json")

    assert trace.frames["name"].to_pylist() == expected["frame_names"]
    assert trace.annotations["name"].to_pylist() == [expected["annotation"]]
    (note,) = [note for note in trace.notes if note.kind == "raw_backslash"]
    text = (SHARED / "cases" / case / "trace.json").read_bytes()
    assert note.count == 3
    assert note.first_byte == text.index(rb'"C:\Users')


def test_odd_names_stay_apart_and_hold_no_control_characters(read: Read) -> None:
    trace = read(SHARED / "cases" / "02-control-chars-non-utf8" / "trace.json")

    names = trace.work["name"].to_pylist()

    assert len(set(names)) == 3
    assert all(character.isprintable() for name in names for character in name)
    assert {note.kind: note.count for note in trace.notes} == {"control_character": 1, "not_utf8": 1}


def test_odd_numbers_are_missing_and_never_in_the_output(read: Read) -> None:
    folder = SHARED / "cases" / "03-inf-nan-literals"
    c_style, python_style = read(folder / "c_style.json"), read(folder / "python_style.json")

    assert c_style.work["occupancy_ratio"].null_count == 3
    assert python_style.work["occupancy_ratio"].to_pylist() == [0.25, None]
    assert trust_report(python_style).value("dropped_count") == 1
    uncertain = gap_report(python_style, "trace").table("gaps")["is_uncertain"]
    assert uncertain.to_list() == [True]
    for trace in (c_style, python_style):
        json.dumps(report_object(trace), allow_nan=False)


@pytest.mark.parametrize(("name", "kind"), [("mid_event.json", "truncated"), ("missing_tail.json", "unclosed"),
                                            ("trace_cut.json.gz", "truncated")])  # fmt: skip
def test_truncation_is_said(name: str, kind: str, read: Read) -> None:
    trace = read(SHARED / "cases" / "04-truncated" / name)

    assert kind in {note.kind for note in trace.notes}


def test_negative_duration_is_one_invalid_event(read: Read) -> None:
    trace = read(SHARED / "cases" / "07-short-zero-negative" / "zero_negative.json")

    assert trace.dropped_work["reason"].to_pylist() == ["negative_duration"]
    assert trust_report(trace).value("dropped_count") == 1


def test_kernels_before_their_launch_are_counted_and_blamed_on_the_clocks(read: Read) -> None:
    report = trust_report(read(SHARED / "cases" / "09-kernel-before-launch" / "trace.json"))

    assert report.value("negative_latency_count") == 2
    assert report.value("shortest_latency_ns") == -3000
    assert any("clocks" in note for note in report.notes)


def test_every_launch_call_links_whatever_its_name(read: Read) -> None:
    report = kernel_report(read(SHARED / "cases" / "13-launch-api-zoo" / "trace.json"), "trace")

    assert report.value("launch_latency_min_ns") == report.value("launch_latency_p90_ns") == 9000


def test_every_step_is_kept(read: Read) -> None:
    trace = read(SHARED / "cases" / "15-no-step-no-rank" / "three_steps.json")

    steps = gap_report(trace, "steps").children["0"].children

    assert [step.value("busy_ns") for step in steps.values()] == [20_000, 20_000, 20_000]


def test_queue_is_the_lane_and_a_nested_driver_call_no_second_launch(read: Read) -> None:
    trace = read(SHARED / "cases" / "16-xpu-no-stream" / "trace.json")
    report = kernel_report(trace, "trace")

    assert set(trace.work["stream"].to_pylist()) == {"64"}
    assert report.value("host_launch_count") == 3
    assert trust_report(trace).value("lost_work_count") == 0
    assert trace.work["grid"].null_count == 3


def test_deep_stacks_need_no_recursion_and_crossings_are_a_note(read: Read) -> None:
    folder = SHARED / "cases" / "18-deep-and-crossing-stacks"
    deep, crossing = read(folder / "deep.json"), read(folder / "crossing.json")

    assert max(deep.frames["depth"].to_pylist()) == 1499
    assert len(gap_report(crossing, "steps").children["0"].children) == 2
    assert any(note.kind.startswith("crossing") for note in crossing.notes)


def test_ids_beyond_64_bits_keep_every_digit(read: Read) -> None:
    trace = read(SHARED / "cases" / "21-ints-above-int64" / "trace.json")

    assert set(filter(None, trace.work["communicator"].to_pylist())) == {
        "17293822569102704641",
        "17293822569102704642",
    }


def test_names_are_encoded_once_each(read: Read) -> None:
    trace = read(SHARED / "cases" / "22-million-kernels" / "sample_200.json")

    assert len(codes_and_words(trace.work, "name")[1]) == 40
    assert kernel_report(trace, "trace").table("kernels")["mean_ns"].to_list() == [3000.0] * 40
