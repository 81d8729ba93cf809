"""Whose name stands behind a call or a gap? Names of works, calls and operators for many rows at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

from explorer.spans import NO_ROW, Rows
from explorer.trace import Trace, codes_and_words, values_or


def names_of(trace: Trace, table: str, rows: Rows) -> pd.Categorical:
    """The names of those rows of a table (operators, calls, work); NO_ROW has none."""
    codes, words = codes_and_words(getattr(trace, table), "name")
    chosen = np.full(len(rows), -1, np.int32)
    present = rows != NO_ROW
    chosen[present] = codes[rows[present]]
    return categorical(chosen, words)


def categorical(codes: npt.NDArray[np.int32], words: list[str]) -> pd.Categorical:
    """Codes into words as pandas knows them; −1 is missing. Equal words become one."""
    distinct = list(dict.fromkeys(words))
    if len(distinct) != len(words):
        position = {word: place for place, word in enumerate(distinct)}
        lookup = np.array([*(position[word] for word in words), -1], np.int32)
        codes = lookup[codes]
    return pd.Categorical.from_codes(codes, categories=pd.Index(distinct, dtype="str"))


def operators_of_calls(trace: Trace, call_rows: Rows) -> Rows:
    """The innermost operator around each call, NO_ROW for none."""
    operator_rows = values_or(trace.calls, "operator_row", NO_ROW)
    found = np.full(len(call_rows), NO_ROW, np.int64)
    present = call_rows != NO_ROW
    found[present] = operator_rows[call_rows[present]]
    return found


def outermost_of_family(trace: Trace, rows: Rows) -> Rows:
    """The outermost operator of the same library around each: `aten::item` for its `aten::_local_scalar_dense`.

    That is the one a person wrote. Autograd's and Dynamo's wrappers, of another library, are not climbed into.
    """
    parent = values_or(trace.operators, "parent_row", NO_ROW)
    codes, words = codes_and_words(trace.operators, "name")
    libraries = _numbered(words, lambda name: name.split("::")[0] if "::" in name else name)
    current = rows.copy()
    while True:
        above = np.where(current != NO_ROW, parent[current] if len(parent) else NO_ROW, NO_ROW)
        climbs = above != NO_ROW
        climbs[climbs] = libraries[codes[above[climbs]]] == libraries[codes[current[climbs]]]
        if not climbs.any():
            return current
        current[climbs] = above[climbs]


def _numbered(words: list[str], key: Callable[[str], str]) -> npt.NDArray[np.int64]:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(key(word), len(numbers)) for word in words], np.int64)
