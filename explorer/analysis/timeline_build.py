"""Which rows does a trace have? Annotations, GPU streams with their gaps, then host threads with nested operators.

Built once a trace and then only read, from any thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer import spans
from explorer.analysis.idle import PARTS
from explorer.analysis.pieces import devices_of
from explorer.analysis.timeline_gaps import GapPieces, gap_pieces
from explorer.analysis.timeline_rows import Names, Row, RowKind, RowName, TableName, build_row
from explorer.analysis.timeline_sums import Times
from explorer.analysis.windows import device_windows
from explorer.spans import NO_ROW
from explorer.trace import FAMILIES, Trace, codes_and_words, values

ANNOTATION_KINDS: dict[str, RowKind] = {"step": "step", "layer": "layer"}


@dataclass(frozen=True)
class Step:
    """The window of one step on the first device (definitions.md, "Step window"); `label` is its annotation's text."""

    label: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Timeline:
    """Everything that can be drawn of one trace; `[start_ns, end_ns)` holds all of its events."""

    trace: Trace
    rows: tuple[Row, ...]
    gaps: dict[str, GapPieces]
    start_ns: int
    end_ns: int
    steps: tuple[Step, ...]

    @cached_property
    def is_kernel(self) -> npt.NDArray[np.bool_]:
        """Which rows of the trace's work are kernels."""
        kinds, words = codes_and_words(self.trace.work, "kind")
        return np.asarray(kinds == (words.index("kernel") if "kernel" in words else NO_ROW))

    @property
    def size_bytes(self) -> int:
        """Bytes held beside the trace's own tables."""
        return sum(row.size_bytes for row in self.rows) + sum(pieces.size_bytes for pieces in self.gaps.values())

    def rows_of(self, *kinds: RowKind) -> list[Row]:
        return [row for row in self.rows if row.name.kind in kinds]


def build_timeline(trace: Trace) -> Timeline:
    """The rows of a trace, top to bottom; a trace without GPU work has only host rows."""
    gaps = {device: gap_pieces(trace, device) for device in trace.devices()}
    rows = [*_annotation_rows(trace), *_device_rows(trace, gaps), *_host_rows(trace)]
    filled = [row for row in rows if row.count]
    return Timeline(
        trace=trace,
        rows=tuple(filled),
        gaps=gaps,
        start_ns=min((int(row.start_ns[0]) for row in filled), default=0),
        end_ns=max((int(row.reach_ns[-1]) for row in filled), default=1),
        steps=_steps(trace),
    )


def _steps(trace: Trace) -> tuple[Step, ...]:
    devices = devices_of(trace)
    marked = device_windows(trace, devices[0], "steps") if devices else None
    if marked is None or marked.kind != "steps":
        return ()
    return tuple(Step(window.name, window.start_ns, window.end_ns) for window in marked.windows)


def _annotation_rows(trace: Trace) -> Iterator[Row]:
    table = trace.annotations
    source = _Source.of("annotations", table)
    kinds, words = codes_and_words(table, "kind")
    plain = np.zeros(len(table), np.uint8)
    for place, selected in _groups(table, "process", "thread"):
        for kind in ("step", "phase", "layer", "other"):
            rows = selected[kinds[selected] == words.index(kind)] if kind in words else selected[:0]
            depth = spans.nest(source.start_ns[rows], source.end_ns[rows]).depth
            for level in range(int(depth.max(initial=-1)) + 1):
                row_kind = ANNOTATION_KINDS.get(kind, "annotation")
                label = kind if kind != "other" else "marks"
                name = RowName(f"mark/{'/'.join(place)}/{kind}/{level}", row_kind, label, _thread(place), level)
                yield source.row(name, rows[depth == level], plain, (row_kind,))


def _device_rows(trace: Trace, gaps: dict[str, GapPieces]) -> Iterator[Row]:
    work = trace.work
    source = _Source.of("work", work)
    family, words = codes_and_words(work, "family")
    colour = np.array([FAMILIES.index(word) for word in words], np.uint8)[family]
    kinds, kind_words = codes_and_words(work, "kind")
    is_kernel = kinds == kind_words.index("kernel") if "kernel" in kind_words else np.zeros(len(work), bool)
    streams = sorted(_groups(work, "device", "stream"), key=lambda group: _natural(group[0]))
    for device, pieces in gaps.items():
        group = group_of(device)
        if len(pieces.start_ns):
            yield build_row(
                RowName(f"gaps/{device}", "gaps", "gaps", group),
                "gaps",
                start_ns=pieces.start_ns,
                end_ns=pieces.end_ns,
                colour=pieces.part,
                palette=PARTS,
                table_row=None,
                names=Names(pieces.part, PARTS),
            )
        for (owner, stream), selected in streams:
            if owner == device:
                kind: RowKind = "stream" if bool(is_kernel[selected].any()) else "copies"
                label = f"{'copies' if kind == 'copies' else 'stream'} {stream}".strip()
                yield source.row(RowName(f"work/{device}/{stream}", kind, label, group), selected, colour, FAMILIES)


def _host_rows(trace: Trace) -> Iterator[Row]:
    call_source, operator_source = _Source.of("calls", trace.calls), _Source.of("operators", trace.operators)
    calls = dict(_groups(trace.calls, "process", "thread"))
    operators = dict(_groups(trace.operators, "process", "thread"))
    call_kind, call_words = codes_and_words(trace.calls, "kind")
    # On a trace without GPU work operators stand in for kernels, so they have the families' colours.
    operator_colour, operator_words = codes_and_words(trace.operators, "kind" if len(trace.work) else "family")
    depth = values(trace.operators, "depth")
    none = np.zeros(0, np.int64)
    places = sorted(
        {*calls, *operators}, key=lambda place: (-len(calls.get(place, none)), -len(operators.get(place, none)), place)
    )
    for place in places:
        selected = operators.get(place, none)
        for level in range(int(depth[selected].max(initial=-1)) + 1):
            name = RowName(f"operators/{'/'.join(place)}/{level}", "operators", "operators", _thread(place), level)
            at_level = selected[depth[selected] == level]
            yield operator_source.row(name, at_level, operator_colour, operator_words)
        if place in calls:
            name = RowName(f"calls/{'/'.join(place)}", "calls", "calls", _thread(place))
            yield call_source.row(name, calls[place], call_kind, [f"call_{word}" for word in call_words])


@dataclass(frozen=True)
class _Source:
    """A table of the trace with what its rows have in common."""

    table_name: TableName
    table: pa.Table
    start_ns: Times
    end_ns: Times
    names: Names

    @classmethod
    def of(cls, table_name: TableName, table: pa.Table) -> _Source:
        codes, words = codes_and_words(table, "name")
        return cls(table_name, table, values(table, "start_ns"), values(table, "end_ns"), Names(codes, tuple(words)))

    def row(
        self,
        name: RowName,
        selected: npt.NDArray[np.int64],
        colour: npt.NDArray[np.integer],
        palette: Sequence[str],
    ) -> Row:
        """A row of the selected rows of the table; views of its columns where that is all of them."""
        whole = len(selected) == len(self.table)
        return build_row(
            name,
            self.table_name,
            start_ns=self.start_ns if whole else self.start_ns[selected],
            end_ns=self.end_ns if whole else self.end_ns[selected],
            colour=(colour if whole else colour[selected]).astype(np.uint8),
            palette=tuple(palette),
            table_row=None if whole else selected.astype(np.int32),
            names=self.names,
        )


def _groups(table: pa.Table, *columns: str) -> Iterator[tuple[tuple[str, ...], npt.NDArray[np.int64]]]:
    """`(words, ascending rows)` of every combination of words that occurs; a missing word is ""."""
    if len(table) == 0:
        return
    coded = [codes_and_words(table, column) for column in columns]
    combined = np.zeros(len(table), np.int64)
    for codes, words in coded:
        combined = combined * (len(words) + 1) + codes + 1
    keys, group = np.unique(combined, return_inverse=True)
    if len(keys) == 1:
        yield tuple(_word(codes[0], words) for codes, words in coded), np.arange(len(table))
        return
    order = np.argsort(group, kind="stable")
    edges = np.searchsorted(group[order], np.arange(len(keys) + 1))
    for index in range(len(keys)):
        rows = order[edges[index] : edges[index + 1]]
        yield tuple(_word(codes[rows[0]], words) for codes, words in coded), rows


def group_of(device: str) -> str:
    """The group that the rows of a device stand in."""
    return f"GPU {device}"


def _word(code: np.int32, words: list[str]) -> str:
    return words[code] if code >= 0 else ""


def _thread(place: tuple[str, ...]) -> str:
    return f"thread {place[-1]}"


def _natural(words: tuple[str, ...]) -> list[tuple[int, str]]:
    return [(int(word), "") if word.isdigit() else (1 << 62, word) for word in words]
