"""What is known of A and B? The answers about one source on one device, in the shapes that the figures take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from explorer.analysis.compare import common_window
from explorer.analysis.findings import idle_sentence
from explorer.analysis.pieces import CPU, devices_of
from explorer.analysis.step import is_waiting_unknown
from explorer.analysis.windows import Window, WindowKind, step_windows
from explorer.charts.gap_parts import IdleParts
from explorer.charts.gaps import GapsOfSide
from explorer.charts.step_bar import StepParts
from explorer.errors import ExplorerError, TraceError
from explorer.report import Report
from explorer.trace import Trace
from explorer.ui import pieces
from explorer.ui.answers import gaps_of, has_steps_of, kernels_of, step_of, trace_of
from explorer.ui.marking import WRONG, is_wrong
from explorer.ui.selection import Selection, draw_missing
from explorer.ui.sources import Source
from explorer.units import Number


@dataclass(frozen=True)
class Side:
    """One source on one device: `gaps` and `kernels` are that device's reports, over the steps where every side has
    some, else over the whole trace.
    """

    letter: str
    source: Source
    device: str
    trace: Trace
    gaps: Report
    kernels: Report
    step: Report

    @property
    def name(self) -> str:
        """The letter as figures write it, with the mark behind it where the results are wrong."""
        return f"{self.letter} {WRONG}" if is_wrong(self.source.facts) else self.letter

    @property
    def is_cpu(self) -> bool:
        return self.device == CPU

    @property
    def has_steps(self) -> bool:
        """Whether it is steps that are shown, not the whole trace as one."""
        return bool(self.gaps.children)

    @property
    def windows(self) -> tuple[Window, ...]:
        return step_windows(self.trace, self.device)

    @property
    def idle_ns(self) -> dict[str, Number]:
        """Idle time a step by part."""
        parts = self.gaps.table("parts")
        return dict(zip(parts["part"], parts["per_step_ns"].tolist(), strict=True))

    @property
    def busy_ns(self) -> dict[str, Number]:
        """Busy time a step by family; where streams overlap, families share it by their durations."""
        families = self.kernels.table("families")
        total = families["total_ns"].sum()
        busy = self.per_step("busy_ns")
        shares = families["total_ns"] / total if total else families["total_ns"]
        return dict(zip(families["family"].astype(str), (shares * busy).tolist(), strict=True))

    def per_step(self, key: str) -> float:
        """A metric of the gap report, spread over its steps."""
        return (self.gaps.value(key) or 0) / max(self.gaps.value("step_count") or 1, 1)

    @property
    def is_waiting_unknown(self) -> bool:
        """Whether nothing of its idle time can be told: no work that ends it has a known launch."""
        return is_waiting_unknown({key: self.gaps.value(key) for key in ("idle_ns", "unattributed_ns")})

    def waiting_ns(self, key: str) -> float | None:
        """A metric of the gap report about waiting, spread over its steps; None where nobody can tell."""
        return None if self.is_waiting_unknown else self.per_step(key)

    def step_parts(self) -> StepParts:
        """The step's bar, with its floor."""
        return StepParts(self.name, self.busy_ns, self.idle_ns, self.step.value("floor_ns"))

    def idle_sentence(self) -> str:
        """What its idle time was, in a sentence with numbers."""
        found = {metric.key: metric.value for metric in self.gaps.metrics}
        steps = int(self.gaps.value("step_count") or 1)
        return idle_sentence(found, steps, a_step=self.has_steps, is_cpu=self.is_cpu)

    def idle_parts(self) -> IdleParts:
        """The bar of the idle time."""
        return IdleParts(self.name, self.idle_ns)

    def gaps_of_side(self) -> GapsOfSide:
        """Every gap with its parts."""
        return GapsOfSide(self.name, self.gaps.table("gaps"))


def shown_words(sides: Sequence[Side], of_steps: str, of_traces: str) -> str:
    """The words for steps where any side shows some, else those for whole traces."""
    return of_steps if any(side.has_steps for side in sides) else of_traces


def side_notes(sides: Sequence[Side], notes_of: Callable[[Side], Sequence[str]]) -> list[str]:
    """Every note once; one that only one of two sides has begins with its letter."""
    letters: dict[str, list[str]] = {}
    for side in sides:
        for note in dict.fromkeys(notes_of(side)):
            letters.setdefault(note, []).append(side.letter)
    return [note if len(having) == len(sides) else f"{having[0]}: {note}" for note, having in letters.items()]


def open_sides(selection: Selection) -> list[Side]:
    """The sides that can be shown, by one window rule; what cannot be gets its own box, and the rest of the page goes
    on.
    """
    sources: dict[str, Source] = {}
    for letter in ("a", "b"):
        source = selection.side(letter)
        if source is None:
            draw_missing(letter)
            continue
        try:
            _check(source)
            sources[letter] = source
        except ExplorerError as problem:
            pieces.box(f"{letter.upper()} cannot be shown: {source.title}", [str(problem)], loud=True)
    window = shared_window(*sources.values())
    return [_open(letter, source, window) for letter, source in sources.items()]


def shared_window(*sources: Source) -> WindowKind:
    """The one rule by which the sources are looked at; a box says where it takes one side's steps from it."""
    window, note = common_window(*(has_steps_of(source) for source in sources))
    if note:
        pieces.box("A and B are shown over their whole traces", [note])
    return window


def _check(source: Source) -> None:
    """Raises TraceError where there is nothing to show."""
    if source.problem:
        raise TraceError(source.problem)
    if not devices_of(trace_of(source)):
        raise TraceError("This trace has neither GPU work nor operators, so there is no step to show.")


def _open(letter: str, source: Source, window: WindowKind) -> Side:
    trace = trace_of(source)
    gaps, kernels = gaps_of(source, window), kernels_of(source, window)
    devices = list(gaps.children)
    device = devices[0]
    if len(devices) > 1:
        device = st.selectbox(f"Device of {letter.upper()}", devices, key=f"device_{letter}", width=220)
    step = step_of(source, window, device)
    return Side(letter.upper(), source, device, trace, gaps.children[device], kernels.children[device], step)
