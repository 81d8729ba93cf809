"""Do the cards and the comparison say what was measured, and admit what was not?"""

from __future__ import annotations

import dataclasses

import pytest

from explorer.analysis.compare import common_window, comparable, compare_parts, compare_reports, comparison_sentence
from explorer.analysis.findings import trace_findings
from explorer.analysis.gaps import gap_report
from explorer.analysis.metrics import device_facts
from explorer.analysis.step import step_floor_ns, step_report
from explorer.analysis.windows import has_step_windows
from explorer.facts import Calibration, Environment, Facts, Profile
from explorer.report import Report
from explorer.settings import RunSettings
from explorer.trace import Trace
from tests.drawing import draw

SETTINGS = RunSettings()
FACTS = Facts(
    steady_latencies_ns=[100, 110, 120, 130, 1000],
    weight_bytes=9000,
    weight_read_bytes_per_step=4000,
    kv_read_bytes_per_step=900,
    kv_written_bytes_per_step=100,
    step_flops=10_000,
    tokens_per_step=2,
    peak_memory_bytes=5000,
    calibration=Calibration(read_bandwidth_bytes_per_s=1e11, matmul_flops_per_s=1e11),
    profile=Profile(step_latencies_ns=[200], slowdown_ratio=1.7, kernel_counts=[3], expected_kernel_count=3),
    environment=Environment(device_name="NVIDIA H200", python_version="3.11", torch_version="2.11"),
)


def slow() -> Trace:
    """A step of 100 us of which the GPU works 20 and waits 80 for the host."""
    return draw("""
        steps    0000000000
        host     ...A...BB.
        stream 7 ....a....b
    """)


def fast() -> Trace:
    """A step of 50 us of which the GPU works 40."""
    return draw("""
        steps    0000000000
        host     GGGG......
        stream 7 .gggg.....
    """)


def test_cards_lead_with_the_unprofiled_step() -> None:
    report = step_report(slow(), SETTINGS, FACTS)

    assert report.value("step_ns") == 120
    assert report.value("step_spread_ns") == 20
    assert report.value("step_p90_ns") == pytest.approx(652)
    assert report.value("profiled_step_ns") == 100_000
    assert report.value("gpu_busy_ratio") == 0.2
    assert report.value("late_host_ns") == 80_000
    assert report.value("kernels_per_step") == report.value("host_launches_per_step") == 2
    assert report.value("tokens_per_s") == pytest.approx(2 / 120e-9)
    assert report.value("peak_memory_bytes") == 5000


def test_floor_is_bytes_over_measured_bandwidth() -> None:
    report = step_report(slow(), SETTINGS, FACTS)

    assert report.value("floor_ns") == pytest.approx(50)
    assert report.value("floor_ratio") == pytest.approx(50 / 120)


def test_floor_of_prefill_is_the_larger_of_bytes_and_flops() -> None:
    prefill = dataclasses.replace(SETTINGS, phase="prefill")

    floor, why = step_floor_ns(prefill, FACTS)

    assert floor == pytest.approx(100)
    assert why == ""


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (None, "uploaded trace"),
        (dataclasses.replace(FACTS, calibration=None), "bandwidth"),
        (dataclasses.replace(FACTS, weight_read_bytes_per_step=None), "weights"),
    ],
)
def test_unknown_floor_says_why(facts: Facts | None, said: str) -> None:
    metric = step_report(slow(), SETTINGS, facts).metric("floor_ns")

    assert metric.value is None
    assert said in metric.reason


def test_uploaded_trace_has_no_unprofiled_step_and_says_so() -> None:
    metric = step_report(slow()).metric("step_ns")

    assert metric.value is None
    assert "explorer run" in metric.reason


def test_change_within_the_spread_is_none_measured() -> None:
    one = step_report(slow(), SETTINGS, FACTS)
    later = step_report(slow(), SETTINGS, dataclasses.replace(FACTS, steady_latencies_ns=[130] * 5))

    (near,) = [delta for delta in compare_reports(one, later, 20, 0) if delta.key == "step_ns"]
    (far,) = [delta for delta in compare_reports(one, later, 5, 0) if delta.key == "step_ns"]

    assert near.exceeds_spread is False
    assert far.exceeds_spread is True
    assert far.change == 10


def two_devices() -> Trace:
    """Device 0 waits 30 us for its second kernel, device 1 for nothing."""
    return draw("""
        steps         0000000000
        host          ABC.....
        stream 7      .aaa...c
        gpu1 stream 7 ..b.....
    """)


def test_parts_of_several_devices_are_those_of_the_first() -> None:
    """The step begins 10 us before the first kernel."""
    deltas = {delta.key: (delta.a, delta.b) for delta in compare_parts(gap_report(two_devices()), gap_report(slow()))}

    assert deltas["device_latency_per_step_ns"] == (30_000, 0)
    assert deltas["launch_call_per_step_ns"] == (10_000, 30_000)


def test_a_step_is_that_of_the_chosen_device() -> None:
    first, other = step_report(two_devices()), step_report(two_devices(), device="1")

    assert first.window == "profiled steps of device 0, the first of 2"
    assert other.window == "profiled steps of device 1, one of 2"
    assert first.notes == ("Of 2 devices the first, 0, is shown.",)
    assert other.notes == ()
    for report, device in ((first, "0"), (other, "1")):
        steps = gap_report(two_devices()).children[device]
        assert report.value("gpu_busy_ns") == steps.value("busy_ns")
    assert first.value("gpu_busy_ns") != other.value("gpu_busy_ns")


def test_steps_that_took_longer_without_the_profiler_were_disturbed() -> None:
    """The note has both medians of which the ratio is, and beside them the trace's own mean."""

    def notes(latency_ns: int) -> tuple[str, ...]:
        profile = Profile(
            step_latencies_ns=[latency_ns], slowdown_ratio=latency_ns / 120, kernel_counts=[3], expected_kernel_count=3
        )
        return step_report(slow(), SETTINGS, dataclasses.replace(FACTS, profile=profile)).notes

    assert notes(114) == notes(200)
    (*same, disturbed) = notes(60)
    assert tuple(same) == notes(200)
    assert disturbed.startswith(
        "The median step took 120 ns without the profiler and 60.0 ns under it (100 µs on average in the trace)"
    )


def test_slowdown_stands_beside_the_two_medians_that_it_is_of() -> None:
    report = step_report(slow(), SETTINGS, FACTS)

    assert [report.value(key) for key in ("step_ns", "profiled_latency_ns")] == [120, 200]
    assert report.metric("profiled_latency_ns").label == "step, under the profiler (median)"
    assert report.metric("profiler_slowdown_ratio").label == "profiled ÷ unprofiled (medians)"
    assert report.metric("profiled_step_ns").label == "step, in the trace (mean)"


def without_calls() -> Trace:
    """Work of 20 us around a gap of 20, with no launch; nothing marks steps."""
    return draw("stream 7 .?..?.")


def test_what_nobody_can_tell_is_not_said_to_be_nothing() -> None:
    unknown, known = step_report(without_calls()), step_report(slow())

    for key in ("late_host_ns", "host_launches_per_step", "step_count"):
        assert unknown.value(key) is None
        assert unknown.metric(key).reason
    assert unknown.value("unattributed_ns") == 20_000
    assert comparison_sentence(unknown, known) == (
        "B's whole trace is 2.50 times longer under the profiler. Under the profiler the GPU waited for the host 80 % "
        "of B's step. For what it idled 50 % of A's whole trace nobody can tell: no launch is known there."
    )


def test_a_gpu_that_waited_for_nobody_on_one_side_is_said_behind_the_other() -> None:
    calm = draw("""
        steps    0000000000
        host     A.........
        stream 7 aaaaaaaaaa
    """)

    assert comparison_sentence(step_report(calm), step_report(slow())).endswith(
        "Under the profiler the GPU waited for the host 80 % of B's step, for nobody in A."
    )


def test_traces_without_steps_are_said_to_be_traces() -> None:
    a, b = (draw(f"host A{'.' * wait}B\nstream 7 .a{'.' * wait}b") for wait in (1, 4))
    one, other = step_report(a), step_report(b)

    assert comparison_sentence(one, other).startswith("B's whole trace is 2.00 times longer under the profiler.")
    assert not [metric.label for metric in one.metrics[5:] if "a step" in metric.label]


def test_an_empty_trace_has_no_parts_to_compare() -> None:
    empty = draw("steps 0")

    assert compare_parts(gap_report(empty), gap_report(slow())) == ()
    assert compare_parts(gap_report(slow()), gap_report(empty)) == ()


def test_steps_are_compared_only_where_both_sides_have_them() -> None:
    assert common_window(has_step_windows(slow()), has_step_windows(fast())) == ("steps", "")
    assert common_window(False, False) == ("steps", "")
    window, note = common_window(has_step_windows(slow()), has_step_windows(draw("host AA.\nstream 7 .aa")))

    assert window == "trace"
    assert note.startswith("Only one side marks steps")


def test_marks_alone_do_not_change_what_is_compared() -> None:
    """The whole trace has no head before its first work: 80 of the step's 100 us."""
    report = step_report(slow(), window="trace")

    assert report.value("profiled_step_ns") == 60_000
    assert report.window == "the whole trace of device 0"


def with_step(trace: Trace, step_ns: int) -> Report:
    """The trace's cards with that unprofiled step."""
    return step_report(trace, SETTINGS, dataclasses.replace(FACTS, steady_latencies_ns=[step_ns] * 3))


def test_sentence_has_the_numbers_of_exactly_these_two() -> None:
    sentence = comparison_sentence(with_step(slow(), 41_700_000), with_step(fast(), 2_360_000))

    assert sentence == (
        "B's step is 17.7 times shorter, although the GPU's own work is 2.00 times longer in B. "
        "Under the profiler the GPU waited for the host 80 % of A's step, 20 % of B's."
    )


def test_sentence_of_a_change_within_the_spread_claims_none() -> None:
    wide = step_report(slow(), SETTINGS, dataclasses.replace(FACTS, steady_latencies_ns=[100, 200, 300]))
    other = step_report(slow(), SETTINGS, dataclasses.replace(FACTS, steady_latencies_ns=[150, 250, 350]))

    assert comparison_sentence(wide, other).startswith("No change measured: 200 ns and 250 ns")


def test_sentence_of_equal_and_of_slightly_different_steps() -> None:
    same = comparison_sentence(with_step(fast(), 1000), with_step(fast(), 1001))
    near = comparison_sentence(with_step(fast(), 1000), with_step(fast(), 1250))

    assert same.startswith("Both steps take the same")
    assert near.startswith("B's step is 25 % longer")


def test_sentence_says_when_the_gpus_own_work_went_the_other_way() -> None:
    """`slow` works 20 us a step, `fast` 40."""
    shorter = comparison_sentence(with_step(slow(), 1000), with_step(fast(), 800))
    same = comparison_sentence(with_step(fast(), 1000), with_step(slow(), 1000))
    longer = comparison_sentence(with_step(slow(), 800), with_step(fast(), 1000))

    assert shorter.startswith("B's step is 20 % shorter, although the GPU's own work is 2.00 times longer in B. ")
    assert same.startswith("Both steps take the same: 1.00 µs and 1.00 µs, although the GPU's own work is 2.00 times s")
    assert "own work" not in longer


def test_sentence_of_two_cpu_runs_speaks_of_no_gpu() -> None:
    one = draw("""
        steps      0000000000
        operators  aa....bbb.
    """)
    other = draw("""
        steps      0000000000
        operators  aa.bbbbbb.
    """)

    sentence = comparison_sentence(with_step(one, 1000), with_step(other, 500))

    assert sentence == (
        "B's step is 2.00 times shorter. Both ran on the CPU, where host operators stand in for kernels."
    )


@pytest.mark.parametrize(
    ("change", "is_fair", "said"),
    [
        ({}, True, "same settings"),
        ({"mode": "compile"}, True, "Only the mode differs"),
        ({"mode": "compile", "joined_projections": True}, True, "Several settings"),
        ({"batch_size": 2}, False, "Not a fair comparison: batch size differs."),
        ({"batch_size": 2, "mode": "compile"}, False, "Not a fair comparison: batch size differs too."),
        ({"measured_steps": 7}, True, "same settings"),
    ],
)
def test_comparable_names_what_differs(change: dict[str, object], is_fair: bool, said: str) -> None:
    other = dataclasses.replace(SETTINGS, **change)  # type: ignore[arg-type]  # fields of several types

    found = comparable((SETTINGS, FACTS), (other, FACTS))

    assert found.is_fair is is_fair
    assert said in found.verdict


def test_another_device_is_no_fair_comparison() -> None:
    environment = Environment(device_name="NVIDIA A100", python_version="3.11", torch_version="2.11")

    found = comparable((SETTINGS, FACTS), (SETTINGS, dataclasses.replace(FACTS, environment=environment)))

    assert [difference.key for difference in found.differences] == ["device_name"]
    assert not found.is_fair


def test_findings_name_the_largest_parts_of_idle() -> None:
    (finding,) = trace_findings([device_facts(slow(), "0", "steps")])

    assert finding == "Of 80.0 µs idle a step: 50.0 µs Python and host and 30.0 µs launch call."
