"""What does a failed guard mean, and what helps against it? PyTorch's sentence in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SIZE = re.compile(r"tensor '(.+?)' size mismatch at index (\d+)\. expected (\d+), actual (\d+)")
_STRIDE = re.compile(r"tensor '(.+?)' stride mismatch at index (\d+)\. expected (\d+), actual (\d+)")
_DTYPE = re.compile(r"tensor '(.+?)' dtype mismatch\. expected (\w+), actual (\w+)")
_LOWER = re.compile(r"^2 <= (?:L\['(\w+)'\]|(\w+))\.size\(\)\[(\d+)\]")
_VALUE = re.compile(r"^(?:L\['(\w+)'\]|(\w+))((?:\.\w+)*) == (-?\d+(?:\.\d+)?)$")
_CONDITION = re.compile(r"\.size\(\)\[|\.shape\[")
_ITEM = re.compile(r"\.item\(\)|data-dependent")


@dataclass(frozen=True)
class Explanation:
    """A cause in a sentence, and what helps; `guard` is PyTorch's own text."""

    cause: str
    fix: str
    guard: str


def explain_reason(reason: str) -> Explanation:
    """`0/0: tensor 'x' size mismatch at index 0. expected 1, actual 2` → "dimension 0 of x was specialised to 1 …"."""
    guard = re.sub(r"^\d+/\d+: ", "", reason.strip())
    cause, fix = _size_words(guard) or _value_words(guard) or _other_words(guard)
    return Explanation(cause, fix, guard)


def break_words(reason: str) -> str:
    """Why a graph ended, in a clause; PyTorch's sentence where it is none that is known."""
    if _ITEM.search(reason):
        return "Python needs the value of a tensor here (.item()), which is known only when the graph has run"
    return reason


def _size_words(guard: str) -> tuple[str, str] | None:
    if found := _SIZE.search(guard):
        name, index, expected, actual = found.groups()
        if expected in ("0", "1"):
            cause = f"Dimension {index} of {name} was specialised to {expected} and came as {actual}."
            return cause, f"A size of {expected} is always compiled apart: warm it up as well, or pad it to 2."
        cause = f"Dimension {index} of {name} was compiled in as {expected} and came as {actual}."
        return cause, "Mark the dimension dynamic, compile with dynamic=True, or pad to a few buckets."
    if found := _LOWER.search(guard):
        name = found[1] or found[2]
        cause = f"The open size of dimension {found[3]} of {name} holds from 2 on, and it came as 1 or 0."
        return cause, "A size of 1 is always compiled apart: warm it up before traffic, or pad it to 2."
    if found := _STRIDE.search(guard):
        cause = f"{found[1]} came with another layout: stride {found[4]} in place of {found[3]}."
        return cause, "Hand in tensors of one layout: call .contiguous() before."
    return None


def _value_words(guard: str) -> tuple[str, str] | None:
    found = _VALUE.match(guard)
    if not found:
        return None
    name, attributes, value = found[1] or found[2], found[3], found[4]
    if attributes:
        cause = f"The Python number {name}{attributes} was compiled in as {value} and has changed."
        return cause, "Keep it in a tensor buffer, or hand it in as an argument."
    cause = f"The Python argument {name} was compiled in as {value} and has changed."
    return cause, "It becomes open by itself at the second value; a tensor is never guarded by value."


def _other_words(guard: str) -> tuple[str, str]:
    if found := _DTYPE.search(guard):
        return f"{found[1]} came as {found[3]} in place of {found[2]}.", "Cast before the call, or warm up both types."
    if "dispatch key set mismatch" in guard:
        return "A tensor came from another device or under another mode.", "Keep device and grad mode the same."
    if "GLOBAL_STATE" in guard or "grad_mode" in guard:
        return "A global setting changed (grad mode, autocast, TF32).", "Set it once, before the first call."
    if _CONDITION.search(guard):
        return f"A size left the range that was compiled: {guard}.", "Warm up a size on each side of the condition."
    return f"A guard failed: {guard}.", "See what it names, and keep that from changing between calls."
