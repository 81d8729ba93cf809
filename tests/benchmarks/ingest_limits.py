"""Is a trace read as fast, and in as little memory, as it must be? The limits as numbers, and whether they are met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """One reading of one file."""

    seconds: float
    cpu_s: float
    peak_bytes: int


@dataclass(frozen=True)
class SpeedLimit:
    """A reading takes at most `other`'s wall seconds divided by `at_least`."""

    reading: str
    other: str
    at_least: float


@dataclass(frozen=True)
class Verdict:
    """Whether one limit is met, and a line that says so with the figures."""

    is_met: bool
    text: str


SPEED_LIMITS = (
    SpeedLimit("explorer, fast", "hta", 20),
    SpeedLimit("explorer, tolerant", "hta", 6),
    SpeedLimit("explorer, fast", "perfetto", 4),
    SpeedLimit("explorer, opening again", "explorer, fast", 10),
    SpeedLimit("explorer, fresh", "explorer, tolerant", 0.8),
)
"""Parse to analysed report against HTA's parse alone and Perfetto's load; a second opening against the first; and the
first file after an installation, which is read the tolerant way before anything is compiled: no slower than that, give
or take what two processes on one machine differ by.
"""
MOST_BYTES_A_MILLION = 400_000_000
MEMORY_READINGS = ("explorer, fast", "explorer, tolerant", "explorer, fresh")
MEMORY_FROM_EVENTS = 1_000_000
"""Peak memory a million events is judged from here on: below, it is mostly the libraries that a process loads."""


def verdicts(found: Mapping[str, Measured], event_count: int) -> Iterator[Verdict]:
    """One for each limit whose readings are there."""
    for limit in SPEED_LIMITS:
        if limit.reading in found and limit.other in found:
            yield _speed(limit, found[limit.reading], found[limit.other])
    for reading in MEMORY_READINGS:
        if reading in found and event_count >= MEMORY_FROM_EVENTS:
            yield _memory(reading, found[reading].peak_bytes / event_count * 1e6)


def _speed(limit: SpeedLimit, one: Measured, other: Measured) -> Verdict:
    ratio = other.seconds / one.seconds
    is_met = ratio >= limit.at_least
    return Verdict(
        is_met,
        f"{_word(is_met)}: {limit.reading} {ratio:.1f} times as fast as {limit.other}, at least {limit.at_least:g}",
    )


def _memory(reading: str, bytes_a_million: float) -> Verdict:
    is_met = bytes_a_million <= MOST_BYTES_A_MILLION
    most = MOST_BYTES_A_MILLION / 1e6
    return Verdict(
        is_met, f"{_word(is_met)}: {reading} {bytes_a_million / 1e6:.0f} MB a million events, at most {most:.0f}"
    )


def _word(is_met: bool) -> str:
    return "met   " if is_met else "MISSED"
