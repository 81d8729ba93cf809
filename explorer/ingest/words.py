"""What does a string of the file say, and what had to be repaired to show it?

Exporters write raw backslashes (Windows paths), control characters and bytes that are no UTF-8. A reader of the page
must see all three, and none may reach a page, a CSV file or a terminal as it is.
"""

from __future__ import annotations

import json
import re
from typing import Literal

Repair = Literal["raw_backslash", "control_character", "not_utf8"]

_VALID_ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_ANY_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_FRAME_OF_PATH = re.compile("^[^/\x00-\x07\x0b\x0e-\x1f]*\\.py\\(\\d+\\): ")
_MEANT = str.maketrans({"\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t"})


def has_raw_backslashes(token: bytes) -> bool:
    r"""Whether a quoted string was written without escaping its backslashes: `"C:\Users\runner\serve.py(12): main"`.

    One escape that JSON does not know tells.
    """
    if b"\\" not in token:
        return False
    valid = sum(1 for _ in _VALID_ESCAPE.finditer(token))
    return valid != sum(1 for _ in _ANY_ESCAPE.finditer(token))


def escape_raw_backslashes(token: bytes) -> bytes:
    r"""The same string with its backslashes doubled, except before a quote: `\"` was meant."""
    return re.sub(rb'\\(?!")', rb"\\\\", token)


def shown(text: str) -> tuple[str, tuple[Repair, ...]]:
    r"""The text as it may be shown anywhere, and what was repaired: control characters become pictures (U+2400 on).

    In a Python frame's path they are no control characters: `torch\nn\functional.py(7): relu` was written without
    escaping, and all its separators happen to be valid escapes. No file name holds a line feed.
    """
    if text.isascii() and text.isprintable():
        return text, ()
    repairs: tuple[Repair, ...] = ()
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")  # half of a surrogate pair is no character
    if _CONTROL.search(text) and _FRAME_OF_PATH.match(text):
        text, repairs = text.translate(_MEANT), ("raw_backslash",)
    pictured = _CONTROL.sub(_picture, text)
    return pictured, repairs if pictured == text else (*repairs, "control_character")


def readable(token: bytes) -> tuple[str, tuple[Repair, ...]]:
    r"""The text of a JSON token (a string without its quotes, anything else as it stands) and its repairs.

    Undecodable bytes become `\xb5`.
    """
    repairs: tuple[Repair, ...] = ()
    if token[:1] != b'"':
        token = b" ".join(token.split())
    elif has_raw_backslashes(token):
        token, repairs = escape_raw_backslashes(token), ("raw_backslash",)
    if not is_utf8(token):
        token, repairs = visible_bytes(token), (*repairs, "not_utf8")
    text, more = shown(_unquoted(token.decode("utf-8")))
    return text, (*repairs, *more)


def is_utf8(token: bytes) -> bool:
    """Whether the bytes are text."""
    try:
        token.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def visible_bytes(token: bytes) -> bytes:
    r"""The same with the bytes that are no UTF-8 written as `\xb5`; in a JSON string with the backslash escaped."""
    text = token.decode("utf-8", "backslashreplace")
    return (text.replace("\\x", "\\\\x") if token[:1] == b'"' else text).encode("utf-8")


def _unquoted(text: str) -> str:
    if text[:1] != '"':
        return text
    if "\\" not in text:
        return text[1:-1]
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text.strip('"')


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\\x{code:02x}"
