"""Which annotations mark a step, a layer or a phase, and what does an engine's mark say of its batch?

| written by | looks like |
|---|---|
| torch.profiler | `ProfilerStep#7` |
| this product's engine | `step#0`, `layer#12` |
| vLLM | `execute_context_1(512)_generation_31(31)`, `execute_new_1_cached_31` |
| vLLM on ROCm | `execute_32_context_0(sq0...)_generation_32(sq32...)`, the first number being the padded batch |
| SGLang | `step[DECODE bs=32]`, `step[DECODE bs=117/128]` (padded to 128), `capture_32_DECODE` |

An engine's marks are steps where nothing else marks steps, and phases inside the steps otherwise. So is whatever marks
a step inside another one of its thread: SGLang may mark one step at two depths.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_PROFILER_STEP = re.compile(r"^ProfilerStep#(\d+)$")
_OWN_STEP = re.compile(r"^step#(\d+)$")
_LAYER = re.compile(r"(?:^|[./ ])layers?[#.](\d+)$")
_VLLM = re.compile(r"^execute_(?:(\d+)_)?context_(\d+)\((\w*)\)_generation_(\d+)\((\w*)\)$")
_VLLM_NEW = re.compile(r"^execute_new_(\d+)_cached_(\d+)$")
_SGLANG_STEP = re.compile(r"^step\[(\w+) bs=(\d+)(?:/(\d+))?")
_SGLANG_CAPTURE = re.compile(r"^capture_(\d+)_(\w+)$")
_PHASE_WORDS = frozenset({"prefill", "decode", "forward", "backward", "optimizer", "warm_up", "sample", "preprocess"})


@dataclass(frozen=True)
class Mark:
    """What an annotation's name says. `source` is own, profiler or engine for marks of steps."""

    kind: str
    index: int | None = None
    phase: str | None = None
    batch_size: int | None = None
    padded_batch_size: int | None = None
    source: str = ""


def mark_of(name: str) -> Mark:
    """The mark that a name is; kind `other` for the rest. An engine's mark comes as a phase."""
    for pattern, source in ((_OWN_STEP, "own"), (_PROFILER_STEP, "profiler")):
        if match := pattern.match(name):
            return Mark("step", int(match[1]), source=source)
    if match := _LAYER.search(name):
        return Mark("layer", int(match[1]))
    engine = _engine_mark(name)
    if engine is not None:
        return engine
    word = name.strip("# ").lower()
    return Mark("phase", phase=word) if word in _PHASE_WORDS else Mark("other")


def _engine_mark(name: str) -> Mark | None:
    if match := _VLLM.match(name):
        prefills, decodes = int(match[2]), int(match[4])
        padded = int(match[1]) if match[1] else None
        return _engine(prefills, decodes, padded)
    if match := _VLLM_NEW.match(name):
        return _engine(int(match[1]), int(match[2]), None)
    if match := _SGLANG_STEP.match(name):
        padded = int(match[3]) if match[3] else None
        phase = _sglang_phase(match[1])
        return Mark("phase", phase=phase, batch_size=int(match[2]), padded_batch_size=padded, source="engine")
    if match := _SGLANG_CAPTURE.match(name):
        return Mark("phase", phase=_sglang_phase(match[2]), padded_batch_size=int(match[1]))
    return None


def _engine(prefills: int, decodes: int, padded: int | None) -> Mark:
    phase = "mixed" if prefills and decodes else "prefill" if prefills else "decode"
    return Mark("phase", phase=phase, batch_size=prefills + decodes, padded_batch_size=padded, source="engine")


def _sglang_phase(word: str) -> str:
    return {"extend": "prefill"}.get(word.lower(), word.lower())


def step_source(marks: Iterable[Mark]) -> str:
    """Whose marks are the trace's steps: own before torch.profiler's before an engine's; empty when there are none."""
    present = {mark.source for mark in marks}
    return next((source for source in ("own", "profiler", "engine") if source in present), "")
