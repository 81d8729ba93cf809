"""Does a sequence of shapes compile as often as torch.compile really does, and is every reason kept?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._dynamo

from explorer.engine.shapes_backend import PieceRun, crossings_of
from explorer.engine.shapes_calls import Caller
from explorer.engine.shapes_logs import keep_log, log_text
from explorer.engine.shapes_missing import missing_of
from explorer.engine.shapes_whole import whole_graph
from explorer.recording import create_recording
from explorer.shapes_results import ShapesResults, VariantResult, results_from_json
from explorer.shapes_settings import SEQUENCES, Dynamic, ShapesSettings, Variant
from explorer.torch_trace_log import read_log
from tests.shared import SHARED, needs_shared, read_json

COUNTED = ShapesSettings(subject="scale_relu", backend="graphs_only", steady_call_count=1)


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    with torch.no_grad(), torch._dynamo.config.patch(recompile_limit=8):
        yield
    torch._dynamo.reset()


def made(settings: ShapesSettings, dynamic: Dynamic) -> VariantResult:
    caller = Caller(settings, Variant(dynamic=dynamic, scope="model", cache="cold"), lambda _: None)
    caller.build()
    caller.call_eagerly()
    caller.call_compiled()
    caller.call_again()
    return caller.result


def cumulative(result: VariantResult) -> list[int]:
    counts, total = [], 0
    for call in result.calls:
        total += len(call.built_ids)
        counts.append(total)
    return counts


def with_sizes(**fields: Any) -> ShapesSettings:
    return ShapesSettings.from_json({**COUNTED.to_json(), **fields})


@needs_shared
@pytest.mark.parametrize(
    ("sequence", "dynamic", "case"),
    [
        ("one_among_many", "none", "8,16,1,32,1,64"),
        ("one_first", "none", "1,8,16,32,1,64"),
        ("one_among_many", "true", "dynamic=True 8,16,1,32,1,64"),
    ],
)
def test_a_batch_of_one_compiles_once_more(sequence: str, dynamic: Dynamic, case: str) -> None:
    expected = read_json(SHARED / "cases" / "27-compile-batch-one" / "expected.json")["workload.py"][case]
    assert cumulative(made(with_sizes(sizes=SEQUENCES[sequence][1]), dynamic)) == expected


@needs_shared
@pytest.mark.parametrize("kind", ["attribute", "argument", "buffer"])
def test_a_position_compiles_as_often_as_it_is_guarded(kind: str) -> None:
    expected = read_json(SHARED / "cases" / "28-compile-int-attribute-limit" / "expected.json")["workload.py"]
    case = {"attribute": "int_attribute", "argument": "int_argument", "buffer": "tensor_buffer"}[kind]
    result = made(with_sizes(subject=f"position_{kind}", sizes=SEQUENCES["same"][1]), "none")
    assert cumulative(result) == expected[case]
    assert result.recompile_limit == expected["recompile_limit"]
    assert [call.outcome for call in result.calls].count("eager") == (
        expected["eager_steps"] if kind == "attribute" else 0
    )
    assert all(call.error_ratio == 0 for call in result.calls)


def test_the_limit_names_the_attribute_at_the_ninth_step() -> None:
    result = made(with_sizes(subject="position_attribute", sizes=SEQUENCES["same"][1]), "none")
    ninth = result.calls[8]
    assert ninth.outcome == "eager"
    (entry,) = [entry for entry in result.entries if entry.compile_id in ninth.entry_ids]
    assert entry.is_limit
    assert entry.recompile_reason == "0/7: self.position == 7"


@pytest.mark.parametrize(("dynamic", "count"), [("false", 6), ("true", 2), ("none", 2), ("mark_dynamic", 2)])
def test_six_sizes_build_so_many_graphs(dynamic: Dynamic, count: int) -> None:
    result = made(COUNTED, dynamic)
    assert result.graph_count == count
    assert [call.size for call in result.calls] == [1, 2, 3, 5, 8, 13]
    assert {time.outcome for time in result.steady} == {"reused"}


def test_buckets_compile_once_a_bucket_and_answer_as_without() -> None:
    result = made(COUNTED, "buckets")
    assert [call.padded_size for call in result.calls] == [1, 2, 4, 8, 8, 16]
    assert result.graph_count == 5
    assert all(call.error_ratio == 0 for call in result.calls)


def test_ten_sizes_pass_the_limit_without_dynamic_shapes() -> None:
    result = made(with_sizes(sizes=SEQUENCES["ten_sizes"][1]), "false")
    assert [call.outcome for call in result.calls] == ["compiled"] * 8 + ["eager"] * 2
    assert [time.outcome for time in result.steady] == ["reused"] * 8 + ["eager"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["model", "layer"])
@pytest.mark.parametrize("dynamic", ["none", "mark_dynamic"])
def test_the_model_answers_as_eagerly(scope: str, dynamic: Dynamic) -> None:
    settings = with_sizes(subject="model", sizes=(4, 2, 3), context_tokens=20)
    caller = Caller(settings, Variant(dynamic=dynamic, scope=scope, cache="cold"), lambda _: None)  # type: ignore[arg-type]
    caller.build()
    caller.call_eagerly()
    caller.call_compiled()
    calls = caller.result.calls
    assert calls[0].outcome == "compiled"
    assert calls[-1].outcome == "reused"
    assert all(call.error_ratio is not None and call.error_ratio < 1e-5 for call in calls)


@pytest.mark.slow
def test_prompts_of_any_length_answer_as_eagerly() -> None:
    result = made(with_sizes(subject="model", axis="length", sizes=(5, 9, 7), dynamics=("none",)), "none")
    assert [call.outcome for call in result.calls] == ["compiled", "compiled", "reused"]
    assert all(call.error_ratio is not None and call.error_ratio < 1e-5 for call in result.calls)


def test_item_breaks_the_graph_and_fullgraph_refuses_at_the_same_line() -> None:
    found = whole_graph(with_sizes(subject="item_branch"))
    (broken,) = found.breaks
    assert (found.graph_count, found.break_count) == (2, 1)
    assert "Tensor.item()" in broken.reason
    assert broken.source == "if y.sum().item() > 0:"
    assert "data-dependent" in found.refusal
    assert found.refusal_line == broken.line


def test_a_crossing_is_timed_between_the_pieces_of_a_broken_graph() -> None:
    result = made(with_sizes(subject="item_branch", sizes=(4, 6), steady_call_count=3), "none")
    assert [crossing.size for crossing in result.crossings] == [4, 6]
    for crossing, steady in zip(result.crossings, result.steady, strict=True):
        assert crossing.from_id != crossing.to_id
        assert len(crossing.latencies_ns) == 3
        assert all(
            0 < between < whole for between, whole in zip(crossing.latencies_ns, steady.latencies_ns, strict=True)
        )
        assert (crossing.from_id, crossing.to_id) == tuple(result.calls[-1].ran_ids)


def test_what_is_not_broken_has_no_crossing() -> None:
    assert made(COUNTED, "none").crossings == []


def test_calls_that_ran_different_pieces_have_no_crossing() -> None:
    first, second = PieceRun("0/0", 0, 1), PieceRun("1/0", 5, 6)
    assert crossings_of(2, [[first, second], [first]]) == []
    (crossing,) = crossings_of(2, [[first, second]])
    assert crossing.latencies_ns == [4]


def test_what_fits_into_one_graph_is_not_refused() -> None:
    found = whole_graph(COUNTED)
    assert (found.graph_count, found.break_count, found.refusal) == (1, 0, "")


def test_a_missing_triton_is_named() -> None:
    error = RuntimeError("Cannot find a working triton installation. Either the package is not installed or old.")
    assert "Triton is not installed" in missing_of(error).message


def test_an_unwritable_cache_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    occupied = tmp_path / "a-file"
    occupied.write_text("")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(occupied / "cache"))
    message = missing_of(NotADirectoryError(20, "Not a directory")).message
    assert message.startswith("The folder in TORCHINDUCTOR_CACHE_DIR cannot be written")


def test_a_kept_log_reads_as_before_and_names_no_folder(tmp_path: Path) -> None:
    folder = tmp_path / "torch_trace"
    folder.mkdir()
    record = '{"dynamo_cpp_guards_str": {}, "frame_id": 0, "frame_compile_id": 0, "has_payload": "0"}'
    guard = f"\t| +- EQUALS_MATCH: L['self'].position == 7  # {Path(__file__).resolve().parents[2]}/explorer/x.py:3\n"
    head = "V1130 00:34:22.256000 31035 torch/_dynamo/guards.py:1]"
    metrics = f'{head} {{"compilation_metrics": {{"compile_id": "0/0", "co_name": "f"}}}}\n'
    (folder / "a.log").write_text(f"{head} {record}\n{guard}{metrics}")
    text = log_text(folder)
    assert str(Path(__file__).resolve().parents[2]) not in text
    (entry,) = read_log(text.splitlines()).entries
    assert entry.guards[0].texts == ["EQUALS_MATCH: L['self'].position == 7"]
    keep_log(tmp_path / "kept.zip", "model-none-cold", text)
    assert (tmp_path / "kept.zip").stat().st_size > 0


HOSTILE = {
    "unwritable cache": ("TORCHINDUCTOR_CACHE_DIR", "The folder in TORCHINDUCTOR_CACHE_DIR cannot be written"),
    "no C++ compiler": ("CXX", "There is no working C++ compiler"),
}


@pytest.mark.slow
@pytest.mark.parametrize("environment", HOSTILE)
def test_a_hostile_environment_is_named_and_eager_results_stay(environment: str, tmp_path: Path) -> None:
    variable, message = HOSTILE[environment]
    occupied = tmp_path / "a-file"
    occupied.write_text("")
    settings = with_sizes(backend="inductor", sizes=[2, 3], dynamics=["none"], tries_warm=False)
    folder = create_recording(tmp_path / "recording", settings).folder
    subprocess.run(
        [sys.executable, "-m", "explorer.engine", str(folder)],
        env={**os.environ, variable: str(occupied / "nothing")},
        stdout=subprocess.DEVNULL,
        cwd=Path(__file__).parents[2],
        check=True,
    )
    results: ShapesResults = results_from_json(json.loads((folder / "results.json").read_text(encoding="utf-8")))
    (variant,) = results.variants
    assert variant.missing is not None
    assert variant.missing.message.startswith(message)
    assert [time.size for time in results.eager] == [2, 3]
