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
_FRAME_WITH_RAW_PATH = re.compile(rb'^"(?:[A-Za-z]:)?[^"\\/]*(?:\\[^"\\/][^"\\/]*)+\.py\(\d+\): ')
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def has_raw_backslashes(token: bytes) -> bool:
    r"""Whether a quoted string was written without escaping its backslashes: `"C:\Users\runner\serve.py(12): main"`.

    One escape that JSON does not know tells. So does a Python frame's path whose separators all happen to be valid
    escapes (`"torch\nn\functional.py(7): relu"`): no file name holds a line feed.
    """
    if b"\\" not in token:
        return False
    valid = sum(1 for _ in _VALID_ESCAPE.finditer(token))
    if valid != sum(1 for _ in _ANY_ESCAPE.finditer(token)):
        return True
    return _FRAME_WITH_RAW_PATH.match(token) is not None


def escape_raw_backslashes(token: bytes) -> bytes:
    r"""The same string with its backslashes doubled, except before a quote: `\"` was meant."""
    return re.sub(rb'\\(?!")', rb"\\\\", token)


def readable(token: bytes) -> tuple[str, tuple[Repair, ...]]:
    r"""The text of a JSON token (a string without its quotes, anything else as it stands) and its repairs.

    Control characters become their pictures (U+2400 and on), undecodable bytes `\xb5`.
    """
    repairs: list[Repair] = []
    if token[:1] == b'"':
        if has_raw_backslashes(token):
            token = escape_raw_backslashes(token)
            repairs.append("raw_backslash")
        text, is_utf8 = _decoded(token)
        text = _unquoted(text)
    else:
        text, is_utf8 = _decoded(b" ".join(token.split()))
    if not is_utf8:
        repairs.append("not_utf8")
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")  # half of a surrogate pair is no character
    shown = _CONTROL.sub(_picture, text)
    if shown != text:
        repairs.append("control_character")
    return shown, tuple(repairs)


def _decoded(token: bytes) -> tuple[str, bool]:
    try:
        return token.decode("utf-8"), True
    except UnicodeDecodeError:
        shown = token.decode("utf-8", "backslashreplace")
        return (shown.replace("\\x", "\\\\x") if token[:1] == b'"' else shown), False


def _unquoted(text: str) -> str:
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
