"""How does a number become text? The only place that rounds: three significant digits with a fitting prefix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

Unit = Literal["ns", "bytes", "count", "ratio", "times", "per_s", "bytes_per_s", "flops_per_s", "tokens_per_s", "text"]
Number = int | float

UNKNOWN = "–"
_TIME = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_BYTES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1.0, "B"))
_DECIMAL = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SUFFIX = {
    "per_s": "/s",
    "bytes_per_s": "B/s",
    "flops_per_s": "FLOP/s",
    "tokens_per_s": "tokens/s",
}


def text(value: Number | None, unit: Unit) -> str:
    """`2360000, "ns"` → `2.36 ms`; `0.055, "ratio"` → `5.5 %`; None → a dash."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    if unit == "text":
        return str(value)
    if unit == "count":
        return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 1000 else significant(value)
    if unit == "ratio":
        return f"{_percent(value)} %"
    if unit == "times":
        return f"×{significant(value)}"
    if unit == "ns":
        return _scaled(value, _TIME, "")
    if unit == "bytes":
        return _scaled(value, _BYTES, "")
    return _scaled(value, _DECIMAL, _SUFFIX[unit])


def significant(value: Number, digits: int = 3) -> str:
    """Three significant digits without exponent: 41.7, 2.36, 1,726, 0.0551."""
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    rounded = round(value, decimals)
    if abs(rounded) >= 10 ** (math.floor(math.log10(abs(value))) + 1):  # 9.996 → 10.0, not 10.00
        decimals = max(0, decimals - 1)
    return f"{rounded:,.{decimals}f}"


def rough_count(count: Number) -> str:
    """A count that is an estimate, without the digits that nobody knows: `604910` → `605 k`."""
    return _scaled(count, _DECIMAL, "") if count >= 1000 else text(count, "count")


def exact(value: Number | None, unit: Unit) -> str:
    """The value as measured, for the hover: `41,712,345 ns`."""
    if value is None:
        return UNKNOWN
    label = {"count": "", "ratio": "", "times": "", "text": ""}.get(unit, _SUFFIX.get(unit, unit))
    return f"{value:,} {label}".strip()


def power_text(power: Number, unit: Unit) -> str:
    """A mark of an axis without the zeros that a measured value would have: `10 µs`, `16 KiB`."""
    number, name = text(power, unit).split(" ")
    return f"{float(number.replace(',', '')):g} {name}"


def time_axis(extent_ns: Number) -> tuple[float, str]:
    """(nanoseconds a unit, unit) in which an axis of that extent reads best: 41.7 ms → (1e6, "ms")."""
    for size, name in _TIME:
        if extent_ns >= 2 * size:
            return size, name
    return _TIME[-1]


def shortened(name: str, limit: int = 48) -> str:
    """A long name with its middle left out: what tells kernels apart is at both ends."""
    if len(name) <= limit:
        return name
    head = (limit - 1) * 2 // 3
    return f"{name[:head]}…{name[len(name) - (limit - 1 - head) :]}"


def _percent(ratio: Number) -> str:
    percent = ratio * 100
    if percent == 0 or abs(percent) >= 99.95:
        return f"{percent:.0f}"
    return f"{percent:.0f}" if abs(percent) >= 9.95 else significant(percent, 2)


def _scaled(value: Number, scales: Sequence[tuple[float, str]], suffix: str) -> str:
    for size, prefix in scales:
        # The next prefix is taken where three digits would round up to it: 999.6 µs reads 1.00 ms.
        if abs(value) >= size * 0.9995:
            return f"{significant(value / size)} {prefix}{suffix}".rstrip()
    size, prefix = scales[-1]
    return f"{significant(value / size)} {prefix}{suffix}".rstrip()


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`; empty for none."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
