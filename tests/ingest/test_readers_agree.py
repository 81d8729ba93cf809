"""Do the fast reader and the tolerant one say the same of every file?"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.ingest.columns import Document
from explorer.ingest.fast import RefusedError, read_documents_fast
from explorer.ingest.link import Linked, link
from explorer.ingest.open import open_source
from explorer.ingest.rows import ROW_ROOM
from explorer.ingest.tolerant import read_documents
from tests.shared import SHARED, needs_shared, shared_traces

pytestmark = pytest.mark.usefixtures("compiled_scanner")

_TABLES = ("operators", "calls", "work", "annotations", "frames", "dropped_work")
_REFUSED_CASES = {
    "01-windows-path-escapes",
    "02-control-chars-non-utf8",
    "03-inf-nan-literals",
    "04-truncated",
    "20-legacy-array-format",
}


def plain(table: pa.Table) -> pa.Table:
    """The table with its words written out: equal however they are numbered."""
    types = [pa.string() if pa.types.is_dictionary(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema([field.with_type(kind) for field, kind in zip(table.schema, types, strict=True)]))


def assert_same(fast: list[Document], tolerant: list[Document]) -> None:
    """Compares what both readers found, and the tables made of it."""
    one, other = link(list(fast)), link(list(tolerant))
    for name in _TABLES:
        assert plain(getattr(one, name)).equals(plain(getattr(other, name))), name
    assert one.base_time_ns == other.base_time_ns
    for ours, theirs in zip(fast, tolerant, strict=True):
        assert dict(ours.head) == dict(theirs.head)
        assert dict(ours.category_counts) == dict(theirs.category_counts)
        assert dict(ours.process_names) == dict(theirs.process_names)
        assert dict(ours.thread_names) == dict(theirs.thread_names)
        assert ours.notes == theirs.notes == ()


def both(path: Path) -> tuple[list[Document], list[Document]]:
    """What the fast and the tolerant reader make of a file."""
    return read_documents_fast(open_source(path)), read_documents(open_source(path))


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("path", shared_traces(), ids=lambda path: path.name.removesuffix(".json.gz"))
def test_readers_agree_on_every_shared_trace(path: Path) -> None:
    assert_same(*both(path))


@needs_shared
@pytest.mark.parametrize(
    "path",
    [
        path
        for path in sorted((SHARED / "cases").glob("*/*.json*"))
        if path.name not in ("expected.json", "workload.json")
    ],
    ids=lambda path: f"{path.parent.name}-{path.name}",
)
def test_readers_agree_on_every_case_or_the_fast_one_refuses_it(path: Path) -> None:
    try:
        fast = read_documents_fast(open_source(path))
    except RefusedError:
        assert path.parent.name in _REFUSED_CASES or path.name == "zero_negative.json"
        return
    assert_same(fast, read_documents(open_source(path)))


_NUMBERS: st.SearchStrategy[Any] = st.one_of(
    st.integers(0, 10**6),
    st.decimals(-1000, 10**13, places=3, allow_nan=False).map(float),
    st.sampled_from(["12.5", None, True, "", [], {}, 1e300, -0.0]),
)
_TEXTS = st.one_of(st.text(max_size=8), st.sampled_from(["X", "cpu_op", "kernel", 'a"b', "C:\\tmp", "stream 7", "é"]))
_VALUES = st.one_of(_NUMBERS, _TEXTS)
_ARGUMENTS = st.dictionaries(
    st.sampled_from(["correlation", "External id", "external id", "stream", "device", "grid", "Input Dims", "odd key",
                     "est. achieved occupancy %", "bytes", "Comms Id", "sycl queue"]),
    st.one_of(_VALUES, st.lists(st.integers(0, 9), max_size=3)),
    max_size=5,
)  # fmt: skip
_EVENTS = st.fixed_dictionaries(
    {"ph": st.sampled_from(["X", "X", "X", "M", "s", "i"]), "name": _TEXTS, "pid": _VALUES, "tid": _VALUES},
    optional={
        "cat": st.sampled_from(["cpu_op", "kernel", "cuda_runtime", "Kernel", "gpu_memcpy", "user_annotation", "odd"]),
        "ts": _NUMBERS,
        "dur": _NUMBERS,
        "args": _ARGUMENTS,
        "id": _NUMBERS,
    },
)


@given(st.lists(_EVENTS, max_size=6), st.sampled_from([None, 1, 3]))
@settings(max_examples=200, deadline=None)
def test_readers_agree_on_any_well_formed_document_that_the_fast_one_takes(
    tmp_path_factory: pytest.TempPathFactory, events: list[dict[str, Any]], indent: int | None
) -> None:
    path = tmp_path_factory.mktemp("documents") / "trace.json"
    path.write_text(json.dumps({"a": {"b": 1}, "traceEvents": events, "c": [2]}, indent=indent), encoding="utf-8")
    try:
        fast = read_documents_fast(open_source(path))
    except RefusedError:
        return
    assert_same(fast, read_documents(open_source(path)))


_SPACE = st.sampled_from(["", "", " ", "\n  ", "\n\t\t", " " * 70])


def _spaced(value: Any, space: Callable[[], str]) -> str:
    """JSON with any white space where white space may be."""
    if isinstance(value, dict):
        pairs = [
            f"{space()}{json.dumps(key)}{space()}:{space()}{_spaced(one, space)}{space()}" for key, one in value.items()
        ]
        return "{" + (",".join(pairs) or space()) + "}"
    if isinstance(value, list):
        return "[" + (",".join(f"{space()}{_spaced(one, space)}{space()}" for one in value) or space()) + "]"
    return json.dumps(value)


@given(st.data(), st.lists(_EVENTS, min_size=1, max_size=3))
@settings(max_examples=150, deadline=None)
def test_readers_agree_however_often_and_with_whatever_space_between_events_repeat(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, events: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("documents") / "trace.json"
    repeated = data.draw(st.lists(st.sampled_from(events), min_size=4, max_size=12))
    spaces = data.draw(st.lists(_SPACE, min_size=1, max_size=7))
    text = _spaced(repeated, itertools.cycle(spaces).__next__)
    path.write_text(text, encoding="utf-8")
    try:
        fast = read_documents_fast(open_source(path))
    except RefusedError:
        return
    assert_same(fast, read_documents(open_source(path)))


@pytest.mark.parametrize(
    "text",
    [
        b'[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":01,"dur":1}]',
        b'[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1.,"dur":1}]',
        b'[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,}]',
        b'[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1},]',
        b'[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1} {"ph":"i"}]',
        b'[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,"args":{"a":[1 2]}}]',
        b'[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"t\\u0073":2,"dur":1}]',
        b'[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"ts":2,"dur":1}]',
        b'[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,"args":{"a":nul}}]',
        b'[{"ph":"B","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1}]',
        b'[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":-1}]',
        b'[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":"1","dur":1}]',
        b'[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1}',
        b'[{"ph":"i"},{"ph":"i"},{"ph":"i","ph":"i"}]',
        b'[{"ph":"i","args":{"a":1}},{"ph":"i","args":{"a":1},"args":{"a":1}}]',
        b'[{"ph":"i","a":1},{"ph":"i","a":1,}]',
        b'[{"ph":"i","args":{"a":1}},{"ph":"i","args":{"a":1,}}]',
        b'[{"ph":"i","a":[1]},{"ph":"i","a":[1]]}]',
    ],
)
def test_fast_reader_refuses_what_is_unusual(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(text)

    with pytest.raises(RefusedError):
        read_documents_fast(open_source(path))


def test_text_cut_anywhere_is_read_again_and_not_misread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace.json"
    event = {
        "ph": "X",
        "cat": "kernel",
        "name": "a\\b",
        "pid": 0,
        "tid": 7,
        "ts": 12.345,
        "dur": 1,
        "args": {"stream": 7},
    }
    path.write_text(json.dumps({"traceEvents": [event] * 3, "baseTimeNanoseconds": 17}), encoding="utf-8")
    whole: Linked = link(read_documents_fast(open_source(path)))

    for block_bytes in (1, 7, 64):
        monkeypatch.setattr("explorer.ingest.open.BLOCK_BYTES", block_bytes)
        for reader in (read_documents_fast, read_documents):
            cut = link(reader(open_source(path)))
            assert plain(cut.work).equals(plain(whole.work))
            assert cut.base_time_ns == whole.base_time_ns


def test_more_rows_than_a_block_of_either_side_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.ingest.fast._SCANNER_COUNT", 1)
    path = tmp_path / "long.json"
    shared = '"ph":"X","pid":0,"tid":7,"dur":1,"args":{"correlation":'
    host, work = '{"cat":"cuda_runtime","name":"launch%d",', '{"cat":"kernel","name":"k%d",'
    events = (
        f'{start % (number % 7)}"ts":{number},{shared}{number}}}}}'
        for number in range(ROW_ROOM + ROW_ROOM // 2)
        for start in (host, work)
    )
    path.write_text(f'{{"traceEvents":[{",".join(events)}]}}', encoding="utf-8")

    fast, tolerant = both(path)

    assert len(fast[0].host.start_ns) == len(fast[0].work.start_ns) > ROW_ROOM
    assert_same(fast, tolerant)
