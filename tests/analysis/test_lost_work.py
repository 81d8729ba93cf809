"""Are launches whose work is not in the trace counted, and is what they make uncertain said?"""

from __future__ import annotations

from explorer.analysis.contents import contents_report
from explorer.analysis.gaps import gap_report
from explorer.analysis.machine_output import report_object
from explorer.analysis.step import step_report
from explorer.analysis.trust import trust_report
from explorer.trace import Trace
from tests.drawing import draw


def uncertain_of(trace: Trace) -> list[bool]:
    """Of every gap in order, whether it is uncertain."""
    uncertain: list[bool] = gap_report(trace, "trace").table("gaps")["is_uncertain"].to_list()
    return uncertain


def blocked_by_lost_work(trace: Trace) -> str:
    """What the trust card says not to trust because of launches without work."""
    blocks = trust_report(trace).table("blocks").set_index("entry")["blocks"]
    return str(blocks.get("launches whose GPU work is missing", ""))


def test_the_gap_that_holds_a_launch_without_work_is_uncertain_and_no_other() -> None:
    trace = draw("""
        host     A..B...C...D.
        stream 7 .aa.bb......d
    """)

    assert uncertain_of(trace) == [False, True]


def test_the_gap_is_uncertain_too_when_the_host_ran_ahead_of_it() -> None:
    trace = draw("""
        host     ABCD.........
        stream 7 ....aaa.bb..d
    """)

    assert uncertain_of(trace) == [False, True]


def test_launches_without_work_on_another_thread_make_no_later_gap_uncertain() -> None:
    trace = draw("""
        host     A..B.....D...
        host 2   .C...........
        stream 7 .aa.bbb...d..
    """)

    assert uncertain_of(trace) == [False, False]


def test_what_lies_inside_a_graph_is_not_uncertain() -> None:
    trace = draw("""
        host     CL......
        stream 7 ..K.K.KK
    """)

    assert uncertain_of(trace) == [False, False]


def test_idle_is_not_trusted_when_launches_have_no_work() -> None:
    finding = "The idle time cannot be trusted: 2 launches have no usable record of work."
    trace = draw("""
        host     A..B...C...D.
        stream 7 .aa........d.
    """)

    assert blocked_by_lost_work(trace) == "kernel counts, busy time, idle and its parts"
    assert finding in report_object(trace)["findings"]
    assert finding in gap_report(trace).notes
    assert finding in step_report(trace).notes


def test_steps_are_not_trusted_either_where_there_are_marks() -> None:
    trace = draw("""
        steps    0000111
        host     A...B..
        stream 7 .aa....
    """)

    assert blocked_by_lost_work(trace) == "kernel counts, busy time, idle and its parts, anything a step"


def test_work_without_a_launch_may_be_that_of_a_launch_without_work() -> None:
    trace = draw("""
        host     A..B...
        stream 7 .aa..??
    """)

    assert trust_report(trace).value("lost_work_count") == 1
    assert not any("cannot be trusted" in finding for finding in report_object(trace)["findings"])


def test_a_trace_that_lost_all_its_gpu_work_is_not_taken_for_one_of_the_cpu() -> None:
    trace = draw("""
        operators aaaa.bbbb
        host      .A....B..
    """)

    finding = "The GPU work of 2 launches was not recorded, so the CPU's operators are shown."
    assert finding in report_object(trace)["findings"]
    assert finding in gap_report(trace).notes
    assert trust_report(trace).value("lost_work_count") == 2
    assert "2 launches submitted some" in " ".join(trust_report(trace).notes)


def test_a_trace_that_lost_all_its_gpu_work_is_not_told_to_record_the_gpu() -> None:
    def option(drawing: str) -> str:
        missing = contents_report(draw(drawing)).table("missing").set_index("what")["option"]
        return str(missing["GPU time, gaps, launches"])

    assert "ProfilerActivity.CUDA" in option("operators aaaa.bbbb")
    lost = option("operators aaaa.bbbb\nhost .A....B..")
    assert "ProfilerActivity.CUDA" not in lost
    assert "larger buffers" in lost
