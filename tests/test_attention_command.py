"""Does `explorer attention` probe this machine and tell what a probe found?"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.attention_command import add_attention, probe_settings
from explorer.cli import main
from explorer.errors import SettingsError
from explorer.probe_settings import ProbeSettings
from tests.drawn_probe import write_probe
from tests.shared import SHARED, needs_shared

ROOT = Path(__file__).parents[1]


def settings_of(*arguments: str) -> ProbeSettings:
    parser = argparse.ArgumentParser()
    add_attention(parser)
    return probe_settings(parser.parse_args(arguments))


def test_own_call_is_read_and_stands_alone() -> None:
    settings = settings_of("--device", "cuda", "--call", "query_tokens=1", "head_size=64", "is_causal=true", "mask=all")
    assert settings.call_sets == ()
    (call,) = settings.own_calls
    assert (call.query_tokens, call.head_size, call.value_head_size, call.is_causal, call.mask) == (
        1,
        64,
        64,
        True,
        "all",
    )


def test_every_call_given_is_tried() -> None:
    settings = settings_of(
        *("--call", "query_tokens=1", "--call", "query_tokens=2", "label=mine"), *("--call", "query_tokens=3")
    )
    assert [(call.label, call.query_tokens) for call in settings.calls()] == [
        ("own call", 1),
        ("mine", 2),
        ("own call 3", 3),
    ]


def test_cpu_leaves_flex_out_and_takes_small_sizes() -> None:
    on_cpu, on_gpu = settings_of("--device", "cpu"), settings_of("--device", "cuda")
    assert (on_cpu.flex_seconds, on_cpu.scale) == (0, "small")
    assert (on_gpu.flex_seconds > 0, on_gpu.scale) == (True, "full")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--call", "colour=red"), "no FIELD=VALUE"),
        (("--call", "head_size=wide"), "choose a number"),
        (("--call", "is_causal=perhaps"), "is_causal is 'perhaps'"),
        (("--call", "dropout_ratio=2"), "dropout_ratio is 2.0"),
        (("--call", "label=mine", "--call", "label=mine"), "Two calls are labelled 'mine'"),
        (("--sets",), "Nothing to try"),
    ],
)
def test_call_that_cannot_be_made_is_refused_with_a_reason(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        settings_of(*arguments)


def test_recording_or_folder_but_not_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attention"]) == 2
    assert main(["attention", str(tmp_path), "--out", str(tmp_path / "new")]) == 2
    assert "Give a recording to tell about, or --out" in capsys.readouterr().err


def test_probe_is_told_as_json_and_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_probe(tmp_path / "probe")
    assert main(["attention", str(tmp_path / "probe"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["calls"][0]["chosen"] == "cudnn"
    assert main(["attention", str(tmp_path / "probe")]) == 0
    told = capsys.readouterr().out
    assert "Every backend's answer" in told
    assert "note: is_causal with 128 queries and 1,024 keys is aligned upper left" in told


def test_recording_of_a_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = ROOT / "traces" / "samples" / "h200-eager"
    assert main(["attention", str(sample)]) == 3
    assert "is a recording of a run, not of a probe" in capsys.readouterr().err


@needs_shared
@pytest.mark.slow
def test_choices_are_those_that_the_case_prints_on_this_machine(tmp_path: Path) -> None:
    workload = SHARED / "cases" / "26-sdpa-why-not-flash" / "workload.py"
    here = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    printed = subprocess.run([sys.executable, str(workload)], capture_output=True, text=True, check=True, env=here)
    expected = {name: value.lower() for name, value in json.loads(printed.stdout).items() if name not in _NO_CALLS}
    command = [sys.executable, "-m", "explorer.cli", "attention", "--out", str(tmp_path / "probe"), "--json"]
    options = ["--device", "cpu", "--sets", "why_not", "--no-compile", "--repeats", "2"]
    told = subprocess.run([*command, *options], capture_output=True, text=True, check=True, env=here, cwd=ROOT)
    found = json.loads(told.stdout)
    assert {call["label"]: call["chosen"] for call in found["calls"]} == expected
    assert any("CPU and CUDA differ" in note for note in found["notes"])


_NO_CALLS = ("device", "torch")


def test_a_path_without_a_probe_says_what_is_wrong_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attention", str(tmp_path / "nosuch")]) == 3
    assert "nosuch does not exist. Make one with `explorer attention --out DIR`." in capsys.readouterr().err
    assert main(["attention", str(tmp_path)]) == 3
    assert "has no settings.json. Make one with `explorer attention --out DIR`." in capsys.readouterr().err
