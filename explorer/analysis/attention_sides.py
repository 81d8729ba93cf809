"""What differs between two probes, or between two calls of one? Machines, versions and settings side by side."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.attention_call import difference
from explorer.attention_names import BACKEND_LABELS
from explorer.probe_results import PROBE_BACKENDS, CallResult, Cell, ProbeResults
from explorer.report import Delta


@dataclass(frozen=True)
class CallPair:
    """One call on two machines, or two calls on one."""

    a: CallResult
    b: CallResult

    @property
    def differs_in(self) -> list[str]:
        """`dtype: bfloat16 → float32`, one a field."""
        return [f"{name}: {one} → {other}" for name, (one, other) in difference(self.a.call, self.b.call).items()]

    @property
    def choice_changes(self) -> bool:
        return self.a.chosen != self.b.chosen

    @property
    def turned_cells(self) -> list[str]:
        """Backends that run on one side only: `flash: takes no mask → runs`."""
        turned = []
        for backend in PROBE_BACKENDS:
            one, other = self.a.cell(backend), self.b.cell(backend)
            if one and other and (one.outcome == "ran") != (other.outcome == "ran"):
                turned.append(f"{BACKEND_LABELS[backend]}: {_state(one)} → {_state(other)}")
        return turned

    @property
    def choice_ratio(self) -> float | None:
        """Time of A's chosen backend ÷ time of B's; None where either was not timed."""
        one, other = self.a.cell(self.a.chosen or ""), self.b.cell(self.b.chosen or "")
        if one is None or other is None or one.time_ns is None or not other.time_ns:
            return None
        return one.time_ns / other.time_ns

    def deltas(self) -> list[Delta]:
        """Device time of every backend that ran on both sides."""
        found = []
        for backend in PROBE_BACKENDS:
            one, other = self.a.cell(backend), self.b.cell(backend)
            if one and other and one.time_ns is not None and other.time_ns is not None:
                spread = max(one.spread_ns or 0.0, other.spread_ns or 0.0)
                found.append(
                    Delta(
                        backend,
                        BACKEND_LABELS[backend],
                        "ns",
                        one.time_ns,
                        other.time_ns,
                        "lower",
                        abs(other.time_ns - one.time_ns) > spread,
                    )
                )
        return found


def paired_calls(a: ProbeResults, b: ProbeResults) -> list[CallPair]:
    """The calls that both probes tried, by their labels, in A's order."""
    others = {result.call.label: result for result in b.calls}
    return [CallPair(result, others[result.call.label]) for result in a.calls if result.call.label in others]


def sides_sentence(a: ProbeResults, b: ProbeResults) -> str:
    """`Of 81 settings that both tried, 70 are answered by another backend in B.`"""
    pairs = paired_calls(a, b)
    if not pairs:
        return "The two probes have no setting in common."
    changed = sum(pair.choice_changes for pair in pairs)
    answer = "every choice is the same" if not changed else f"{changed} are answered by another backend in B"
    return f"Of {len(pairs)} settings that both tried, {answer}."


def _state(cell: Cell) -> str:
    return "runs" if cell.outcome == "ran" else cell.reason
