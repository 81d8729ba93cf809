"""Is a file opened by what it holds, and is what is wrong with it said?"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest

from explorer.errors import TraceError
from explorer.ingest import read_trace
from explorer.ingest.document import Text
from explorer.ingest.open import open_source
from explorer.ingest.tolerant import read_documents
from tests.reading import trace_of_bytes

EVENT = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {"device": 0}}
DOCUMENT = json.dumps({"traceEvents": [EVENT]}).encode()


def zipped(packing: int = zipfile.ZIP_STORED, **entries: bytes) -> bytes:
    """A zip with those files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, content in entries.items():
            archive.writestr(name.replace("_", "."), content)
    return buffer.getvalue()


def tarred(content: bytes) -> bytes:
    """A tar with that file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("trace.json")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        DOCUMENT,
        b"\xef\xbb\xbf" + DOCUMENT,
        gzip.compress(DOCUMENT),
        gzip.compress(DOCUMENT) + b"\0" * 100,
        gzip.compress(DOCUMENT[:40]) + gzip.compress(DOCUMENT[40:]),
        zipped(trace_json=DOCUMENT),
        zipped(trace_json_gz=gzip.compress(DOCUMENT), settings_json=b'{"model": "tiny"}'),
        json.dumps([EVENT]).encode(),
    ],
    ids=["plain", "with a mark", "gzip", "padded gzip", "two members", "zip", "recording zip", "bare list"],
)
@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz", "anything"])
def test_content_decides_and_not_the_name(content: bytes, name: str) -> None:
    trace = trace_of_bytes(content, name)

    assert trace.work["name"].to_pylist() == ["k"]


def test_whole_documents_one_after_the_other_are_all_read() -> None:
    trace = trace_of_bytes(DOCUMENT + b"\n" + DOCUMENT)

    assert trace.source.document_count == 2
    assert trace.devices() == ["part0/0", "part1/0"]


def rank_document(start_us: int, **head: int) -> bytes:
    """A document with two kernels 10 us apart, the first at that time."""
    events = [{**EVENT, "ts": start_us}, {**EVENT, "ts": start_us + 10}]
    return json.dumps({"traceEvents": events, **head}).encode()


def test_documents_with_base_times_lie_on_one_clock() -> None:
    trace = trace_of_bytes(
        rank_document(5, baseTimeNanoseconds=1_000_000) + rank_document(5, baseTimeNanoseconds=1_003_000)
    )

    assert trace.work["start_ns"].to_pylist() == [0, 3_000, 10_000, 13_000]
    assert not trace.notes


def test_clocks_that_cannot_be_aligned_are_said_and_do_not_stretch_the_trace() -> None:
    now_us = 1_790_857_026_000_000

    trace = trace_of_bytes(rank_document(0, baseTimeNanoseconds=now_us * 1000) + rank_document(now_us + 7))

    assert trace.work["start_ns"].to_pylist() == [0, 0, 10_000, 10_000]
    assert [note.kind for note in trace.notes] == ["unaligned_clocks"]
    assert trace.source.base_time_ns is None


def test_damaged_gzip_keeps_what_unpacks() -> None:
    events = [{**EVENT, "ts": 10 * number} for number in range(2000)]
    packed = gzip.compress(json.dumps({"traceEvents": events}).encode())

    trace = trace_of_bytes(packed[: len(packed) // 2])

    assert 100 < len(trace.work) < 2000
    assert {note.kind for note in trace.notes} == {"truncated", "gzip_damaged"}


def damaged(packed: bytes, place: int) -> bytes:
    """The same with one byte changed."""
    return packed[:place] + bytes([packed[place] ^ 0xFF]) + packed[place:][1:]


@pytest.mark.parametrize("place", [-8, -1], ids=["checksum", "length"])
@pytest.mark.parametrize("before", [b"", gzip.compress(b"\n" * 10)], ids=["only member", "last member"])
@pytest.mark.parametrize("is_zipped", [False, True])
def test_a_gzip_whose_checksum_is_wrong_is_kept_to_the_last_event(place: int, before: bytes, is_zipped: bool) -> None:
    packed = damaged(before + gzip.compress(DOCUMENT), place)

    trace = trace_of_bytes(zipped(trace_json_gz=packed) if is_zipped else packed)

    assert len(trace.work) == 1
    assert {note.kind for note in trace.notes} == {"gzip_damaged"}


@pytest.mark.parametrize("block_bytes", [2 << 20, 1 << 12])
def test_a_gzip_damaged_in_its_middle_is_kept_to_the_last_byte_before(
    monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    monkeypatch.setattr("explorer.ingest.open.BLOCK_BYTES", block_bytes)
    events = [{**EVENT, "ts": 10 * number} for number in range(20_000)]
    packer = zlib.compressobj(wbits=31)
    whole = packer.compress(json.dumps({"traceEvents": events}).encode()) + packer.flush(zlib.Z_FULL_FLUSH)

    trace = trace_of_bytes(whole + b"\xff" * 1000)

    assert len(trace.work) == 20_000
    assert {note.kind for note in trace.notes} == {"gzip_damaged"}


def test_a_gzip_of_which_nothing_is_left_says_so() -> None:
    with pytest.raises(TraceError, match=r"gzip stream is damaged.*Copy or record it again"):
        trace_of_bytes(damaged(gzip.compress(DOCUMENT), 10))


def test_a_zip_with_a_damaged_entry_is_one_error() -> None:
    content = zipped(zipfile.ZIP_DEFLATED, trace_json=DOCUMENT)
    data_at = content.index(b"trace.json") + len(b"trace.json")

    with pytest.raises(TraceError, match=r"trace.json in the zip cannot be unpacked"):
        trace_of_bytes(content[:data_at] + b"\xff" * 20 + content[data_at + 20 :])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\x28\xb5\x2f\xfd1234", "Zstandard"),
        (b"SQLite format 3\0", "SQLite"),
        (zipped(readme_txt=b"hello"), "without a .json"),
        (b"PK\x03\x04 and nothing more", "damaged zip"),
        (gzip.compress(gzip.compress(DOCUMENT)), "packed twice.* Unpack"),
        (tarred(DOCUMENT), "a tar archive.* Unpack"),
        (gzip.compress(tarred(DOCUMENT)), "a tar archive.* Unpack"),
        (DOCUMENT.decode().encode("utf-16"), "UTF-16.* Save it as UTF-8"),
        (DOCUMENT.decode().encode("utf-16-le"), "UTF-16.* Save it as UTF-8"),
        (b"\n".join([json.dumps(EVENT).encode()] * 2), "an event a line .* Make one"),
        (b"<html></html>", "no trace events"),
        (b'{"model": "tiny"}', "no trace events"),
    ],
)
def test_what_is_no_trace_says_what_it_is_and_what_to_do(content: bytes, said: str) -> None:
    with pytest.raises(TraceError, match=said):
        trace_of_bytes(content)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be opened"):
        read_trace(tmp_path / "absent.json")
    with pytest.raises(TraceError, match="is a folder"):
        read_trace(tmp_path)


def test_progress_counts_the_files_own_bytes(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(DOCUMENT))
    heard: list[int] = []

    read_trace(path, heard.append)

    assert heard[-1] == path.stat().st_size


def test_text_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.ingest.open.TEXT_LIMIT_BYTES", 1000)
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * 100_000))

    with pytest.raises(TraceError, match="unpacks to more than"):
        list(open_source(path).blocks())


def test_a_small_file_that_unpacks_to_no_trace_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.ingest.open.PLAIN_TEXT_BYTES", 1 << 20)
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents":[{"name":"' + b"a" * (32 << 20) + b'"}]}'))

    with pytest.raises(TraceError, match="times its size"):
        read_trace(path)


@pytest.mark.parametrize("begin", [b'{"traceEvents":[7', b'{"traceEvents":[],"tail":"'])
def test_what_has_no_end_is_given_up_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: bytes
) -> None:
    longest = 1 << 16
    monkeypatch.setattr("explorer.ingest.open.BLOCK_BYTES", 1 << 12)
    for module in ("document", "tolerant"):
        monkeypatch.setattr(f"explorer.ingest.{module}.LONGEST_EVENT_BYTES", longest)
    kept: list[int] = []
    extend = Text.extend

    def noted(text: Text) -> bool:
        kept.append(len(text.buffer) - text.position)
        return extend(text)

    monkeypatch.setattr(Text, "extend", noted)
    path = tmp_path / "endless.json"
    path.write_bytes(begin + b"7" * (1 << 20))

    read_documents(open_source(path))

    assert max(kept) < 3 * longest
