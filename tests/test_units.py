"""Numbers as people read them: three significant digits, a fitting prefix, and unknown as a dash."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.units import Number, Unit, exact, rough_count, shortened, significant, text, time_axis


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (2_360_000, "ns", "2.36 ms"),
        (41_712_345, "ns", "41.7 ms"),
        (999_600, "ns", "1.00 ms"),
        (999.4, "ns", "999 ns"),
        (0, "ns", "0 ns"),
        (-1500, "ns", "-1.50 µs"),
        (1_192_099_840, "bytes", "1.11 GiB"),
        (4.03e12, "bytes_per_s", "4.03 TB/s"),
        (7.9e14, "flops_per_s", "790 TFLOP/s"),
        (0.055147, "ratio", "5.5 %"),
        (0.945, "ratio", "94 %"),
        (1.0, "ratio", "100 %"),
        (0.0, "ratio", "0 %"),
        (17.68, "times", "×17.7"),
        (1726, "count", "1,726"),
        (2.5, "count", "2.50"),
        (None, "ns", "–"),
        (float("nan"), "ratio", "–"),
    ],
)
def test_number_reads_as(value: Number | None, unit: Unit, expected: str) -> None:
    assert text(value, unit) == expected


def test_exact_value_keeps_every_digit() -> None:
    assert exact(41_712_345, "ns") == "41,712,345 ns"
    assert exact(None, "ns") == "–"


@given(st.floats(1e-6, 1e15))
def test_three_significant_digits_are_within_half_a_percent(value: float) -> None:
    assert float(significant(value).replace(",", "")) == pytest.approx(value, rel=0.005001)


@pytest.mark.parametrize(("extent_ns", "name"), [(5, "ns"), (41_700, "µs"), (41_700_000, "ms"), (3e9, "s"), (0, "ns")])
def test_axis_takes_the_unit_that_fits_its_extent(extent_ns: float, name: str) -> None:
    assert time_axis(extent_ns)[1] == name


def test_long_name_keeps_both_ends() -> None:
    name = "void at::native::vectorized_elementwise_kernel<4, sigmoid_bf16>"
    assert len(shortened(name, 30)) == 30
    assert shortened(name, 30).startswith("void at::native::v")
    assert shortened(name, 30).endswith("bf16>")
    assert shortened("short") == "short"


@pytest.mark.parametrize(("count", "expected"), [(20, "20"), (999, "999"), (604_910, "605 k"), (1_523_112, "1.52 M")])
def test_an_estimated_count_has_no_digits_that_nobody_knows(count: int, expected: str) -> None:
    assert rough_count(count) == expected
