"""Are microseconds in a file turned into nanoseconds without rounding?"""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.ingest.ticks import nanoseconds


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (b"5130812600962.789", 5130812600962789),
        (b"1683564901548726", 1683564901548726000),
        (b"1683564901548726.123", 1683564901548726123),  # float64 steps by 0.25 us here
        (b'"12.5"', 12500),
        (b"-7", -7000),
        (b"-0.001", -1),
        (b"1.6e3", 1600000),
        (b"0.0005", 1),
        (b"0.0004999", 0),
    ],
)
def test_digits_are_kept(token: bytes, expected: int) -> None:
    assert nanoseconds(token) == expected


@pytest.mark.parametrize("token", [b"", b"NaN", b"Infinity", b"null", b'"soon"', b"[1]", b"1e400", b"9" * 30])
def test_what_is_no_time_is_none(token: bytes) -> None:
    assert nanoseconds(token) is None


@given(st.integers(-(10**18), 10**18))
def test_three_decimals_come_back_exactly(time_ns: int) -> None:
    text = f"{Decimal(time_ns) / 1000:f}"

    assert nanoseconds(text.encode()) == time_ns
