"""What does a probe of attention leave in results.json?

ProbeResults ─ calls ─ CallResult ─ cells ─ Cell        one backend's answer to one call
             │                    └ changes             what is chosen and accepted when one choice is turned
             ├ ragged ─ RaggedResult                    rows of unequal length, three ways
             ├ graph_tries ─ GraphTry                   what each backend survives
             └ kept_backends ─ KeptBackend              compiled under one backend, called under another
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from explorer.attention_call import AttentionCall
from explorer.errors import RecordingError

Outcome = Literal["ran", "refused", "failed", "not_tried"]
"""`refused`: the backend's own check said no. `failed`: it was accepted, or cannot be asked, and raised an error."""

Survival = Literal["survives", "wrong", "fails", "not_tried"]

PROBE_BACKENDS = ("flash", "efficient", "cudnn", "math", "flex")
"""In the order in which they are shown."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One backend's answer to one call. Times in ns; what was not measured is None.

    `reason` is the first failing condition in plain words, `sentence` PyTorch's own. `time_ns` is the device's median
    over the repeats, each from a cold second-level cache, and `spread_ns` half the distance between their quartiles.
    `first_call_ns` is the host's time for this shape's first call until the device was done (plans, compilation).
    `peak_extra_bytes` is what the call allocated at its peak, its output included. `error_ratio` is
    ‖out − reference‖ / ‖reference‖ against float64, over rows that see at least one key. `enabling` holds the smallest
    sets of changes, in words with which this backend accepts.
    """

    backend: str
    outcome: Outcome
    reason: str = ""
    sentence: str = ""
    time_ns: float | None = None
    spread_ns: float | None = None
    repeat_count: int | None = None
    host_call_ns: float | None = None
    first_call_ns: float | None = None
    error_ratio: float | None = None
    error_note: str = ""
    peak_extra_bytes: int | None = None
    kernels: list[str] = field(default_factory=list)
    ran_backend: str | None = None
    enabling: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Change:
    """The device's answer when one choice of a call is turned: nothing was run, only asked."""

    name: str
    value: Any
    chosen: str | None
    accepted: list[str]


@dataclass(frozen=True, kw_only=True)
class CallResult:
    """All backends' answers to one call; `chosen` is torch._fused_sdp_choice's, None where it raised `chosen_error`."""

    call: AttentionCall
    chosen: str | None = None
    chosen_error: str = ""
    visible_pair_count: int | None = None
    masked_row_count: int | None = None
    mask_bytes: int = 0
    cells: list[Cell] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def cell(self, backend: str) -> Cell | None:
        """That backend's cell, or None where it was not asked."""
        return next((cell for cell in self.cells if cell.backend == backend), None)


@dataclass(frozen=True, kw_only=True)
class RaggedResult:
    """Rows of unequal length by one way of calling; pairs are query-key pairs of one head.

    `copied_bytes` is what indexing wrote before attention could read it; `useful_pair_count` is what the rows need and
    `computed_pair_count` what the calls were given (the causal half of a square where `is_causal`).
    """

    phase: Literal["decode", "extend"]
    way: Literal["padded", "one_call_a_row", "square"]
    row_lengths: list[int]
    query_lengths: list[int]
    call_count: int
    useful_pair_count: int
    computed_pair_count: int
    copied_bytes: int = 0
    outcome: Outcome = "ran"
    sentence: str = ""
    time_ns: float | None = None
    host_call_ns: float | None = None
    error_ratio: float | None = None
    peak_extra_bytes: int | None = None
    kernels: list[str] = field(default_factory=list)
    ran_backends: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class GraphTry:
    """What became of one backend in one situation; `ran_backend` is read from kernel names."""

    backend: str
    situation: str
    survival: Survival
    error_ratio: float | None = None
    sentence: str = ""
    kernels: list[str] = field(default_factory=list)
    ran_backend: str | None = None


@dataclass(frozen=True, kw_only=True)
class KeptBackend:
    """A function compiled under one backend's context and then called under another's."""

    compiled_under: str
    called_under: str
    kernels: list[str]
    ran_backend: str | None
    sentence: str = ""


@dataclass(frozen=True, kw_only=True)
class ProbeResults:
    """The whole of results.json; priority orders are lists of backends as PyTorch has them."""

    priority_before: list[str] = field(default_factory=list)
    priority_order: list[str] = field(default_factory=list)
    build_backends: list[str] = field(default_factory=list)
    matmul_flops_per_s: dict[str, float | None] = field(default_factory=dict)
    calls: list[CallResult] = field(default_factory=list)
    ragged: list[RaggedResult] = field(default_factory=list)
    graph_tries: list[GraphTry] = field(default_factory=list)
    kept_backends: list[KeptBackend] = field(default_factory=list)


def results_to_json(results: ProbeResults) -> dict[str, Any]:
    """A plain dictionary that `results_from_json` reads back."""
    return dataclasses.asdict(results)


def results_from_json(fields: Mapping[str, Any]) -> ProbeResults:
    """Results from a dictionary; raises RecordingError when it is none of a probe's."""
    try:
        return ProbeResults(
            **{
                **fields,
                "calls": [_call_result(entry) for entry in fields.get("calls", [])],
                "ragged": [RaggedResult(**entry) for entry in fields.get("ragged", [])],
                "graph_tries": [GraphTry(**entry) for entry in fields.get("graph_tries", [])],
                "kept_backends": [KeptBackend(**entry) for entry in fields.get("kept_backends", [])],
            }
        )
    except (TypeError, KeyError) as problem:
        raise RecordingError(f"results.json is no probe of attention ({problem}); record it again.") from None


def _call_result(fields: Mapping[str, Any]) -> CallResult:
    return CallResult(
        **{
            **fields,
            "call": AttentionCall.from_json(fields["call"]),
            "cells": [Cell(**cell) for cell in fields["cells"]],
            "changes": [Change(**change) for change in fields["changes"]],
        }
    )
