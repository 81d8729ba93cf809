"""Which calls of attention does a probe try, and how thoroughly?

The experiment's word is `probe` where the engine is concerned (engine/attention.py is the model's own attention);
analysis, charts and pages say `attention`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

from explorer.attention_call import AttentionCall
from explorer.attention_calls import CallSet, Scale, calls_of
from explorer.errors import SettingsError
from explorer.settings import Device, refuse_unknown

CALL_SETS: tuple[CallSet, ...] = get_args(CallSet)
_LIMITS = {"repeat_count": (1, 1000), "flex_seconds": (0, 3600), "seed": (0, 2**31 - 1)}


@dataclass(frozen=True, kw_only=True)
class ProbeSettings:
    """What a probe does.

    `call_sets` are named sets of calls, `own_calls` a person's own, tried first. `flex_seconds` bounds the time spent
    on compiling flex attention, each call of which needs a kernel of its own; 0 leaves it out. `tries_graphs` captures
    every backend in a CUDA graph and replays it after changes, `tries_compile` puts it under torch.compile.
    """

    experiment: ClassVar[str] = "probe"
    stages: ClassVar[tuple[str, ...]] = ("environment", "calls", "changes", "ragged", "graphs", "kernels")

    device: Device = "cpu"
    call_sets: tuple[CallSet, ...] = CALL_SETS
    own_calls: tuple[AttentionCall, ...] = ()
    scale: Scale = "small"
    repeat_count: int = 15
    flex_seconds: int = 45
    tries_changes: bool = True
    tries_ragged: bool = True
    tries_graphs: bool = True
    tries_compile: bool = True
    seed: int = 0

    def calls(self) -> list[AttentionCall]:
        """Every call in order, a person's own first; of two with one label the first stays."""
        named = [call for name in self.call_sets for call in calls_of(name, self.scale)]
        by_label: dict[str, AttentionCall] = {}
        for call in [*self.own_calls, *named]:
            by_label.setdefault(call.label, call)
        return list(by_label.values())

    @property
    def compiles(self) -> bool:
        """Whether torch.compile takes part."""
        return self.tries_compile or self.flex_seconds > 0

    @property
    def title(self) -> str:
        """Such as `attention probe · 79 calls · cuda`."""
        calls = self.calls()
        what = calls[0].label if len(calls) == 1 else f"{len(calls)} calls"
        return f"attention probe · {what} · {self.device}"

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that `from_json` reads back."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> ProbeSettings:
        """Settings from a dictionary; raises SettingsError for unknown fields, wrong types and unknown choices."""
        refuse_unknown(cls, fields)
        own_calls = tuple(AttentionCall.from_json(call) for call in fields.get("own_calls", ()))
        settings = cls(**{**fields, "own_calls": own_calls, "call_sets": tuple(fields.get("call_sets", CALL_SETS))})
        problems = settings.refusals()
        if problems:
            raise SettingsError(" ".join(problems))
        return settings

    def refusals(self) -> list[str]:
        """Why this probe cannot run, one sentence a reason. Whether the device is there is the engine's to find out."""
        problems = []
        for name, choices in (("device", get_args(Device)), ("scale", get_args(Scale))):
            if getattr(self, name) not in choices:
                problems.append(f"{name} is {getattr(self, name)!r}; choose one of {', '.join(choices)}.")
        problems += [
            f"call_sets has {name!r}; choose among {', '.join(CALL_SETS)}."
            for name in self.call_sets
            if name not in CALL_SETS
        ]
        for name, (low, high) in _LIMITS.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                problems.append(f"{name} is {value!r}; choose a whole number from {low:,} to {high:,}.")
        problems += [problem for call in self.own_calls for problem in call.refusals()]
        if not self.call_sets and not self.own_calls:
            problems.append("Nothing to try: name a set of calls or give one of your own.")
        return problems
