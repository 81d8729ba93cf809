"""Is everything that is whole kept from a broken file, and is everything else said?"""

from __future__ import annotations

import json
from typing import Any

import pytest

from explorer.trace import Trace
from tests.reading import trace_of_bytes, trace_of_events


def kernel(**fields: Any) -> dict[str, Any]:
    """A kernel of 2 us at 1 us."""
    return {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {}, **fields}


def notes_of(trace: Trace) -> dict[str, int]:
    """How often what was noted."""
    return {note.kind: note.count for note in trace.notes}


@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        (b'{"ph": "X", "cat": "kernel", "name": "k" "pid": 0}', "dropped_event"),
        (b'{"ph": "X", ', "dropped_event"),
        (b"17", "odd_event"),
        (b'"text"', "odd_event"),
        (b"null", "odd_event"),
        (b'{"ph": "B", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1}', "begin_end"),
    ],
)
def test_a_broken_entry_costs_only_itself(broken: bytes, kind: str) -> None:
    whole = json.dumps(kernel()).encode()

    trace = trace_of_bytes(b'{"traceEvents": [' + b",\n".join([whole, broken, whole]) + b"]}")

    assert len(trace.work) == 2
    assert notes_of(trace) == {kind: 1}


@pytest.mark.parametrize(("begin", "end"), [(b'{"a":', b"}"), (b"[", b"]")], ids=["objects", "lists"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_event_nested_beyond_every_decoder_costs_only_itself(begin: bytes, end: bytes, place: int) -> None:
    whole = json.dumps(kernel()).encode()
    deep = b'{"ph": "X", "cat": "kernel", "args": {"Input Dims": ' + begin * 2000 + b"1" + end * 2000 + b"}}"
    entries = [whole, whole]
    entries.insert(place, deep)

    trace = trace_of_bytes(b'{"traceEvents": [' + b",\n".join(entries) + b"]}")

    assert len(trace.work) == 2
    assert notes_of(trace) == {"dropped_event": 1}


def test_keys_behind_a_last_event_of_many_levels_are_read() -> None:
    levels = b'{"a":' * 9 + rb'"C:\\x"' + b"}" * 9
    last = b'{"ph": "X", "cat": "kernel", "name": "a\\u0062", "ts": 1, "dur": 1, "args": ' + levels + b"}"

    trace = trace_of_bytes(b'{"traceEvents": [' + last + b'], "baseTimeNanoseconds": 1000}')

    assert trace.work["name"].to_pylist() == ["ab"]
    assert trace.source.base_time_ns == 2000
    assert not trace.notes


def test_a_head_nested_beyond_every_decoder_costs_no_event() -> None:
    deep = b"[" * 3000 + b"]" * 3000

    trace = trace_of_bytes(b'{"a": ' + deep + b', "traceEvents": [' + json.dumps(kernel()).encode() + b"]}")

    assert len(trace.work) == 1
    assert notes_of(trace) == {"unreadable_head": 1}


def test_commas_with_nothing_behind_them_cost_neither_events_nor_the_head() -> None:
    event = json.dumps(kernel()).encode()

    trace = trace_of_bytes(b'{"baseTimeNanoseconds": 1000, "traceEvents": [' + event[:-1] + b",}, " + event + b",],}")

    assert len(trace.work) == 2
    assert trace.source.base_time_ns == 2000
    assert notes_of(trace) == {"trailing_comma": 1}


def test_path_that_ends_in_a_backslash_does_not_swallow_the_next_event() -> None:
    broken = rb'{"ph": "X", "cat": "kernel", "name": "C:\dir\", "pid": 0, "tid": 7, "ts": 9, "dur": 1}'
    whole = json.dumps(kernel()).encode()

    trace = trace_of_bytes(b'{"traceEvents": [' + b",\n".join([whole, broken, whole]) + b"]}")

    assert sorted(trace.work["name"].to_pylist()) == ["C:\\dir\\", "k", "k"]


def test_first_byte_of_a_repair_points_at_it() -> None:
    text = b'{"traceEvents": [' + json.dumps(kernel()).encode() + rb', {"ph": "X", "cat": "kernel", "name": "a\q"}]}'

    (note, _) = trace_of_bytes(text).notes

    assert note.kind == "raw_backslash"
    assert note.first_byte == text.index(rb'"a\q"')


def test_path_made_of_valid_escapes_is_still_a_path() -> None:
    text = (
        rb'[{"ph":"X","cat":"python_function","name":"torch\nn\functional.py(7): relu","pid":1,"tid":1,"ts":1,"dur":1}]'
    )

    assert trace_of_bytes(text).frames["name"].to_pylist() == ["torch\\nn\\functional.py(7): relu"]


def test_numbers_written_as_strings_are_numbers() -> None:
    trace = trace_of_events([kernel(ts="1.5", dur="2", args={"correlation": "5", "device": "0"})])

    assert trace.work["recorded_end_ns"].to_pylist() == [2000]
    assert trace.work["correlation"].to_pylist() == [5]


def test_base_time_may_stand_behind_the_events_or_be_missing() -> None:
    behind = b'{"traceEvents": [' + json.dumps(kernel()).encode() + b'], "baseTimeNanoseconds": 1000000000000000000}'

    assert trace_of_bytes(behind).source.base_time_ns == 10**18 + 1000
    assert trace_of_events([kernel()]).source.base_time_ns is None


def test_ids_beyond_62_bits_still_link() -> None:
    huge = 2**64 - 1
    call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 0, "dur": 1}

    trace = trace_of_events([{**call, "args": {"correlation": huge}}, kernel(args={"correlation": huge})])

    assert trace.work["call_row"].to_pylist() == [0]


def test_times_are_relative_to_the_first_event() -> None:
    trace = trace_of_events([kernel(ts=1683564901548726), kernel(ts="1683564901548729.125")])

    assert trace.work["start_ns"].to_pylist() == [0, 3125]


def test_missing_is_null_and_never_minus_one() -> None:
    row = trace_of_events([kernel(args={"grid": [], "stream": None})]).work.to_pylist()[0]

    for column in ("correlation", "call_row", "operator_row", "grid", "block", "registers_per_thread", "copied_bytes",
                   "occupancy_ratio", "position_in_launch"):  # fmt: skip
        assert row[column] is None, column


def test_document_without_events_beside_one_with_events_is_left_out() -> None:
    trace = trace_of_bytes(json.dumps({"traceEvents": [kernel()]}).encode() + b'\n{"model": "tiny"}')

    assert len(trace.work) == 1


def test_size_that_no_column_holds_is_missing() -> None:
    trace = trace_of_events([kernel(args={"registers per thread": 2**40, "bytes": 2**80})])

    assert trace.work["registers_per_thread"].to_pylist() == [None]
    assert trace.work["copied_bytes"].to_pylist() == [None]


@pytest.mark.parametrize(
    "fields",
    [{"cat": None}, {"cat": None, "pid": "300", "ts": "10.5"}, {"cat": "gpu_kernel"}],
    ids=["jax", "ascend", "proton"],
)
def test_a_trace_of_another_tool_is_not_left_out_in_silence(fields: dict[str, Any]) -> None:
    trace = trace_of_events([kernel(**fields), {"ph": "M", "name": "process_name", "args": {"name": "/device:GPU:0"}}])

    assert notes_of(trace) == {"unknown_kind": 1}


def test_events_without_a_category_are_noted_beside_others_too() -> None:
    trace = trace_of_events([kernel(), kernel(cat=None), kernel(cat="gpu_user_annotation")])

    assert len(trace.work) == 1
    assert notes_of(trace) == {"unknown_kind": 1}


@pytest.mark.parametrize(
    ("start", "kind"), [(1719000000000000000, "far_start"), ("1e19", "far_start"), ("soon", "no_start")]
)
def test_a_start_that_no_clock_wrote_is_told_from_none(start: int | str, kind: str) -> None:
    assert notes_of(trace_of_events([kernel(ts=start)])) == {kind: 1}


def test_one_repair_is_said_in_the_singular_and_two_in_the_plural() -> None:
    def said(*broken: bytes) -> str:
        whole = json.dumps(kernel()).encode()
        (note,) = trace_of_bytes(b'{"traceEvents": [' + b", ".join([*broken, whole]) + b"]}").notes
        return note.text

    assert said(b"17") == "1 list entry that is no event"
    assert said(b"17", b"18") == "2 list entries that are no events"
    (note,) = trace_of_bytes(b'{"traceEvents": [' + json.dumps(kernel()).encode() + b', {"ph": "X", "na').notes
    assert note.text.startswith("1 place where the file ends")
