"""What is there to know about one event: a kernel, a gap, an operator, a call, a mark?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.analysis.timeline_build import Timeline
from explorer.analysis.timeline_bytes import moved_bytes
from explorer.analysis.timeline_places import Place, enclosing, number_in, place_at, place_of, word_in
from explorer.analysis.timeline_rows import Row
from explorer.spans import NO_ROW
from explorer.trace import codes_and_words, values, values_or
from explorer.units import Number, Unit

_NS_PER_S = 1e9


@dataclass(frozen=True)
class Entry:
    """One line: unknown has value None and says why in `reason`. `part` names a gap part that the line is about."""

    label: str
    value: Number | str | None
    unit: Unit
    reason: str = ""
    part: str = ""


@dataclass(frozen=True)
class Section:
    """Lines under one title."""

    title: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Story:
    """One event with everything around it; `launched_by` and `launches` are the ends of the arrow to draw."""

    name: str
    kind: str
    colour: str
    place: Place
    sections: tuple[Section, ...]
    launched_by: Place | None = None
    launches: Place | None = None


def story(timeline: Timeline, row_index: int, event: int) -> Story:
    """The story of one event of one row."""
    row = timeline.rows[row_index]
    place = place_at(timeline, row_index, event)
    table_row = int(row.table_rows(np.array([event]))[0])
    colour = row.palette[row.colour[event]]
    sections: tuple[Section, ...]
    launched_by = launches = None
    if row.table == "work":
        call = values_or(timeline.trace.work, "call_row", NO_ROW)[table_row]
        launched_by = place_of(timeline, "calls", int(call))
        sections = _work_sections(timeline, row, place, table_row, launched_by)
    elif row.table == "gaps":
        sections, launched_by, launches = _gap_sections(timeline, row, table_row)
    elif row.table == "calls":
        launches = _first_work(timeline, table_row)
        sections = _call_sections(timeline, place, table_row, launches)
    elif row.table == "operators":
        sections = _operator_sections(timeline, place, table_row)
    else:
        sections = (Section("Time", (_duration(place),)),)
    repeated = () if row.table == "gaps" else (_statistics(timeline, row, place, event),)
    return Story(row.name_of(event), row.name.kind, colour, place, (*sections, *repeated), launched_by, launches)


def _duration(place: Place) -> Entry:
    return Entry("duration", place.end_ns - place.start_ns, "ns")


def _work_sections(
    timeline: Timeline, row: Row, place: Place, work_row: int, launched_by: Place | None
) -> tuple[Section, ...]:
    trace = timeline.trace
    device = word_in(trace, "work", "device", work_row) or ""
    time = [_duration(place), Entry("stream", word_in(trace, "work", "stream", work_row), "text")]
    pieces = timeline.gaps[device]
    gap = pieces.gap_before(place.start_ns)
    if gap is not None:
        begin, end = pieces.span(gap)
        time.append(Entry("gap before", end - begin, "ns"))
        time += [Entry(part, length, "ns", part=part) for part, length in pieces.parts_of(gap).items()]
    return (
        Section("Time", tuple(time)),
        Section("Launch", _launch_entries(timeline, work_row, place, launched_by)),
        Section("On the GPU", _resource_entries(timeline, work_row, place)),
    )


def _launch_entries(timeline: Timeline, work_row: int, place: Place, launched_by: Place | None) -> tuple[Entry, ...]:
    trace = timeline.trace
    if launched_by is None:
        return (Entry("launched by", None, "text", "No host call carries this kernel's correlation."),)
    call = int(values_or(trace.work, "call_row", NO_ROW)[work_row])
    process, thread = (word_in(trace, "calls", column, call) or "" for column in ("process", "thread"))
    entries = [
        Entry("launched by", word_in(trace, "calls", "name", call), "text"),
        Entry("launch latency", place.start_ns - launched_by.start_ns, "ns"),
        Entry("queued after the call", place.start_ns - launched_by.end_ns, "ns"),
    ]
    devices, _ = codes_and_words(trace.work, "device")
    siblings = (values_or(trace.work, "call_row", NO_ROW) == call) & (devices == devices[work_row])
    if (count := int(siblings.sum())) > 1:
        position = number_in(trace, "work", "position_in_launch", work_row)
        entries.append(Entry("piece of its launch", f"{int(position or 0) + 1:,} of {count:,}", "text"))
    operator = int(values_or(trace.work, "operator_row", NO_ROW)[work_row])
    entries += _operator_entries(timeline, operator)
    for kind in ("layer", "step"):
        name = enclosing(trace, kind, process, thread, launched_by.start_ns)
        if name:
            entries.append(Entry(kind, name, "text"))
    return tuple(entries)


def _operator_entries(timeline: Timeline, operator: int) -> list[Entry]:
    if operator == NO_ROW:
        return [Entry("operator", None, "text", "No operator was running around the launch: a graph replay has none.")]
    trace = timeline.trace
    entries = [Entry("operator", word_in(trace, "operators", "name", operator), "text")]
    dims = word_in(trace, "operators", "input_dims", operator)
    reason = "The profiler was run without record_shapes."
    entries.append(Entry("input shapes", dims, "text", "" if dims else reason))
    types = word_in(trace, "operators", "input_types", operator)
    return [*entries, Entry("input types", types, "text")] if types else entries


def _resource_entries(timeline: Timeline, work_row: int, place: Place) -> tuple[Entry, ...]:
    trace = timeline.trace
    missing = "The trace does not say."
    copied = number_in(trace, "work", "copied_bytes", work_row)
    if copied is not None:
        return _bandwidth_entries("moved", copied, place)
    operator = int(values_or(trace.work, "operator_row", NO_ROW)[work_row])
    least = moved_bytes(trace, operator) if operator != NO_ROW else None
    grid, block = (word_in(trace, "work", column, work_row) for column in ("grid", "block"))
    return (
        Entry("grid", grid, "text", missing),
        Entry("block", block, "text", missing),
        Entry("registers a thread", number_in(trace, "work", "registers_per_thread", work_row), "count", missing),
        Entry("shared memory", number_in(trace, "work", "shared_memory_bytes", work_row), "bytes", missing),
        Entry("estimated occupancy", number_in(trace, "work", "occupancy_ratio", work_row), "ratio", missing),
        *_bandwidth_entries("must move at least", least, place),
    )


def _bandwidth_entries(label: str, moved: Number | None, place: Place) -> tuple[Entry, ...]:
    length = place.end_ns - place.start_ns
    rate = moved / length * _NS_PER_S if moved is not None and length else None
    reason = "Known only where one operator with recorded shapes launched this kernel alone."
    return (Entry(label, moved, "bytes", reason), Entry("achieved bandwidth", rate, "bytes_per_s", reason))


def _gap_sections(timeline: Timeline, row: Row, piece: int) -> tuple[tuple[Section, ...], Place | None, Place | None]:
    pieces = timeline.gaps[row.name.key.removeprefix("gaps/")]
    gap = pieces.gap_of(piece)
    trace = timeline.trace
    begin, end = pieces.span(gap)
    parts = tuple(Entry(part, value, "ns", part=part) for part, value in pieces.parts_of(gap).items())
    ended_by = int(pieces.ended_by[gap])
    call = int(values_or(trace.work, "call_row", NO_ROW)[ended_by])
    launched_by = place_of(timeline, "calls", call)
    entries = [Entry("ended by", word_in(trace, "work", "name", ended_by), "text")]
    if launched_by is not None:
        entries.append(Entry("launched by", word_in(trace, "calls", "name", call), "text"))
    drained_by = pieces.drained_by.get(gap)
    if drained_by is not None:
        entries.append(Entry("drained by", word_in(trace, "calls", "name", drained_by), "text"))
    sections = (Section("Gap", (Entry("whole gap", end - begin, "ns"), *parts)), Section("Its end", tuple(entries)))
    return sections, launched_by, place_of(timeline, "work", ended_by)


def _first_work(timeline: Timeline, call: int) -> Place | None:
    rows = np.flatnonzero(values_or(timeline.trace.work, "call_row", NO_ROW) == call)
    return place_of(timeline, "work", int(rows[0])) if len(rows) else None


def _call_sections(timeline: Timeline, place: Place, call: int, launches: Place | None) -> tuple[Section, ...]:
    trace = timeline.trace
    entries = [_duration(place)]
    count = number_in(trace, "calls", "work_count", call)
    if count:
        entries.append(Entry("GPU work submitted", count, "count"))
    if launches is not None:
        entries.append(Entry("first of it starts after", launches.start_ns - place.start_ns, "ns"))
    operator = int(values_or(trace.calls, "operator_row", NO_ROW)[call])
    return (Section("Time", tuple(entries)), Section("Operator", tuple(_operator_entries(timeline, operator))))


def _operator_sections(timeline: Timeline, place: Place, operator: int) -> tuple[Section, ...]:
    trace = timeline.trace
    thread = (word_in(trace, "operators", "process", operator), word_in(trace, "operators", "thread", operator))
    calls = _calls_within(timeline, thread, place)
    work = np.flatnonzero(np.isin(values_or(trace.work, "call_row", NO_ROW), calls)) if len(calls) else calls
    entries = [_duration(place), Entry("host calls inside", len(calls), "count")]
    if len(trace.work):
        length = values(trace.work, "end_ns")[work] - values(trace.work, "start_ns")[work]
        entries += [
            Entry("GPU work launched", len(work), "count"),
            Entry("its time on the GPU", int(length.sum()), "ns"),
        ]
    parent = int(values_or(trace.operators, "parent_row", NO_ROW)[operator])
    around = [Entry("inside of", word_in(trace, "operators", "name", parent), "text")] if parent != NO_ROW else []
    return (Section("Time", tuple(entries)), Section("Operator", (*around, *_operator_entries(timeline, operator)[1:])))


def _calls_within(timeline: Timeline, thread: tuple[str | None, str | None], place: Place) -> np.ndarray:
    table = timeline.trace.calls
    start = values(table, "start_ns")
    first, last = np.searchsorted(start, [place.start_ns, place.end_ns])
    rows = np.arange(first, last)
    for column, wanted in zip(("process", "thread"), thread, strict=True):
        codes, words = codes_and_words(table, column)
        rows = rows[codes[rows] == (words.index(wanted) if wanted in words else NO_ROW)]
    return rows


def _statistics(timeline: Timeline, row: Row, place: Place, event: int) -> Section:
    """The same name over all rows of its table."""
    code = row.name_codes(np.array([event]))[0]
    lengths = []
    for other in timeline.rows:
        if other.table == row.table:
            same = other.name_codes(np.arange(other.count)) == code
            lengths.append(other.end_ns[same] - other.start_ns[same])
    length = np.concatenate(lengths)
    shorter = float((length < place.end_ns - place.start_ns).mean())
    return Section(
        "All of this name",
        (
            Entry("count", len(length), "count"),
            Entry("total", int(length.sum()), "ns"),
            Entry("median", float(np.median(length)), "ns"),
            Entry("shortest", int(length.min()), "ns"),
            Entry("longest", int(length.max()), "ns"),
            Entry("this one is longer than", shorter, "ratio"),
        ),
    )
