"""How do numpy columns become a typed table, with null for what is absent and each word once?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.errors import TraceError
from explorer.ingest.columns import ABSENT, Codes
from explorer.spans import distinct_rows

_MOST_TEXT_BYTES = 2**31 - 1
Column = npt.NDArray[Any] | tuple[npt.NDArray[np.int32], Sequence[str]]
"""Numbers (ABSENT or NaN is null), row numbers (−1 is null), or codes (−1 is null) with their words."""


def table(schema: pa.Schema, columns: Mapping[str, Column]) -> pa.Table:
    """A table of that schema; columns that are not given are null throughout."""
    length = _length(columns)
    arrays = [_array(field, columns.get(field.name), length) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _length(columns: Mapping[str, Column]) -> int:
    first = next(iter(columns.values()))
    return len(first[0]) if isinstance(first, tuple) else len(first)


def _array(field: pa.Field, column: Column | None, length: int) -> pa.Array:
    if column is None:
        return pa.nulls(length, field.type)
    if isinstance(column, tuple):
        return _words(*column)
    if field.nullable and pa.types.is_int32(field.type):  # nothing of that kind is as large as that
        column = np.where(np.abs(column) < 1 << 31, column, ABSENT)
    return _filled(column, field.type, _missing(field, column))


def _filled(column: npt.NDArray[Any], kind: pa.DataType, missing: npt.NDArray[np.bool_] | None) -> pa.Array:
    """The column as it lies in memory, where Arrow can use it so, and null where something is missing."""
    if pa.types.is_boolean(kind):
        bits = pa.py_buffer(np.packbits(column, bitorder="little"))
        return pa.Array.from_buffers(kind, len(column), [None, bits])
    has_missing = missing is not None and bool(missing.any())
    present = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing is not None and has_missing else None
    numbers = np.ascontiguousarray(column, kind.to_pandas_dtype())
    return pa.Array.from_buffers(kind, len(numbers), [present, pa.py_buffer(numbers)])


def _missing(field: pa.Field, column: npt.NDArray[Any]) -> npt.NDArray[np.bool_] | None:
    if not field.nullable:
        return None
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if field.name.endswith("_row") or field.name == "position_in_launch":
        return np.asarray(column < 0)
    return np.asarray(column == ABSENT)


def _words(codes: npt.NDArray[np.int32], words: Sequence[str]) -> pa.Array:
    """Only the words that occur, each text once, in order of first code."""
    position_of_text: dict[str, int] = {}
    new_code = np.full(len(words) + 1, -1, np.int32)  # the last one serves the code −1
    places = codes.astype(np.intp)
    for code in distinct_rows(places).tolist():
        new_code[code] = position_of_text.setdefault(words[code], len(position_of_text))
    indices = _filled(new_code.take(places), pa.int32(), codes < 0)
    return pa.DictionaryArray.from_arrays(indices, _texts(list(position_of_text)))


def _texts(texts: Sequence[str]) -> pa.Array:
    """Those texts as Arrow holds them. `pa.array` would import pandas, which takes longer than many a trace."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    if ends[-1] > _MOST_TEXT_BYTES:
        raise TraceError(f"The trace's distinct texts take {ends[-1]:,} bytes, more than a table holds; record less.")
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


def per_word(
    codes: Codes,
    words: Sequence[str],
    answer: Callable[[str], str],
    override: tuple[npt.NDArray[np.bool_], str] | None = None,
) -> tuple[Codes, list[str]]:
    """The answer for each row, asked once a distinct word; `override` sets rows to a fixed answer."""
    used = distinct_rows(codes).tolist()
    answers = {code: answer(words[code]) for code in used}
    answers[-1] = answer("")
    distinct = sorted({*answers.values(), *([override[1]] if override else [])})
    lookup = np.zeros(len(words) + 1, np.int32)
    for code, text in answers.items():
        lookup[code] = distinct.index(text)
    chosen = lookup[codes]
    if override is not None:
        chosen = np.where(override[0], np.int32(distinct.index(override[1])), chosen)
    return chosen.astype(np.int32), distinct
