"""Is a TORCH_TRACE log read as Dynamo wrote it, and is anybody's log survived?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.torch_trace_log import GUARD_TEXT_LIMIT, entry_of_metrics, grouped_guards, read_jsonl, read_log

HEAD = "V1130 00:34:22.256000 31035 torch/_dynamo/utils.py:1]"
BREAK = """Graph break in user code at /srv/app/serve.py:41
Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call
Unsupported Tensor.item() call
User code traceback:
  File "/srv/app/serve.py", line 41, in step
    if y.sum().item() > 0:
"""


def line(record: dict[str, Any], payload: str = "") -> str:
    rows = [f"{HEAD} {json.dumps(record)}", *(f"\t{row}" for row in payload.splitlines())]
    return "\n".join(rows) + "\n"


def at(frame: int, entry: int, **fields: Any) -> dict[str, Any]:
    return {"frame_id": frame, "frame_compile_id": entry, "attempt": 0, **fields}


METRICS = {
    "compile_id": "0/1",
    "co_name": "step",
    "co_filename": "/srv/app/serve.py",
    "co_firstlineno": 38,
    "guard_count": 2,
    "dynamo_cumulative_compile_time_us": 9000,
    "aot_autograd_cumulative_compile_time_us": 7000,
    "inductor_cumulative_compile_time_us": 6000,
    "triton_compile_time_us": 1000,
    "compile_time_autotune_time_us": 2000,
    "recompile_reason": "0/0: tensor 'x' size mismatch at index 0. expected 1, actual 2  # serve.py:38",
}


def test_a_compilation_has_its_guards_sizes_and_exclusive_stages() -> None:
    text = (
        line(at(0, 1, dynamo_output_graph={"sizes": {"l_x_": ["s0", 4], "l_self_parameters_w": [1]}}), "graph():")
        + line(at(0, 1, dynamo_cpp_guards_str={}), "| +- TENSOR_MATCH: check_tensor(x)  # here\n| +- NOT_NONE: y")
        + line(at(0, 1, compilation_metrics=METRICS))
    )
    (entry,) = read_log(text.splitlines()).entries
    assert (entry.compile_id, entry.frame, entry.file, entry.line) == ("0/1", "step", "app/serve.py", 38)
    assert entry.recompile_reason == "0/0: tensor 'x' size mismatch at index 0. expected 1, actual 2"
    assert entry.input_sizes == {"l_x_": ["s0", "4"]}
    assert [(group.group, group.texts) for group in entry.guards] == [
        ("tensors", ["TENSOR_MATCH: check_tensor(x)"]),
        ("python_state", ["NOT_NONE: y"]),
    ]
    assert entry.stage_ns == {
        "dynamo": 2_000_000,
        "aot_autograd": 1_000_000,
        "inductor": 3_000_000,
        "kernels": 1_000_000,
        "autotune": 2_000_000,
    }
    assert sum(entry.stage_ns.values()) == entry.total_ns


def test_lines_may_come_with_their_ends() -> None:
    text = line(at(0, 0, artifact={"name": "dynamo_graph_break_reason"}), BREAK)
    assert read_log(text.splitlines(keepends=True)) == read_log(text.splitlines())
    (found,) = read_log(text.splitlines()).breaks
    assert (found.file, found.line, found.source) == ("app/serve.py", 41, "if y.sum().item() > 0:")
    assert found.reason == "Unsupported Tensor.item() call"


def test_what_tlparse_wrote_reads_the_same() -> None:
    lines = [json.dumps({"string_table": ["a"]}), json.dumps(at(0, 1, dynamo_cpp_guards_str={}, attempt=1))]
    lines += [json.dumps(at(0, 1, compilation_metrics=METRICS)), "no json"]
    payloads = {("0/1/1", "dynamo_cpp_guards_str"): "| +- NOT_NONE: y"}
    (entry,) = read_jsonl(lines, payloads).entries
    assert entry.frame == "step"
    assert entry.guards[0].texts == ["NOT_NONE: y"]


def test_many_guards_are_counted_and_the_first_are_kept() -> None:
    tree = "\n".join(f"| +- NOT_NONE: y{number}" for number in range(100))
    (group,) = grouped_guards(tree)
    assert group.count == 100
    assert len(group.texts) == GUARD_TEXT_LIMIT


@pytest.mark.parametrize(
    "record",
    [
        {"compilation_metrics": [1]},
        {"compilation_metrics": None},
        {"artifact": "dynamo_graph_break_reason"},
        {"dynamo_output_graph": {"sizes": [1]}},
        {"dynamo_output_graph": 3},
    ],
)
def test_records_of_another_make_are_passed_over(record: dict[str, Any]) -> None:
    log = read_log(line(at(0, 0, **record)).splitlines())
    assert (log.entries, log.breaks) == ((), ())


def test_a_deep_object_is_no_record() -> None:
    deep = f'{HEAD} {{"a": {"[" * 100_000}'
    assert read_log([deep, line(at(0, 1, compilation_metrics=METRICS))]).entries[0].frame == "step"


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from([*METRICS, "graph_node_shapes", "fail_type", "fail_reason"]), ANY))
def test_metrics_of_any_kind_give_an_entry_of_plain_values(metrics: dict[str, Any]) -> None:
    entry = entry_of_metrics(metrics)
    assert all(time >= 0 for time in entry.stage_ns.values())
    assert isinstance(entry.frame, str)
    assert entry.guard_count is None or entry.guard_count >= 0


@settings(deadline=None)
@given(st.lists(st.text(max_size=60)))
def test_text_of_any_kind_is_survived(lines: list[str]) -> None:
    log = read_log(lines)
    assert len(log.entries) + len(log.breaks) <= len(lines)
