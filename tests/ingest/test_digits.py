"""Do compiled numbers agree with the plain ones, digit for digit?"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.ingest.columns import ABSENT
from explorer.ingest.digits import UNREADABLE, parse_float, parse_integer, parse_ticks
from explorer.ingest.json_scan import skip_space, skip_value
from explorer.ingest.scan_layout import PADDING_BYTES
from explorer.ingest.ticks import nanoseconds


def in_memory(text: bytes) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint8]], int, int]:
    """The text with the zeros behind it that compiled code needs, and its start and end addresses."""
    buffer = np.zeros(8 + len(text) + PADDING_BYTES, np.uint8)
    buffer[8 : 8 + len(text)] = np.frombuffer(text, np.uint8)
    start = buffer.ctypes.data + 8
    return buffer, start, start + len(text)


@given(st.decimals(-(10**9), 10**9, places=6), st.integers(0, 6))
@settings(max_examples=300, deadline=None)
def test_ticks_are_those_of_the_plain_reader(value: Decimal, places: int) -> None:
    text = f"{value:.{places}f}".encode()
    _kept, start, end = in_memory(text)

    assert parse_ticks(start, end) == nanoseconds(text)


@given(st.integers(0, 4 * 10**15), st.integers(0, 999))
@settings(max_examples=300, deadline=None)
def test_epoch_times_keep_every_digit(whole: int, thousandths: int) -> None:
    _kept, start, end = in_memory(f"{whole}.{thousandths:03d}".encode())

    assert parse_ticks(start, end) == whole * 1000 + thousandths


@given(st.integers(-(10**15) + 1, 10**15 - 1))
@settings(max_examples=300, deadline=None)
def test_integers_are_exact(value: int) -> None:
    _kept, start, end = in_memory(str(abs(value)).encode())

    assert parse_integer(start, end) == (abs(value) if abs(value) < 10**15 else UNREADABLE)


@given(st.decimals(0, 10**6, places=6, allow_nan=False))
@settings(max_examples=300, deadline=None)
def test_floats_are_rounded_once(value: Decimal) -> None:
    text = f"{value:f}"
    _kept, start, end = in_memory(text.encode())

    assert parse_float(start, end) == float(text)


def test_what_is_no_plain_number_is_not_guessed() -> None:
    for text in (b'"7"', b"1e3", b"7x", b"--7", b"12345678901234567890"):
        _kept, start, end = in_memory(text)
        assert parse_integer(start, end) == UNREADABLE
        assert parse_ticks(start, end) == UNREADABLE
    assert parse_integer(0, 0) == ABSENT


@given(st.text(" \n\t\r", max_size=40), st.text("0123456789", min_size=1, max_size=30))
@settings(max_examples=200, deadline=None)
def test_space_and_digits_are_skipped_to_their_end(space: str, digits: str) -> None:
    _kept, start, _end = in_memory(f"{space}1{digits},".encode())

    assert skip_space(start) == start + len(space)
    assert skip_value(start + len(space)) == start + len(space) + 1 + len(digits)
