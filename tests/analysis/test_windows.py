"""Which stretch of time is a step's, and is it said when a step has none?"""

from __future__ import annotations

from explorer.analysis.gaps import gap_report
from explorer.analysis.trust import trust_report
from tests.drawing import draw, drawn_document
from tests.reading import trace_of_events


def test_a_mark_inside_a_step_cuts_nothing_off_it() -> None:
    trace = draw("""
        steps    0000000000
        steps    .111......
        host     ..A..B....
        stream 7 ...a..b...
    """)

    report = gap_report(trace, "steps")

    (device,) = report.children.values()
    assert list(device.children) == ["step#0"]
    assert report.value("kernel_count") == 2
    assert report.notes == ()


def test_a_step_whose_work_another_stream_outlasts_is_said_to_be_left_out_for_that() -> None:
    trace = draw("""
        steps    00001111..
        host     A...B.....
        stream 7 .aaaaaaaaa
        stream 8 .....b....
    """)

    report = gap_report(trace, "steps")

    assert report.value("step_count") == 1
    (note,) = report.notes
    assert "their work ended before the previous step's work" in note
    assert note.endswith(": step#1.")


def test_a_step_whose_launches_work_is_missing_is_not_said_to_have_launched_none() -> None:
    trace = draw("""
        steps    000111222333
        host     A..B..~..D..
        stream 7 .aa.......dd
    """)

    report = gap_report(trace, "steps")

    assert "Left out, because they launched no work on this device: step#2." in report.notes
    assert "Left out, because their launches' work is missing from the trace: step#1." in report.notes


def test_work_that_falls_into_no_step_is_counted() -> None:
    trace = draw("""
        steps    00000.....11111...
        host     A.........B....C.....
        stream 7 .a.??.??...b??..cccc.
    """)

    report = gap_report(trace, "steps")

    assert report.value("work_count") == 2
    assert report.notes == (
        "1 piece of GPU work (40.0 µs) belongs to no step: launched outside every one.",
        "3 pieces of GPU work (60.0 µs) belong to no step: the launch is unknown.",
    )


def test_work_between_the_steps_that_they_outweigh_is_worth_no_word() -> None:
    trace = draw("""
        steps    00000.....11111...
        host     A.........B....C..
        stream 7 .aaa.......b....c.
    """)

    assert gap_report(trace, "steps").notes == ()


def test_steps_that_another_process_marks_are_said_to_be_that() -> None:
    events = drawn_document("""
        steps    00001111
        host     A...B...
        stream 7 .aa..bb.
    """)["traceEvents"]
    marks = [event for event in events if event["cat"] == "user_annotation"]
    trace = trace_of_events([{**event, "pid": 999} if event in marks else event for event in events])

    (note,) = gap_report(trace, "steps").notes
    assert "marked by another process" in note
    card = trust_report(trace)
    assert card.value("step_count") == 2
    assert "anything a step" in card.table("blocks").set_index("entry")["blocks"]["steps found"]
