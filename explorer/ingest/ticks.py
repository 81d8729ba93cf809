"""How many nanoseconds is a number of microseconds, as its digits stand in the file?

Epoch microseconds step by 0.25 us in float64, so no float is used: digits are read as integers.
"""

from __future__ import annotations

import decimal

import numpy as np
import numpy.typing as npt

NANOSECONDS_OF_MICROSECOND = 1000
_EXACT_BELOW_US = 2.0**43
"""8.8e12: a float below it is closer to its own multiple of 0.001 than to any other."""
_ERROR_RATIO = 2.0**-52 * NANOSECONDS_OF_MICROSECOND
LIMIT_NS = 1 << 62
"""Nothing that a clock wrote is beyond it (146 years), and sums of two still fit in 64 bits."""


def are_exact(values: npt.NDArray[np.float64]) -> bool:
    """Whether floats of microseconds are the times that their digits say: below 2**43, with up to three decimals.

    From 2**36 on a fourth decimal cannot be told from the float's own error, and costs a nanosecond at most.
    """
    scaled, size = values * NANOSECONDS_OF_MICROSECOND, np.abs(values)
    error = np.abs(scaled - np.rint(scaled))
    return bool(((size < _EXACT_BELOW_US) & (error <= size * _ERROR_RATIO)).all())


def is_exact(value: object) -> bool:
    """As are_exact, for one decoded time of any type: whole numbers and texts are exact."""
    return not isinstance(value, float) or are_exact(np.array([value]))


def nanoseconds(token: bytes) -> int | None:
    """`b"5130812600962.789"` → 5130812600962789; quoted numbers too; None for anything that is not a finite number.

    A fourth decimal rounds half away from zero.
    """
    whole, dot, fraction = token.strip(b'"').partition(b".")
    digits = whole[1:] if whole[:1] == b"-" else whole
    if not digits.isdigit() or (dot and not fraction.isdigit()):
        return _general(token)
    thousandths = int((fraction[:3] + b"000")[:3]) + (fraction[3:4] >= b"5")
    magnitude = int(digits) * NANOSECONDS_OF_MICROSECOND + thousandths
    return _within_limit(-magnitude if whole[:1] == b"-" else magnitude)


def is_beyond_limit(value: object) -> bool:
    """Whether a time of any type is a number, but one that no clock wrote as microseconds."""
    try:
        return abs(float(str(value))) >= LIMIT_NS // NANOSECONDS_OF_MICROSECOND
    except ValueError:
        return False


def _general(token: bytes) -> int | None:
    try:
        number = decimal.Decimal(token.decode("ascii").strip('"').strip())
    except (decimal.InvalidOperation, UnicodeDecodeError):
        return None
    if not number.is_finite() or number.adjusted() > 20:
        return None
    scaled = (number * NANOSECONDS_OF_MICROSECOND).to_integral_value(decimal.ROUND_HALF_UP)
    return _within_limit(int(scaled))


def _within_limit(value: int) -> int | None:
    return value if -LIMIT_NS < value < LIMIT_NS else None
