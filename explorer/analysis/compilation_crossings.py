"""What does each crossing of a broken graph cost in a steady call, and which line is to blame?"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from explorer.analysis.compilation_reasons import break_words
from explorer.shapes_results import Crossing, VariantResult


@dataclass(frozen=True)
class MeasuredCrossing:
    """One crossing at one size: its median, ns, and its share of the call's; `place` and `reason` of its break."""

    crossing: Crossing
    median_ns: float
    share_ratio: float | None
    place: str
    reason: str

    @property
    def from_id(self) -> str:
        return self.crossing.from_id

    @property
    def to_id(self) -> str:
        return self.crossing.to_id


def crossings(result: VariantResult) -> list[MeasuredCrossing]:
    """Every crossing with the break that ended the piece before it, which Dynamo logs under that piece's compile id."""
    whole_ns = {time.size: statistics.median(time.latencies_ns) for time in result.steady if time.latencies_ns}
    found = []
    for crossing in result.crossings:
        median_ns = statistics.median(crossing.latencies_ns)
        call_ns = whole_ns.get(crossing.size)
        broken = next((one for one in result.breaks if one.compile_id == crossing.from_id), None)
        found.append(
            MeasuredCrossing(
                crossing=crossing,
                median_ns=median_ns,
                share_ratio=median_ns / call_ns if call_ns else None,
                place=f"{broken.file}:{broken.line}" if broken else "–",
                reason=break_words(broken.reason) if broken else "",
            )
        )
    return found
