"""Which rows does a trace get, and what do they show?"""

from __future__ import annotations

from explorer.analysis.timeline_build import Timeline, build_timeline
from explorer.analysis.timeline_detail import Window, details
from explorer.ingest import read_trace
from tests.drawing import CHARACTER_NS, draw
from tests.shared import SHARED, needs_shared

STEP = """
    steps       000000000000000000
    layers      .00000000.1111111.
    operators   .aaaaaaa..bbbbbb..
    operators   ..cc..dd...ee.....
    host        ...A...B....C.....
    stream 7    ....aaa.bbb..cccc.
    copies 9    ..................
"""


def keys(timeline: Timeline) -> list[str]:
    return [f"{row.name.kind} {row.name.group} {row.name.depth}" for row in timeline.rows]


def test_rows_are_marks_then_devices_then_threads_with_nested_operators() -> None:
    timeline = build_timeline(draw(STEP))
    kinds = [row.name.kind for row in timeline.rows]
    assert kinds == ["step", "layer", "gaps", "stream", "operators", "operators", "calls"]
    assert [row.name.depth for row in timeline.rows if row.name.kind == "operators"] == [0, 1]
    assert {row.name.group for row in timeline.rows if row.table == "work"} == {"GPU 0"}


def test_a_stream_of_copies_alone_is_a_row_of_copies() -> None:
    timeline = build_timeline(draw("host AB\nstream 7 ..aa\ncopies 9 ....bb"))
    assert [row.name.label for row in timeline.rows if row.table == "work"] == ["stream 7", "copies 9"]


def test_a_trace_without_gpu_work_has_host_rows_in_the_colours_of_families() -> None:
    timeline = build_timeline(draw("operators aaaa..bb\noperators .cc....."))
    assert {row.name.kind for row in timeline.rows} == {"operators"}
    assert timeline.gaps == {}
    assert "operator" not in {colour for row in timeline.rows for colour in row.palette}


def test_steps_are_the_windows_of_the_other_pages() -> None:
    timeline = build_timeline(draw(STEP))
    assert [(step.label, step.start_ns, step.end_ns) for step in timeline.steps] == [("step#0", 0, 17 * CHARACTER_NS)]


def test_a_trace_without_marks_has_no_steps() -> None:
    assert build_timeline(draw("host A\nstream 7 ..aa")).steps == ()


def test_gaps_lie_where_the_device_is_idle() -> None:
    timeline = build_timeline(draw(STEP))
    (row,) = timeline.rows_of("gaps")
    device = timeline.gaps["0"]
    assert device.gap_start_ns.tolist() == [0, 7 * CHARACTER_NS, 11 * CHARACTER_NS]
    assert device.gap_end_ns.tolist() == [4 * CHARACTER_NS, 8 * CHARACTER_NS, 13 * CHARACTER_NS]
    assert int((row.end_ns - row.start_ns).sum()) == 7 * CHARACTER_NS


@needs_shared
def test_a_short_kernel_keeps_its_place_and_width_beside_a_long_one() -> None:
    timeline = build_timeline(read_trace(SHARED / "cases" / "33-timeline-bars-vanish" / "trace.json"))
    rows = timeline.rows_of("stream")
    (drawn,) = details(rows, Window(timeline.start_ns, timeline.end_ns, 1000))
    widths = (rows[0].end_ns - rows[0].start_ns)[drawn.event]
    assert widths.tolist() == [800, 3000, 300, 1_200_000]
    starts = rows[0].start_ns[drawn.event]
    assert (starts - starts[0]).tolist() == [0, 2000, 10_000, 11_500]
