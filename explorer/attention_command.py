"""`explorer attention`: which backend runs scaled_dot_product_attention, why the others do not, and what each costs.

`explorer attention --out DIR` probes this machine's device, `explorer attention RECORDING` tells what a probe found.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from explorer.attention_call import CALL_CHOICES, AttentionCall
from explorer.errors import SettingsError
from explorer.launch import default_device
from explorer.making import Answers, make_or_tell
from explorer.probe_settings import CALL_SETS, ProbeSettings
from explorer.settings import CHOICES

_OWN_CALL_LABEL = "own call"


def add_attention(parser: argparse.ArgumentParser) -> None:
    """Gives the parser its arguments and its command."""
    defaults = ProbeSettings()
    parser.set_defaults(command=_attention)
    parser.add_argument("recording", type=Path, nargs="?", metavar="RECORDING", help="a probe made before")
    parser.add_argument("--out", type=Path, metavar="DIR", help="probe into this folder, made new")
    parser.add_argument("--device", choices=CHOICES["device"], help="cuda where there is a GPU")
    parser.add_argument("--sets", choices=CALL_SETS, nargs="*", help="named sets of calls; all when no call is given")
    parser.add_argument(
        "--call",
        nargs="+",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="a call of your own, such as: --call query_tokens=1 kv_tokens=1024 kv_head_count=8 mask=padding; may be "
        "given more than once",
    )
    parser.add_argument("--repeats", type=int, default=defaults.repeat_count)
    parser.add_argument("--flex-seconds", type=int, help="time for compiling flex attention; 0 leaves it out")
    parser.add_argument("--no-compile", action="store_true", help="try nothing under torch.compile")
    parser.add_argument("--seed", type=int, default=defaults.seed)
    parser.add_argument("--json", action="store_true", help="print the whole answer as one object")


def _attention(chosen: argparse.Namespace) -> int:
    return make_or_tell(chosen, probe_settings, _answers)


def _answers() -> Answers:
    from explorer.terminal import attention_lines, json_attention

    return attention_lines, json_attention


def probe_settings(chosen: argparse.Namespace) -> ProbeSettings:
    """The settings that the arguments mean; raises SettingsError for a call that cannot be made."""
    device = chosen.device or default_device()
    flex_seconds = chosen.flex_seconds
    if flex_seconds is None:
        flex_seconds = ProbeSettings().flex_seconds if device == "cuda" else 0  # a minute a call on a CPU
    own_calls = _own_calls(chosen.call)
    sets = chosen.sets if chosen.sets is not None else (() if own_calls else CALL_SETS)
    return ProbeSettings.from_json(
        {
            "device": device,
            "call_sets": sets,
            "own_calls": own_calls,
            "scale": "full" if device == "cuda" else "small",
            "repeat_count": chosen.repeats,
            "flex_seconds": flex_seconds,
            "tries_compile": not chosen.no_compile,
            "seed": chosen.seed,
        }
    )


def _own_calls(given: list[list[str]]) -> list[dict[str, Any]]:
    """The fields of every call; those without a label are numbered from the second on."""
    calls = [
        _own_call(pairs, _OWN_CALL_LABEL if number == 1 else f"{_OWN_CALL_LABEL} {number}")
        for number, pairs in enumerate(given, start=1)
    ]
    labels = [call["label"] for call in calls]
    for label in labels:
        if labels.count(label) > 1:
            raise SettingsError(f"Two calls are labelled {label!r}; give each a label of its own: label=NAME.")
    return calls


def _own_call(pairs: list[str], label: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"label": label}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name not in AttentionCall.__dataclass_fields__:
            known = ", ".join(AttentionCall.__dataclass_fields__)
            raise SettingsError(f"{pair!r} is no FIELD=VALUE of a call. Fields are: {known}.")
        fields[name] = _read(name, value)
    if "head_size" in fields:
        fields.setdefault("value_head_size", fields["head_size"])
    return fields


def _read(name: str, value: str) -> Any:
    if name in CALL_CHOICES or name == "label":
        return value
    if name == "is_causal":
        return {"true": True, "false": False}.get(value.lower(), value)
    try:
        return float(value) if name == "dropout_ratio" else int(value)
    except ValueError:
        raise SettingsError(f"{name} is {value!r}; choose a number.") from None
