"""Are eager and compiled kernels matched rightly, and do the groups add up to the step's change?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.analysis.fusion import CACHED_LIMIT, CPU_LIMIT, Fusion, fusion, fusion_report, headline
from explorer.analysis.fusion_groups import match_groups
from explorer.analysis.fusion_kernels import Kernel, StepKernels, is_compiled_side, step_kernels
from explorer.analysis.fusion_names import generated_words, group_title, is_named, operator_word
from explorer.analysis.kernels import kernel_report
from explorer.report import Report
from explorer.spans import NO_ROW
from explorer.trace import Trace
from tests.reading import trace_of_events
from tests.shared import SHARED, needs_shared, read_json

SAMPLES = Path(__file__).parents[2] / "traces" / "samples"
CASE = SHARED / "cases" / "32-fusion-before-after"
Read = Callable[[Path], Trace]


def _answer(read: Read, eager: Path, compiled: Path) -> Fusion:
    return fusion(_step(read(eager)), _step(read(compiled)), 4.1e12)


def _report(read: Read, eager: Path, compiled: Path) -> Report:
    return _answer(read, eager, compiled).report


def _step(trace: Trace) -> StepKernels:
    step = step_kernels(trace)
    assert step is not None
    return step


def _kernel(word: str, *, family: str = "elementwise", words: str | None = None, time_ns: int = 5) -> Kernel:
    return Kernel(
        name=f"triton_poi_fused_{words}_0" if words else word,
        family=family,
        operators=(word,),
        operator_row=NO_ROW,
        call_row=NO_ROW,
        dims="",
        words=words,
        layer=None,
        time_ns=time_ns,
        gap_ns=0,
        overlap_ns=0,
    )


def test_names_of_generated_kernels_tell_their_operators() -> None:
    assert generated_words("triton_per_fused__to_copy_add_mean_4") == "_to_copy_add_mean"
    assert generated_words("graph_12_cpp_fused_add_mul_sigmoid_0") == "add_mul_sigmoid"
    assert generated_words("nvjet_sm90_tst_8x64") is None
    assert is_named([operator_word("aten::_to_copy")], ["_to_copy_add_mean"])
    assert not is_named(["copy"], ["index_put_copy2"])


def test_groups_are_called_what_they_compute() -> None:
    assert group_title(["add", "pow", "mean", "add", "rsqrt", "mul", "mul"]) == "residual + RMSNorm"
    assert group_title(["silu", "mul"]) == "SwiGLU"
    assert group_title(["add", "mul", "exp", "sin", "cos"]) == "add, mul, exp, sin and 1 more"


def test_work_moved_over_a_product_joins_the_neighbour_that_shares_its_operators() -> None:
    product = _kernel("mm", family="matmul")
    eager = [_kernel("pow"), product, product, _kernel("neg"), _kernel("cat"), _kernel("pow"), product]
    compiled = [_kernel("f", words="pow"), product, _kernel("g", words="cat_neg_pow"), product, product]
    groups = match_groups(eager, compiled)
    between = [([one.word for one in group.eager], [one.words for one in group.compiled]) for group in groups
               if not group.is_anchor]  # fmt: skip
    assert between == [(["pow"], ["pow"]), (["neg", "cat", "pow"], ["cat_neg_pow"])]


def test_kernels_that_share_no_operator_stay_unmatched() -> None:
    groups = match_groups([_kernel("sort"), _kernel("topk")], [_kernel("f", words="mul")])
    assert [group.match for group in groups] == ["unmatched"]


def test_a_split_product_of_a_replay_stays_one_anchor() -> None:
    reduce = _kernel("cublasLt::splitKreduce_kernel", family="matmul")
    eager = [_kernel("mm", family="matmul"), _kernel("mul"), _kernel("mm", family="matmul")]
    compiled = [_kernel("mm", family="matmul"), reduce, _kernel("f", words="mul"), _kernel("mm", family="matmul")]
    assert [len(group.compiled) for group in match_groups(eager, compiled)] == [2, 1, 1]


@given(
    st.lists(st.sampled_from(["mm", "add", "mul", "pow"]), min_size=1, max_size=20),
    st.lists(st.sampled_from(["mm", "add_mul", "pow", "exp"]), min_size=1, max_size=20),
)
def test_every_kernel_is_in_exactly_one_group(eager_words: list[str], compiled_words: list[str]) -> None:
    def kernels(words: list[str], *, generated: bool) -> list[Kernel]:
        return [
            _kernel(word, family="matmul", time_ns=place)
            if word == "mm"
            else _kernel(word, words=word if generated else None, time_ns=place)
            for place, word in enumerate(words)
        ]

    eager, compiled = kernels(eager_words, generated=False), kernels(compiled_words, generated=True)
    groups = match_groups(eager, compiled)
    assert sorted(one.time_ns for group in groups for one in group.eager) == list(range(len(eager)))
    assert sorted(one.time_ns for group in groups for one in group.compiled) == list(range(len(compiled)))


def test_overlapping_streams_are_the_remainder() -> None:
    def trace(second_start: int, name: str) -> Trace:
        return trace_of_events(
            [
                {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": start, "dur": 10,
                 "args": {"device": 0, "stream": stream, "correlation": 0}}
                for stream, start in ((7, 0), (9, second_start))
            ]
        )  # fmt: skip

    report = fusion_report(_step(trace(10, "k")), _step(trace(4, "k")))
    assert report.value("step_change_ns") == -6000
    assert (report.value("groups_change_ns"), report.value("gaps_change_ns")) == (0, 0)
    assert report.value("remainder_ns") == -6000


@pytest.mark.parametrize(
    ("eager", "compiled"),
    [
        ("h200-eager", "h200-compile"),
        ("h200-eager", "h200-compile-cuda-graph"),
        ("h200-prefill-eager", "h200-prefill-compile"),
    ],
)
def test_bundled_pairs_reconcile_and_are_matched(read: Read, eager: str, compiled: str) -> None:
    report = _report(read, SAMPLES / eager / "trace.json.gz", SAMPLES / compiled / "trace.json.gz")
    step, groups, gaps = (report.value(key) for key in ("step_change_ns", "groups_change_ns", "gaps_change_ns"))
    assert step is not None
    assert groups is not None
    assert gaps is not None
    assert abs(step - groups - gaps) <= 0.02 * abs(step)
    ledger = report.table("ledger")
    assert ledger["time_change_ns"].sum() == groups
    assert ledger["gap_change_ns"].sum() == gaps
    for key in ("matched_a_ratio", "matched_b_ratio"):
        share = report.value(key)
        assert share is not None
        assert share >= 0.95


def test_bundled_pair_folds_into_one_layer_with_its_spread(read: Read) -> None:
    answer = _answer(read, SAMPLES / "h200-eager" / "trace.json.gz", SAMPLES / "h200-compile" / "trace.json.gz")
    ledger = answer.report.table("ledger")
    rows = {(row["group"], row["place"]): row for row in ledger.to_dict("records")}
    norm = rows["residual + RMSNorm", "28 layers"]
    assert (norm["kernels_a_count"], norm["kernels_b_count"]) == (252, 28)
    assert norm["spread_ns"] > 0
    assert norm["verdict"] == "faster"
    swiglu = rows["SwiGLU", "28 layers"]
    assert (swiglu["bytes_a"], swiglu["bytes_b"]) == (28 * 5 * 3072 * 2, 28 * 2 * 3072 * 2)
    assert len(ledger) < 20
    assert headline(answer).startswith("1,728 kernels became 436.")


@needs_shared
def test_case_32_leaves_out_trials_and_shows_the_slower_fusion(read: Read) -> None:
    expected = read_json(CASE / "expected.json")
    report = _report(read, CASE / "eager.json", CASE / "compiled.json")
    for side, file in (("a", "eager.json"), ("b", "compiled.json")):
        assert report.value(f"kernels_{side}_count") == expected[file]["kernels"]
        assert report.value(f"busy_{side}_ns") == expected[file]["busy_us"] * 1000
        assert report.value(f"step_{side}_ns") == expected[file]["span_us"] * 1000
        assert report.value(f"idle_{side}_ns") == expected[file]["idle_us"] * 1000
    assert report.value("left_out_count") == expected["compiled.json"]["trials_excluded"]
    assert any("leaves out 3 kernels" in note for note in report.notes)
    groups = {row["eager"]: row for row in report.table("groups").to_dict("records")}
    first, second = groups["add, gelu, mul"], groups["add, native_layer_norm"]
    assert first["compiled"] == "triton_poi_fused_add_gelu_mul_0"
    assert second["compiled"] == "triton_red_fused_add_native_layer_norm_1"
    assert [first["time_a_ns"], first["time_b_ns"]] == [one * 1000 for one in expected["fusion1_us"]]
    assert [second["time_a_ns"], second["time_b_ns"]] == [one * 1000 for one in expected["fusion2_us"]]
    verdicts = {row["group"]: row["verdict"] for row in report.table("ledger").to_dict("records")}
    assert verdicts["residual + LayerNorm"] == "slower"
    assert verdicts["GELU"] == "faster"


@needs_shared
def test_pointwise_pair_moves_half_the_bytes_at_the_limit(read: Read) -> None:
    traces = SHARED / "traces"
    report = _report(read, traces / "h200_pointwise_eager.json.gz", traces / "h200_pointwise_compile.json.gz")
    (row,) = report.table("ledger").to_dict("records")
    assert (row["kernels_a_count"], row["kernels_b_count"]) == (9, 3)
    assert row["bytes_a"] == 2 * row["bytes_b"]
    assert 1.9 <= row["time_a_ns"] / row["time_b_ns"] <= 2.2


@needs_shared
def test_upload_without_an_eager_twin_is_unmatched_and_says_what_is_not_recorded(read: Read) -> None:
    traces = SHARED / "traces"
    compiled = traces / "mi300_torch_compile_triton.json.gz"
    assert is_compiled_side(read(compiled))
    eager = traces / "mi300_qwen1.5-0.5b_eager.json.gz"
    assert not is_compiled_side(read(eager))
    answer = _answer(read, eager, compiled)
    report = answer.report
    ledger = report.table("ledger")
    assert set(ledger.loc[ledger["match"] == "unmatched", "verdict"]) == {"not compared"}
    assert any("record_shapes" in note for note in report.notes)
    assert report.value("remainder_ns") == 0
    assert headline(answer).endswith("these are not the same work.")


@needs_shared
def test_rotary_that_moved_over_a_product_is_found_with_the_norm_that_it_joined(read: Read) -> None:
    traces = SHARED / "traces"
    report = _report(read, *(traces / f"h200_qwen3-0.6b_{side}_b1.json.gz" for side in ("eager", "compile")))
    matched = [report.value(f"matched_{side}_ratio") for side in ("a", "b")]
    assert min(share or 0 for share in matched) >= 0.95
    ledger = report.table("ledger")
    (joined,) = ledger[ledger["group"] == "RMSNorm + rotary + cache write + mask"].to_dict("records")
    assert (joined["kernels_a_count"], joined["kernels_b_count"]) == (42 * 23, 42 * 2)


@pytest.mark.parametrize(
    ("eager", "compiled"),
    [
        ("h200-eager", "h200-compile-cuda-graph"),
        ("h200-prefill-eager", "h200-prefill-compile"),
        ("cpu-tiny-eager", "cpu-tiny-compile"),
    ],
)
def test_kernels_are_counted_as_the_kernel_report_counts_them(read: Read, eager: str, compiled: str) -> None:
    traces = [read(SAMPLES / name / "trace.json.gz") for name in (eager, compiled)]
    report = fusion_report(_step(traces[0]), _step(traces[1]))
    for side, trace in zip(("a", "b"), traces, strict=True):
        assert report.value(f"kernels_{side}_count") == kernel_report(trace).value("kernels_per_step")
        assert report.table("ledger")[f"kernels_{side}_count"].sum() == report.value(f"kernels_{side}_count")


def test_cpu_pair_speaks_of_operators_and_neither_of_launches_nor_of_a_limit(read: Read) -> None:
    answer = _answer(read, *(SAMPLES / f"cpu-tiny-{mode}" / "trace.json.gz" for mode in ("eager", "compile")))
    assert headline(answer).startswith("1,115 operators became 224. ")
    assert "kernel" not in headline(answer)
    saved = answer.report.metric("launches_saved_count")
    assert (saved.value, saved.reason) == (None, "On the CPU nothing is launched.")
    assert answer.report.metric("busy_a_ns").label == "CPU busy, eager"
    ledger = answer.report.table("ledger")
    assert ledger[["bandwidth_a_ratio", "bandwidth_b_ratio", "floor_ns"]].isna().all().all()
    assert CPU_LIMIT in answer.report.notes
    assert answer.ceiling_bytes_per_s is None


def test_a_group_faster_than_memory_has_no_share_of_the_limit(read: Read) -> None:
    eager, compiled = (_step(read(SAMPLES / name / "trace.json.gz")) for name in ("h200-eager", "h200-compile"))
    report = fusion_report(eager, compiled, 1e12)
    ledger = report.table("ledger").set_index(["group", "place"])
    products = ledger.filter(like="product 1×1024 · 1024×3072", axis=0)
    assert products["bytes_a"].notna().all()
    assert products["bandwidth_a_ratio"].isna().all()
    assert CACHED_LIMIT in report.notes
    assert CACHED_LIMIT not in fusion_report(eager, compiled, 4.1e12).notes


def test_launches_saved_are_unknown_where_a_launch_is() -> None:
    events = [
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 0, "dur": 10,
         "args": {"device": 0, "stream": 7}}
    ]  # fmt: skip
    step = _step(trace_of_events(events))
    report = fusion_report(step, step)
    assert report.value("launches_saved_count") is None
    assert report.metric("launches_saved_count").reason
    assert report.table("ledger")["launches_saved_count"].isna().all()


def test_whole_traces_are_compared_where_asked_for(read: Read) -> None:
    trace = read(SAMPLES / "h200-compile-cuda-graph" / "trace.json.gz")
    step, whole = step_kernels(trace), step_kernels(trace, "trace")
    assert step is not None
    assert whole is not None
    assert (step.is_whole, whole.is_whole) == (False, True)
    assert whole.span_ns > step.span_ns
    answer = fusion(whole, whole)
    assert answer.is_whole
    assert answer.report.window == "the whole trace of each"
