"""Are rows, time, memory and fall-backs of a list of sizes what a count by hand gives?"""

from __future__ import annotations

import math

import numpy as np
import pytest

from explorer.analysis.advice import advice_report, advise, detail, headline
from explorer.analysis.buckets import BucketList, buckets_report
from explorer.analysis.sweep import best_costs, sweep_costs, sweep_report
from explorer.analysis.traffic import preset, traffic_of_batches
from explorer.capture_sizes import powers_of_two, sglang_sizes, vllm_sizes
from explorer.errors import SettingsError
from explorer.graph_modes import GraphKind
from explorer.sweep_settings import GraphMeasurement, SizeMeasurement, SweepResults
from tests.shared import SHARED, needs_shared, read_json


def graph(size: int, kind: GraphKind = "FULL", read_tokens: int | None = None) -> GraphMeasurement:
    """Replayed in size + 10 µs, give or take one; 2 ms of start-up; a pool of 100 bytes a row for 8 rows, 30 else."""
    return GraphMeasurement(
        kind=kind,
        read_tokens=read_tokens,
        graph_count=1,
        compile_ns=None,
        warm_up_ns=1_500_000,
        capture_ns=500_000,
        pool_bytes=800 if size == 8 else 20,
        outside_bytes=10 if size != 8 else 0,
        replay_latencies_ns=[(size + 9) * 1000, (size + 10) * 1000, (size + 11) * 1000],
    )


RESULTS = SweepResults(
    graph_mode="FULL_AND_PIECEWISE",
    sizes=[
        SizeMeasurement(size=size, eager_latencies_ns=[90_000, 100_000, 110_000], graphs=[graph(size)])
        for size in (8, 4, 2, 1)
    ],
)
COSTS = sweep_costs(RESULTS)
LIST = BucketList("mine", (2, 4, 8))


def test_costs_are_medians_of_the_repeats_smallest_first() -> None:
    assert COSTS is not None
    assert COSTS.sizes.tolist() == [1, 2, 4, 8]
    assert COSTS.step_ns.tolist() == [11_000, 12_000, 14_000, 18_000]
    assert COSTS.step_spread_ns.tolist() == [1000] * 4
    assert COSTS.eager_ns.tolist() == [100_000] * 4
    assert COSTS.start_up_ns.tolist() == [2_000_000] * 4


def test_between_measured_sizes_the_line_and_beyond_them_nothing() -> None:
    assert COSTS is not None
    found = COSTS.at(COSTS.step_ns, np.array([1, 3, 6, 9]))
    assert found[:3].tolist() == [11_000, 13_000, 16_000]
    assert math.isnan(found[3])
    assert COSTS.is_measured(np.array([4, 5])).tolist() == [True, False]


def test_a_list_s_memory_is_its_pool_and_what_each_size_adds() -> None:
    assert COSTS is not None
    assert COSTS.list_bytes(np.array([1, 2, 8])) == 800 + 30 + 30
    assert COSTS.list_bytes(np.array([2, 4])) == 400 + 30
    assert math.isnan(COSTS.list_bytes(np.array([16])))


def test_rows_time_and_share_of_a_list() -> None:
    """Batches 1, 3, 4, 5 → 2, 4, 4, 8: 5 padded of 18 rows; 1 + 1 + 0 + 3 µs of padding."""
    report = buckets_report([LIST], traffic_of_batches("four", [1, 3, 4, 5]), COSTS)
    row = report.table("lists").iloc[0]
    assert row["padded_ratio"] == pytest.approx(5 / 18)
    assert row["padded_rows"] == 1.25
    assert row["padding_ns"] == 1250
    assert row["step_ns"] == (12_000 + 14_000 + 14_000 + 18_000) / 4
    assert row["padding_of_step_ratio"] == pytest.approx(1250 / 14_500)
    assert row["interpolated_ratio"] == 0.5
    assert (row["without_graph_ratio"], row["start_up_ns"]) == (0, 6_000_000)
    assert any("read off the line" in note for note in report.notes)


def test_batches_above_the_list_are_counted_apart() -> None:
    report = buckets_report([BucketList("two", (1, 2))], traffic_of_batches("two", [1, 2, 4, 4]), COSTS)
    row = report.table("lists").iloc[0]
    assert row["without_graph_ratio"] == 0.5
    assert row["without_graph_ns"] == 100_000 - 14_000
    assert row["padded_ratio"] == 0
    assert report.children["two"].table("buckets")["step_count"].tolist() == [1, 1]


def test_each_bucket_s_rows_add_up_to_the_list_s() -> None:
    report = buckets_report([LIST], traffic_of_batches("five", [1, 2, 3, 4, 5]), COSTS)
    buckets = report.children["mine"].table("buckets")
    assert buckets["bucket"].tolist() == [2, 4, 8]
    assert buckets["step_count"].tolist() == [2, 2, 1]
    assert buckets["padded_rows"].tolist() == [1, 1, 3]
    assert buckets["real_rows"].sum() == 15
    assert buckets["padding_ns"].sum() == pytest.approx(report.table("lists")["padding_ns"][0] * 5)


def test_staircase_holds_every_batch_and_how_often_it_ran() -> None:
    steps = buckets_report([LIST], traffic_of_batches("one", [3]), None).children["mine"].table("staircase")
    assert steps["padded_rows"].tolist() == [1, 0, 1, 0, 3, 2, 1, 0]
    assert steps["step_count"].tolist() == [0, 0, 1, 0, 0, 0, 0, 0]


def test_without_a_sweep_only_rows_are_known() -> None:
    row = buckets_report([LIST], traffic_of_batches("one", [3]), None).table("lists").iloc[0]
    assert row["padded_ratio"] == 0.25
    assert math.isnan(row["padding_ns"])
    assert math.isnan(row["memory_bytes"])


def test_traffic_above_the_sweep_is_said() -> None:
    report = buckets_report([BucketList("sixteen", (16,))], traffic_of_batches("big", [12]), COSTS)
    assert any("sweep ends at 8 rows" in note for note in report.notes)
    assert math.isnan(report.table("lists")["padding_ns"][0])


@pytest.mark.parametrize(
    ("rule", "mean", "worst", "at"), [(vllm_sizes, 0.0457, 0.4375, 9), (sglang_sizes, 0.0423, 0.375, 5)]
)
def test_mean_and_worst_waste_are_those_of_definitions(rule: object, mean: float, worst: float, at: int) -> None:
    sizes = vllm_sizes(256) if rule is vllm_sizes else sglang_sizes(256)
    row = buckets_report([BucketList("engine", sizes)], traffic_of_batches("one", [1]), None).table("lists").iloc[0]
    assert row["mean_waste_ratio"] == pytest.approx(mean, abs=5e-5)
    assert (row["worst_waste_ratio"], row["worst_batch"]) == (worst, at)


@needs_shared
def test_the_public_case_of_257_requests() -> None:
    case = SHARED / "cases" / "31-batch-buckets-257"
    workload, expected = read_json(case / "workload.json"), read_json(case / "expected.json")["workload.json"]
    traffic = traffic_of_batches("case", workload["batches"])
    for name, sizes in workload["schedules"].items():
        report = buckets_report([BucketList(name, tuple(sizes))], traffic, None)
        buckets = report.children[name].table("buckets")
        assert buckets["padded_rows"].sum() == expected[name]["waste"]
        assert (buckets["bucket"] * buckets["step_count"]).sum() == expected[name]["padded"]
        assert report.table("lists")["without_graph_ratio"][0] == pytest.approx(1 / 13)


def test_costs_prefer_full_graphs_then_pieces_then_eager_steps() -> None:
    pieces = SweepResults(
        graph_mode="PIECEWISE",
        sizes=[SizeMeasurement(size=2, eager_latencies_ns=[5], graphs=[graph(2, "PIECEWISE")])],
    )
    eager = SweepResults(graph_mode="NONE", sizes=[SizeMeasurement(size=2, eager_latencies_ns=[5])])
    kinds = [costs.kind if costs else None for costs in map(best_costs, (RESULTS, pieces, eager))]
    assert kinds == ["FULL", "PIECEWISE", "NONE"]
    assert best_costs(SweepResults(graph_mode="NONE", sizes=[SizeMeasurement(size=2)])) is None


def test_of_several_lengths_the_longest_counts() -> None:
    sizes = [SizeMeasurement(size=2, graphs=[graph(2, read_tokens=128), graph(4, read_tokens=256)])]
    costs = sweep_costs(SweepResults(graph_mode="FULL", sizes=sizes))
    assert costs is not None
    assert costs.step_ns.tolist() == [14_000]
    assert costs.start_up_ns.tolist() == [4_000_000]
    assert costs.memory_bytes.tolist() == [60]
    assert sweep_report(SweepResults(graph_mode="FULL", sizes=sizes)).value("full_graph_count") == 2


def test_sweep_report_sums_start_up_and_memory() -> None:
    report = sweep_report(RESULTS)
    assert report.value("full_start_up_ns") == 8_000_000
    assert report.value("full_memory_bytes") == 800 + 3 * 30
    assert report.value("pieces_memory_bytes") is None
    assert report.table("sizes")["full_step_ns"].tolist() == [11_000, 12_000, 14_000, 18_000]


def test_advice_beats_the_engines_lists_and_says_with_how_few_sizes() -> None:
    lists = [BucketList("vLLM", vllm_sizes(256)), BucketList("powers of two", powers_of_two(256))]
    advised = advise(preset("steady", 256), None, 256)
    report = advice_report(advised, lists, None)
    points = report.table("points").set_index("name")
    assert advised.waste(35) <= points["waste"]["vLLM"]
    fewest = advised.fewest_as_good_as(vllm_sizes(256))
    assert fewest is not None
    assert fewest < 35
    assert advised.waste(fewest) <= points["waste"]["vLLM"] < advised.waste(fewest - 1)
    assert headline(advised, lists[0], fewest) == f"{fewest} well-chosen sizes lose as little time as vLLM's 35."
    assert f"{fewest} sizes chosen for it need" in detail(advised, lists, fewest)


def test_advice_over_measured_time_stays_within_the_sweep() -> None:
    advised = advise(traffic_of_batches("some", [1, 3, 5, 12]), COSTS, 16)
    assert (advised.largest, advised.unit, advised.considered.step_count) == (8, "ns", 3)
    assert advised.advice.sizes(1) == (8,)
    assert advised.waste(1) == pytest.approx((18_000 * 3 - 11_000 - 13_000 - 15_000) / 3)
    assert advised.waste(4) == pytest.approx(0)


def test_lists_beyond_the_sweep_are_compared_up_to_it_and_shorter_ones_not() -> None:
    advised = advise(traffic_of_batches("some", [3, 5]), COSTS, 16)
    assert advised.largest == 8
    assert advised.waste_of((4, 64)) == advised.waste_of((4, 8))
    assert advised.fewest_as_good_as((4, 64)) is not None
    assert advised.fewest_as_good_as((1, 2, 4)) is None
    short = BucketList("short", (1, 2, 4))
    assert headline(advised, short, 1) == "Up to 8 rows, one well-chosen size costs 4.00 µs of padding a step."
    assert detail(advised, [short], 1) == (
        "The sweep covers batches up to 8 rows, which is all of this traffic. There 1 size chosen for it needs 4.00 µs."
    )


def test_advice_from_a_small_sweep_is_about_the_batches_that_it_covers() -> None:
    traffic = traffic_of_batches("some", [*range(1, 9), *[100] * 792])
    advised = advise(traffic, COSTS, 256)
    vllm = BucketList("vLLM", vllm_sizes(256))
    fewest = advised.fewest_as_good_as(vllm.sizes)
    assert fewest is not None
    words = headline(advised, vllm, 2) + detail(advised, [vllm], 2)
    assert words.startswith("Up to 8 rows, ")
    assert "35" not in words
    assert "The sweep covers batches up to 8 rows; 99 % of this traffic's steps lie outside" in words
    assert "–" not in words
    report = advice_report(advised, [vllm], COSTS)
    assert report.table("points")["size_count"].tolist() == [4]  # 1 2 4 8
    assert report.notes == ("Of every list only the sizes up to 8 are counted.",)


def test_batches_below_a_sweep_are_left_out_of_the_comparison() -> None:
    from_two = sweep_costs(SweepResults(graph_mode="FULL", sizes=[size for size in RESULTS.sizes if size.size > 1]))
    advised = advise(traffic_of_batches("some", [1, 3]), from_two, 8)
    assert (advised.smallest, advised.left_out_ratio) == (2, 0.5)
    engine = BucketList("engine", (1, 2, 4, 8))
    assert advised.waste_of(engine.sizes) == pytest.approx(1_000)
    assert "The sweep covers batches from 2 to 8 rows; 50 %" in detail(advised, [engine], 1)


def test_batches_above_the_largest_size_are_said_to_run_without_a_graph() -> None:
    advised = advise(traffic_of_batches("some", [1, 8, 9, 9]), None, 8)
    words = detail(advised, [BucketList("engine", (1, 8))], 1)
    assert words.startswith("50 % of this traffic's steps have more than 8 rows and run without a graph in every list.")


def test_traffic_that_a_sweep_does_not_reach_is_refused() -> None:
    with pytest.raises(SettingsError, match="No step of some has 1 to 8 rows"):
        advise(traffic_of_batches("some", [9]), COSTS, 16)


def test_a_list_too_short_for_the_traffic_is_not_on_the_curve() -> None:
    advised = advise(traffic_of_batches("some", [1, 8]), None, 8)
    report = advice_report(advised, [BucketList("short", (1, 2)), BucketList("long", (8,))], None)
    assert report.table("points")["name"].tolist() == ["long"]
    assert "Lists that end below 8" in report.notes[0]
