"""Which number do these digits make? Compiled, eight digits at a time, exact."""

from __future__ import annotations

import numpy as np

from explorer.ingest.columns import ABSENT
from explorer.ingest.json_scan import DOT, MINUS, skip_digits
from explorer.ingest.memory import compiled, load_byte, load_eight, to_int

UNREADABLE = -(1 << 62) - 1
_MOST_DIGITS = 15
_FLOATS_BLUR_US = 1 << 36
"""From here on the tolerant reader cannot tell a fourth decimal; see ticks.are_exact."""
_MOST_TICK_DIGITS, _LATEST_US = 16, (1 << 62) // 1000 - 1
_ZEROS = np.uint64(0x3030303030303030)
_PAIRS = np.uint64(0x000000FF000000FF)
_HIGH_PAIRS, _LOW_PAIRS = np.uint64(0x000F424000000064), np.uint64(0x0000271000000001)
"""1000000 and 100, 10000 and 1: what the four pairs of eight digits count for."""
_POWERS = 10.0 ** np.arange(_MOST_DIGITS + 1)


@compiled
def _up_to_eight_digits(address: int, count: int) -> int:
    """The number that 1 to 8 digits make, without a loop: pairs, then fours, then all eight are joined."""
    empty = np.uint64(8 * (8 - count))
    word = load_eight(address) << empty if count < 8 else load_eight(address)
    digits = word - (_ZEROS << empty if count < 8 else _ZEROS)
    pairs = digits * np.uint64(10) + (digits >> np.uint64(8))
    joined = (pairs & _PAIRS) * _HIGH_PAIRS + ((pairs >> np.uint64(16)) & _PAIRS) * _LOW_PAIRS
    return to_int(joined >> np.uint64(32))


@compiled
def _digits(address: int, count: int) -> int:
    """The number that 1 to 16 digits make."""
    if count <= 8:
        return _up_to_eight_digits(address, count)
    return _up_to_eight_digits(address, count - 8) * 10**8 + _up_to_eight_digits(address + count - 8, 8)


@compiled
def parse_ticks(start: int, end: int) -> int:
    """Microseconds with decimals as nanoseconds, from their digits; UNREADABLE for anything but a plain decimal."""
    is_negative = load_byte(start) == MINUS
    if is_negative:
        start += 1
    place = skip_digits(start)
    if place == start or place - start > _MOST_TICK_DIGITS or place > end:
        return UNREADABLE
    value = _digits(start, place - start)
    decimals = end - place - 1
    if value > _LATEST_US or (decimals > 3 and value >= _FLOATS_BLUR_US):
        return UNREADABLE
    value *= 1000
    if decimals >= 0:
        if load_byte(place) != DOT or decimals == 0 or skip_digits(place + 1) < end:
            return UNREADABLE
        kept = min(decimals, 3)
        value += _up_to_eight_digits(place + 1, kept) * (1 if kept == 3 else 10 if kept == 2 else 100)
        value += decimals > 3 and load_byte(place + 4) >= 53  # the fourth decimal rounds, the rest says nothing
    return -value if is_negative else value


@compiled
def parse_integer(start: int, end: int) -> int:
    """A whole number; ABSENT when it is not there or null; UNREADABLE for anything else."""
    if start == 0 or load_byte(start) == 110:  # n of null
        return ABSENT
    is_negative = load_byte(start) == MINUS
    if is_negative:
        start += 1
    if end - start > _MOST_DIGITS or end == start or skip_digits(start) < end:
        return UNREADABLE
    value = _digits(start, end - start)
    return -value if is_negative else value


@compiled
def parse_float(start: int, end: int) -> float:
    """A plain decimal of up to 15 digits, correctly rounded; NaN when it is absent; infinity for anything else."""
    if start == 0 or load_byte(start) == 110:
        return np.nan
    digits, decimals, seen_dot = 0, 0, False
    first = start + (load_byte(start) == MINUS)
    if end - first > _MOST_DIGITS:
        return np.inf
    for place in range(first, end):
        byte = load_byte(place)
        if byte == DOT:
            seen_dot = True
        elif 48 <= byte <= 57:
            digits = 10 * digits + byte - 48
            decimals += seen_dot
        else:
            return np.inf
    value: float = digits / _POWERS[decimals]  # both exact, so the quotient is rounded once
    return -value if first > start else value
