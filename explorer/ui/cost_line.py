"""How is a run's cost said? One line a side: memory needed against free, and the time seen before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from explorer.settings import RunSettings
from explorer.ui.cost import Cost, estimate
from explorer.ui.machine import Machine
from explorer.ui.sources import Source
from explorer.units import text


def cost_line(settings: Mapping[str, RunSettings], machine: Machine, sources: Sequence[Source]) -> None:
    """Draws what each side will take; loud where the memory is not there."""
    lines = [
        f"<b>{letter}</b> {_sentence(estimate(chosen, sources, machine.name), _free(chosen, machine))}"
        for letter, chosen in settings.items()
    ]
    st.html(f'<div class="source-facts">What this will cost<br>{"<br>".join(lines)}</div>')


def _free(settings: RunSettings, machine: Machine) -> int | None:
    return machine.free_bytes if settings.device == machine.device else None


def _sentence(cost: Cost, free_bytes: int | None) -> str:
    parts = []
    if cost.needed_bytes is None:
        parts.append("memory as large as the folder's weights, with a float32 reference beside them")
    else:
        parts.append(f"at least {text(cost.needed_bytes, 'bytes')} of memory")
        parts[0] += (
            f" (weights {text(cost.weight_bytes, 'bytes')}, KV cache {text(cost.cache_bytes, 'bytes')}, "
            "a float32 reference, logits)"
        )
    if free_bytes is not None:
        short = cost.needed_bytes is not None and cost.needed_bytes > free_bytes
        free = f"{text(free_bytes, 'bytes')} free"
        parts.append(f'<b style="color:var(--warning)">only {escape(free)}</b>' if short else escape(free))
    if cost.seen_ns:
        parts.append(f"a run like it ({escape(cost.seen)}) took {text(cost.seen_ns, 'ns')}")
    if cost.seen_compile_ns:
        parts.append(f"{text(cost.seen_compile_ns, 'ns')} of it compiling")
    return " · ".join(parts)
