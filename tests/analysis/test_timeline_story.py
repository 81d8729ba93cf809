"""Does the story of an event name its launch, its operator, its gap and its like?"""

from __future__ import annotations

import numpy as np
import pytest

from explorer.analysis.timeline_build import Timeline, build_timeline
from explorer.analysis.timeline_jumps import longest_gap, longest_work, next_match, ordinal_in_step, same_work
from explorer.analysis.timeline_measure import measure, step_sentence
from explorer.analysis.timeline_rows import RowKind
from explorer.analysis.timeline_search import Matches, distinct_names, found
from explorer.analysis.timeline_story import Story, story
from tests.drawing import CHARACTER_NS, draw

DRAWING = """
    steps       0000000000111111111111
    operators   .aaaaaaa...bbbbbb.....
    operators   ..cc..dd....ee........
    host        ...A...B.....A........
    stream 7    ....aaa.bbb...aaaaaa..
"""


@pytest.fixture(scope="module")
def timeline() -> Timeline:
    return build_timeline(draw(DRAWING))


def row_index(timeline: Timeline, kind: RowKind, depth: int = 0) -> int:
    return next(i for i, row in enumerate(timeline.rows) if row.name.kind == kind and row.name.depth == depth)


def entries(told: Story) -> dict[str, object]:
    return {entry.label: entry.value for section in told.sections for entry in section.entries}


def test_a_kernel_knows_its_launch_operator_step_and_gap(timeline: Timeline) -> None:
    told = story(timeline, row_index(timeline, "stream"), 1)
    lines = entries(told)
    assert told.launched_by is not None
    assert told.launched_by.row_index == row_index(timeline, "calls")
    assert (told.launched_by.start_ns, told.launched_by.end_ns) == (7 * CHARACTER_NS, 8 * CHARACTER_NS)
    assert lines["launch latency"] == CHARACTER_NS
    assert lines["operator"] == "aten::d"
    assert lines["step"] == "step#0"
    assert lines["gap before"] == CHARACTER_NS
    assert lines["launch_call"] == CHARACTER_NS


def test_a_kernel_is_set_beside_all_of_its_name(timeline: Timeline) -> None:
    lines = entries(story(timeline, row_index(timeline, "stream"), 2))
    assert (lines["count"], lines["total"], lines["longest"]) == (2, 9 * CHARACTER_NS, 6 * CHARACTER_NS)
    assert lines["this one is longer than"] == 0.5


def test_unknown_resources_say_why(timeline: Timeline) -> None:
    told = story(timeline, row_index(timeline, "stream"), 0)
    unknown = [entry for section in told.sections for entry in section.entries if entry.value is None]
    assert unknown
    assert all(entry.reason for entry in unknown)


def test_a_call_points_to_the_work_it_launched(timeline: Timeline) -> None:
    told = story(timeline, row_index(timeline, "calls"), 1)
    assert told.launches is not None
    assert told.launches.start_ns == 8 * CHARACTER_NS
    assert entries(told)["operator"] == "aten::d"


def test_an_operator_counts_the_work_launched_inside_it(timeline: Timeline) -> None:
    lines = entries(story(timeline, row_index(timeline, "operators"), 0))
    assert (lines["host calls inside"], lines["GPU work launched"]) == (2, 2)
    assert lines["its time on the GPU"] == 6 * CHARACTER_NS


def test_a_gap_is_told_whole_with_what_ended_it(timeline: Timeline) -> None:
    told = story(timeline, row_index(timeline, "gaps"), timeline.rows[row_index(timeline, "gaps")].count - 1)
    lines = entries(told)
    assert lines["whole gap"] == 3 * CHARACTER_NS
    assert sum(value for part, value in lines.items() if part in told_parts(told)) == 3 * CHARACTER_NS  # type: ignore[misc]
    assert told.launches is not None
    assert told.launches.start_ns == 14 * CHARACTER_NS


def told_parts(told: Story) -> set[str]:
    return {entry.label for section in told.sections for entry in section.entries if entry.part}


def test_a_measured_interval_adds_up(timeline: Timeline) -> None:
    (device,) = measure(timeline, 5 * CHARACTER_NS, 15 * CHARACTER_NS)
    assert device.busy_ns == (2 + 3 + 1) * CHARACTER_NS
    assert sum(device.idle_ns.values()) == 4 * CHARACTER_NS
    assert device.outside_ns == 0
    assert device.kernel_count == 2


def test_time_after_the_last_work_is_outside_not_idle(timeline: Timeline) -> None:
    (device,) = measure(timeline, 18 * CHARACTER_NS, 30 * CHARACTER_NS)
    assert (device.busy_ns, device.outside_ns, sum(device.idle_ns.values())) == (2 * CHARACTER_NS, 10 * CHARACTER_NS, 0)


def test_a_step_is_said_with_its_numbers(timeline: Timeline) -> None:
    assert step_sentence(timeline, timeline.steps[0]) == "110 µs, the GPU busy 55 % of it with 2 kernels"


def test_longest_first_then_the_next(timeline: Timeline) -> None:
    lengths = []
    for rank in range(3):
        place = longest_work(timeline, rank, 0, 10**9)
        assert place is not None
        lengths.append((place.end_ns - place.start_ns) // CHARACTER_NS)
    assert lengths == [6, 3, 3]
    assert longest_work(timeline, 3, 0, 10**9) is None
    gap = longest_gap(timeline, 0, 0, 10**9)
    assert gap is not None
    assert (gap.end_ns - gap.start_ns) // CHARACTER_NS == 4


def test_the_same_kernel_is_found_by_its_place_in_the_step(timeline: Timeline) -> None:
    name, ordinal = ordinal_in_step(timeline, 2, timeline.steps[1])
    assert ordinal == 0
    place = same_work(timeline, name, ordinal, timeline.steps[0])
    assert place is not None
    assert place.start_ns == 4 * CHARACTER_NS
    assert same_work(timeline, "no such kernel", 0, None) is None


def test_a_search_counts_and_walks_both_ways(timeline: Timeline) -> None:
    words = distinct_names(timeline)["work"]
    name = timeline.rows[row_index(timeline, "stream")].name_of(0)
    matches = Matches({"work": np.array([word == name for word in words])})
    (counted,) = found(timeline, matches)
    assert (counted.count, counted.total_ns) == (2, 9 * CHARACTER_NS)
    later = next_match(timeline, matches, 4 * CHARACTER_NS, forward=True)
    assert later is not None
    assert later.start_ns == 14 * CHARACTER_NS
    earlier = next_match(timeline, matches, 14 * CHARACTER_NS, forward=False)
    assert earlier is not None
    assert earlier.start_ns == 4 * CHARACTER_NS
    assert next_match(timeline, matches, 14 * CHARACTER_NS, forward=True) is None


def test_pieces_of_a_launch_on_two_devices_are_counted_on_each() -> None:
    timeline = build_timeline(
        draw("""
            host          A.......
            stream 7      .aa.aa..
            gpu1 stream 7 ..aa.aa.
        """)
    )

    rows = [index for index, row in enumerate(timeline.rows) if row.name.kind == "stream"]

    told = [entries(story(timeline, index, place))["piece of its launch"] for index in rows for place in (0, 1)]
    assert told == ["1 of 2", "2 of 2", "1 of 2", "2 of 2"]
