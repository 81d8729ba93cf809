"""The command line as a person or a script uses it: answers on stdout, progress and errors on stderr, exit codes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from explorer.cli import main


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_buckets_prints_vllm_s_list_and_pads_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    answer = json_of(capsys, "buckets", "--rule", "vllm", "--max", "512", "--batch", "257", "513")
    assert len(answer["lists"][0]["sizes"]) == 51
    assert answer["batches"] == [
        {"rule": "vllm", "batch": 257, "bucket": 272, "padding": 15, "waste_ratio": 0.0551},
        {"rule": "vllm", "batch": 513, "bucket": None, "padding": None, "waste_ratio": None},
    ]


def test_buckets_takes_several_rules_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    answer = json_of(capsys, "buckets", "--rule", "sglang", "--rule", "powers", "--max", "256")
    assert [(entry["rule"], len(entry["sizes"])) for entry in answer["lists"]] == [("sglang", 36), ("powers", 9)]


def test_buckets_follow_from_the_running_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert json_of(capsys, "buckets", "--max-num-seqs", "3")["lists"][0]["sizes"] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["buckets", "--rule", "sglang"], "give --max"),
        (["buckets", "--max", "0"], "--max is 0"),
        (["buckets", "--max", "8", "--batch", "0"], "from 1"),
        (["run", "--out", "x", "--device", "cpu", "--mode", "cuda_graph"], "CUDA device"),
        (["run", "--out", "x", "--model", "gpt-5"], "choose one of tiny"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_presets_name_every_model_with_its_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets"]) == 0
    assert "qwen3-0.6b   0.596 billion parameters" in capsys.readouterr().out
