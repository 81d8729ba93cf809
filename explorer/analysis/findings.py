"""Which sentence, with numbers, says what one trace shows? For the head of a page and for `findings` in JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from explorer.analysis.idle import HOST_PARTS
from explorer.analysis.metrics import PART_LABELS, DeviceFacts, metric_values
from explorer.analysis.pieces import CPU
from explorer.spans import NO_ROW
from explorer.units import Number, listed, text

_WORTH_NAMING_RATIO = 0.05
_MOST_NAMED = 3
_OWN_PARTS = (
    ("device_latency", "the GPU's own latency"),
    ("inside_graph", "between pieces of one graph"),
    ("unattributed", "not attributable"),
)


def trace_findings(facts: Sequence[DeviceFacts]) -> Iterator[str]:
    """One sentence a device about its idle time, one where it cannot be trusted, and one where blocking calls drained
    it.
    """
    for one in facts:
        found = metric_values(one)
        where = f"On device {one.device}: " if len(facts) > 1 else ""
        yield where + idle_sentence(found, one.step_count, a_step=one.windows.kind == "steps", is_cpu=one.device == CPU)
        if lost := lost_work_finding(one):
            yield where + lost
        after_sync, idle = found["after_sync_ns"] or 0, found["idle_ns"] or 0
        if idle and after_sync > _WORTH_NAMING_RATIO * idle:
            yield (
                f"{where}{text(after_sync / max(one.step_count, 1), 'ns')} of it came after the host had waited for "
                "the device to finish everything: without those blocking calls work could have been queued."
            )


def lost_work_finding(facts: DeviceFacts) -> str:
    """Why a device's idle time cannot be trusted, or why it is the CPU that is shown; empty for no reason.

    Work whose launch is unknown may be that of the launches without any; only beyond it is work surely missing.
    """
    lost, pieces = facts.lost_launch_count, facts.windows.pieces
    if pieces.is_cpu and lost:
        whose = "a launch" if lost == 1 else f"{lost:,} launches"
        return f"The GPU work of {whose} was not recorded, so the CPU's operators are shown."
    if lost <= int((pieces.call_row == NO_ROW).sum()):
        return ""
    who = "1 launch has" if lost == 1 else f"{lost:,} launches have"
    return f"The idle time cannot be trusted: {who} no usable record of work."


def idle_sentence(found: dict[str, Number | None], step_count: int, *, a_step: bool, is_cpu: bool = False) -> str:
    """`Of 37.9 ms idle a step: 20.1 ms dispatch, 8.8 ms launch call and 6.9 ms Python and host; 2.0 ms ...`"""
    steps = max(step_count, 1)
    unit = " a step" if a_step else ""
    span, idle, busy = found["span_ns"] or 0, found["idle_ns"] or 0, found["busy_ns"] or 0
    if not span:
        return "Nothing ran."
    if idle < _WORTH_NAMING_RATIO * span:
        who = "CPU" if is_cpu else "GPU"
        return f"The {who} is busy {text(busy / span, 'ratio')} of {text(span / steps, 'ns')}{unit}."
    host = sorted(((found[f"{part}_ns"] or 0, part) for part in HOST_PARTS), reverse=True)
    named = [
        f"{text(amount / steps, 'ns')} {PART_LABELS[part]}"
        for amount, part in host
        if amount > _WORTH_NAMING_RATIO * idle
    ]
    own = [
        f"{text((found[f'{part}_ns'] or 0) / steps, 'ns')} {label}"
        for part, label in _OWN_PARTS
        if (found[f"{part}_ns"] or 0) > _WORTH_NAMING_RATIO * idle
    ]  # fmt: skip
    parts = "; ".join(filter(None, (listed(named[:_MOST_NAMED]), listed(own))))
    return f"Of {text(idle / steps, 'ns')} idle{unit}: {parts}." if parts else f"{text(idle / steps, 'ns')} idle{unit}."
