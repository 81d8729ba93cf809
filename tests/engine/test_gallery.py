"""Does the gallery find out what compiling changes? On the CPU, with Inductor's C++ kernels."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from explorer.engine import gallery
from explorer.engine.gallery_expressions import expression_of
from explorer.engine.gallery_operators import watch_operators
from explorer.engine.journal import Journal
from explorer.errors import SettingsError
from explorer.gallery_results import ExpressionResult, GalleryResults, results_from_json
from explorer.gallery_settings import EXPRESSION_TITLES, GallerySettings
from explorer.recording import RESULTS_FILE, Recording, create_recording

ROOT = Path(__file__).parents[2]
SMALL = GallerySettings(row_count=16, hidden_size=64)
COMPILED = ("sigmoid_chain", "residual_rms_norm", "item_break", "branch", "view_chain")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    settings = GallerySettings(expressions=COMPILED, repeat_count=3, profiled_calls=1)
    made = create_recording(tmp_path_factory.mktemp("gallery"), settings)
    done = subprocess.run(
        [sys.executable, "-m", "explorer.engine", str(made.folder)],
        cwd=ROOT,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        timeout=400,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, made.log_path.read_text(encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def results(recording: Recording) -> GalleryResults:
    return results_from_json(recording.results())


def _found(results: GalleryResults, name: str) -> ExpressionResult:
    found = results.expression(name)
    assert found is not None
    assert not found.failure
    return found


@pytest.mark.parametrize("name", EXPRESSION_TITLES)
def test_every_expression_runs_and_names_the_tensors_it_reads(name: str) -> None:
    eager = watch_operators(expression_of(name, SMALL))
    assert torch.isfinite(eager.out).all()
    known = {f"x{place}" for place in range(len(expression_of(name, SMALL).inputs))}
    for operator in eager.operators:
        assert set(operator.reads) <= known
        known |= set(operator.writes)
        assert operator.line is not None


def test_sigmoid_chain_moves_eight_tensors_of_which_fusion_leaves_four() -> None:
    eager = watch_operators(expression_of("sigmoid_chain", SMALL))
    tensor_bytes = 16 * 64 * 4
    assert sum(one.read_bytes + one.written_bytes for one in eager.operators) == 8 * tensor_bytes
    assert eager.fused_bytes == 4 * tensor_bytes
    assert (eager.temporary_count, eager.temporary_bytes) == (2, 2 * tensor_bytes)
    assert [one.writes for one in eager.operators] == [["t1"], ["t2"], ["out"]]


def test_residual_rms_norm_has_seven_operators() -> None:
    eager = watch_operators(expression_of("residual_rms_norm", SMALL))
    assert [one.name for one in eager.operators if not one.is_view] == [
        *("aten::add", "aten::pow", "aten::mean", "aten::add", "aten::rsqrt", "aten::mul", "aten::mul")
    ]


def test_view_chain_computes_nothing() -> None:
    eager = watch_operators(expression_of("view_chain", SMALL))
    assert all(one.is_view for one in eager.operators)
    assert (eager.temporary_count, eager.fused_bytes) == (0, 0)


def test_own_function_gets_one_tensor_an_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_expressions.py").write_text("def shifted(left, right, by=2.0):\n    return left * right + by\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    expression = expression_of("own", GallerySettings(own_function="my_expressions:shifted", expressions=()))
    assert [tuple(one.shape) for one in expression.inputs] == [(64, 256)] * 2
    assert [one.line for one in watch_operators(expression).operators] == [2, 2]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return x.sum(3)", r"my_broken:f raised IndexError at my_broken.py:2 for tensors of 64 × 256"),
        ("return (x, x)", r"my_broken:f returned tuple; name a function that returns one tensor"),
        ("return nonsense(x)", r"raised NameError at my_broken.py:2"),
        (
            "return x\n\ndef g(x, *, scale):\n    return x\n\nf = g",
            r"my_broken:f raised TypeError .* argument: 'scale'",
        ),
    ],
)
def test_own_function_that_fails_is_said_to_be_at_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, said: str
) -> None:
    (tmp_path / "my_broken.py").write_text(f"def f(x):\n    {body}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "my_broken", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SettingsError, match=said):
        expression_of("own", GallerySettings(own_function="my_broken:f", expressions=()))


def test_own_function_that_is_missing_says_so() -> None:
    with pytest.raises(SettingsError, match="cannot be imported"):
        expression_of("own", GallerySettings(own_function="no_such_module:f"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "operator_count", "kernel_count"),
    [("residual_rms_norm", 7, 1), ("sigmoid_chain", 3, 1), ("view_chain", 0, 0)],
)
def test_operators_become_so_many_kernels(
    results: GalleryResults, name: str, operator_count: int, kernel_count: int
) -> None:
    found = _found(results, name)
    assert len(found.computing_operators) == operator_count
    assert len(found.kernels) == kernel_count
    assert found.graph_breaks == []


@pytest.mark.slow
def test_provenance_names_operators_and_lines_of_the_kernel(results: GalleryResults) -> None:
    (kernel,) = _found(results, "residual_rms_norm").kernels
    assert set(kernel.operators) == {"add", "pow", "mean", "rsqrt", "mul"}
    assert kernel.lines == [2, 3, 4]
    assert "kernel(" in kernel.code


@pytest.mark.slow
@pytest.mark.parametrize(("name", "last_line"), [("item_break", 4), ("branch", 3)])
def test_kernels_of_every_graph_of_a_broken_expression_know_their_lines(
    results: GalleryResults, name: str, last_line: int
) -> None:
    kernels = _found(results, name).kernels
    assert all(kernel.operators and kernel.lines for kernel in kernels)
    assert kernels[-1].lines == [last_line]


@pytest.mark.slow
def test_generated_code_names_no_folder_of_the_machine(recording: Recording) -> None:
    assert "torchinductor" not in (recording.folder / RESULTS_FILE).read_text(encoding="utf-8")


@pytest.mark.slow
def test_item_breaks_the_graph_and_says_where(results: GalleryResults) -> None:
    found = _found(results, "item_break")
    (only,) = found.graph_breaks
    assert "Tensor.item()" in only.reason
    assert only.line is not None
    assert ".item()" in found.source.splitlines()[only.line - 1]
    assert found.graph_count == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_both_sides_agree_with_float64(results: GalleryResults, name: str) -> None:
    found = _found(results, name)
    for side in (found.eager, found.compiled):
        assert side.error_ratio is not None
        assert side.error_ratio < 1e-6
        assert side.time_ns is not None


@pytest.mark.slow
def test_recording_is_finished_and_has_a_trace(recording: Recording) -> None:
    assert recording.state() == "finished"
    assert recording.trace_path.is_file()


def test_gallery_on_a_device_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SettingsError, match="choose device cpu"):
        gallery.run(GallerySettings(device="cuda"), tmp_path, Journal(tmp_path, io.StringIO(), "gallery"))
