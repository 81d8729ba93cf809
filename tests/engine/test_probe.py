"""Is the probe's answer PyTorch's own, and does a refused or failing call stay a cell?"""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch._functorch.config as functorch_config
import torch._inductor.config as inductor_config

from explorer.attention_call import AttentionCall
from explorer.attention_calls import calls_of
from explorer.attention_names import backend_that_ran
from explorer.engine import probe
from explorer.engine import probe_ask as ask
from explorer.engine.journal import Journal
from explorer.engine.probe_cells import Examiner, FlexBudget, changes_of, enabling_changes
from explorer.engine.probe_graphs import KEPT_PAIRS, compiled_under, try_compile, try_graphs
from explorer.engine.probe_inputs import make_inputs
from explorer.engine.probe_kernels import Marked, kernels_of
from explorer.engine.probe_measure import Stopwatch
from explorer.engine.probe_ragged import WAYS, Phase, Way, ragged_batch, ragged_reference, ragged_result, ragged_run
from explorer.engine.probe_reasons import reason_of
from explorer.errors import SettingsError
from explorer.probe_results import CallResult, results_from_json
from explorer.probe_settings import ProbeSettings
from explorer.recording import create_recording
from tests.drawn_calls import choice_of_pytorch, random_calls

ROOT = Path(__file__).parents[2]
DEVICE = torch.device("cpu")
RANDOM_CALLS = random_calls(
    150,
    head_counts=(1, 4, 6),
    kv_tokens=(1, 5, 40),
    head_sizes=(4, 33, 64, 300),
    value_head_size=16,
    dropouts=(0.0, 0.0, 0.1),
)


@pytest.fixture(autouse=True)
def warnings_said_every_time() -> Iterator[None]:
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)


def call_of(**fields: object) -> AttentionCall:
    small = {"query_head_count": 4, "kv_head_count": 4, "query_tokens": 6, "kv_tokens": 6}
    sizes = {"head_size": 16, "value_head_size": 16}
    return AttentionCall(label="examined", **{**small, **sizes, **fields})  # type: ignore[arg-type]


def test_choice_is_that_of_pytorch_for_named_and_random_calls() -> None:
    differing = []
    for call in [*calls_of("why_not", "small"), *RANDOM_CALLS]:
        inputs = make_inputs(call, DEVICE, 0)
        expected = choice_of_pytorch(call, inputs)
        found = ask.automatic_choice(inputs)[0]
        if found != expected or (found in ask.SDPA_BACKENDS and not ask.accepts(found, inputs)):
            differing.append((call.sentence, found, expected))
    assert differing == []


def test_refusals_on_the_cpu_have_words_and_a_sentence() -> None:
    said = {}
    for call in calls_of("why_not", "small"):
        inputs = make_inputs(call, DEVICE, 0)
        if not ask.accepts("flash", inputs):
            said[call.label] = reason_of(ask.refusal("flash", inputs))
    assert said == {
        "mask_3d": "takes masks of 2 or 4 dimensions only",
        "v_dim_differs": "keys and values must have the same head size",
        "last_dim_strided": "the last dimension must be contiguous",
        "dropout": "takes no dropout",
    }


@pytest.mark.parametrize("backend", ["efficient", "cudnn"])
def test_backend_that_this_build_lacks_is_not_given_by_it(backend: str) -> None:
    inputs = make_inputs(call_of(), DEVICE, 0)
    assert not ask.accepts(backend, inputs)
    assert reason_of(ask.refusal(backend, inputs)) == "not given by this build"


def examiner_of(flex_seconds: int = 0) -> Examiner:
    return Examiner(DEVICE, Stopwatch(DEVICE, 3), FlexBudget.of(flex_seconds), 0, lambda call, run: None)


def test_examined_call_has_a_cell_for_every_backend() -> None:
    result = examiner_of().examine(call_of())
    outcomes = {cell.backend: cell.outcome for cell in result.cells}
    assert outcomes == {
        "flash": "ran",
        "efficient": "refused",
        "cudnn": "refused",
        "math": "ran",
        "flex": "not_tried",
    }
    assert result.chosen == "flash"
    math = result.cell("math")
    assert math is not None
    assert math.error_ratio is not None
    assert math.error_ratio < 0.01
    assert math.time_ns is not None
    assert math.repeat_count == 3


def test_dropout_has_no_error_and_says_why() -> None:
    cell = examiner_of().examine(call_of(dropout_ratio=0.5)).cell("math")
    assert cell is not None
    assert (cell.error_ratio, cell.error_note) == (None, "dropout makes the result random")


def test_call_whose_queries_see_nothing_has_no_error_and_says_why() -> None:
    cell = examiner_of().examine(call_of(query_tokens=1, mask="nothing")).cell("math")
    assert cell is not None
    assert (cell.error_ratio, cell.error_note) == (None, "no query sees a key")


def test_inputs_that_do_not_fit_make_every_cell_fail() -> None:
    enormous = call_of(batch_size=4096, query_head_count=256, kv_head_count=256, query_tokens=2**20, head_size=1024)
    result = examiner_of().examine(enormous)
    assert {cell.outcome for cell in result.cells} == {"failed"}
    assert all(cell.reason == "ran out of memory while making the inputs" for cell in result.cells)


def test_smallest_change_that_makes_flash_possible_is_found() -> None:
    one = call_of(dropout_ratio=0.1)
    assert enabling_changes(one, "flash", DEVICE) == [["no dropout"]]
    two = call_of(dropout_ratio=0.1, value_head_size=8)
    assert enabling_changes(two, "flash", DEVICE) == [["values as wide as keys", "no dropout"]]
    assert enabling_changes(two, "cudnn", DEVICE) == []


def test_turned_choice_tells_what_would_be_chosen() -> None:
    changes = {(change.name, change.value): change for change in changes_of(call_of(), DEVICE)}
    assert changes["dropout_ratio", "0.1"].chosen == "math"
    assert changes["dropout_ratio", "0.1"].accepted == ["math"]
    assert changes["mask", "padding"].chosen == "flash"


@pytest.mark.parametrize(("phase", "way"), [(phase, way) for phase, ways in WAYS.items() for way in ways])
def test_ragged_rows_have_one_answer_by_every_way(phase: Phase, way: Way) -> None:
    batch = ragged_batch(phase, "small", DEVICE, 0)
    expected = ragged_reference(batch)
    out = ragged_run(batch, way)()
    assert float((out.double() - expected).norm() / expected.norm()) < 0.01


def test_ragged_pairs_and_copies_are_counted() -> None:
    batch = ragged_batch("extend", "small", DEVICE, 0)
    by_way = {way: ragged_result(batch, way) for way in WAYS["extend"]}
    useful = sum(total - new + query + 1 for _, total, new in batch.rows() for query in range(new))
    assert {result.useful_pair_count for result in by_way.values()} == {useful}
    assert by_way["padded"].computed_pair_count == 4 * 20 * 100
    assert by_way["square"].computed_pair_count == sum(n * (n + 1) // 2 for n in (100, 7, 51, 13))
    assert by_way["padded"].copied_bytes == 0
    assert by_way["one_call_a_row"].copied_bytes == (100 + 7 + 51 + 13) * 8 * 128 * 2 * 2


def test_graphs_are_not_tried_without_a_gpu() -> None:
    assert {tried.survival for tried, _ in try_graphs("flash", DEVICE)} == {"not_tried"}


@pytest.mark.slow
def test_backend_survives_compiling_and_forcing_another_around_it_changes_nothing(tmp_path: Path) -> None:
    fresh = {"fx_graph_cache": False, "cpp.enable_kernel_profile": True}
    with inductor_config.patch(fresh), functorch_config.patch(enable_autograd_cache=False):
        (tried, again), *_ = try_compile("flash", DEVICE)
        kept = [compiled_under(first, then, DEVICE) for first, then in KEPT_PAIRS]
    assert tried.survival == "survives"
    assert again is not None
    marked = [Marked(lambda: again), *(Marked(lambda run=run: run) for run in kept)]  # type: ignore[misc]
    seen = kernels_of(marked, DEVICE, tmp_path, lambda done, total: None)
    assert [backend_that_ran(names) for names in seen] == ["flash", *(first for first, _ in KEPT_PAIRS)]


@pytest.mark.slow
def test_probe_leaves_results_kernels_and_a_trace(tmp_path: Path) -> None:
    own = (call_of(), call_of(dropout_ratio=0.1))
    labelled = tuple(AttentionCall.from_json({**call.to_json(), "label": str(n)}) for n, call in enumerate(own))
    settings = ProbeSettings(own_calls=labelled, call_sets=(), flex_seconds=0, tries_compile=False, repeat_count=2)
    recording = create_recording(tmp_path / "probe", settings)
    command = [sys.executable, "-m", "explorer.engine", str(recording.folder)]
    assert subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL, timeout=200).returncode == 0
    results = results_from_json(recording.results())
    assert recording.state() == "finished"
    assert recording.trace_path.exists()
    assert [ran_backends(result) for result in results.calls] == [{"flash", "math"}, {"math"}]
    assert [entry.ran_backends for entry in results.ragged] == [["flash"]] * 5
    assert results.calls[1].cells[0].enabling == [["no dropout"]]
    assert list(recording.facts().stage_ns) == list(settings.stages)


def ran_backends(result: CallResult) -> set[str | None]:
    return {cell.ran_backend for cell in result.cells if cell.outcome == "ran"}


def test_probe_on_a_device_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SettingsError, match="choose device cpu"):
        probe.run(ProbeSettings(device="cuda"), tmp_path, Journal(tmp_path, io.StringIO(), "probe"))
