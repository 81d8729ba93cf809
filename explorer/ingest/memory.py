"""How does compiled code look at eight bytes of text at once?

Addresses instead of arrays: passing arrays between compiled functions costs half the scanner's speed. Nothing checks
bounds here; whoever scans guarantees PADDING_BYTES zero bytes behind the text, and every loop stops at a zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from explorer.ingest.warm import machine_code_folder

PADDING_BYTES = 64
"""Zero bytes that must follow the text: no load reaches further past a zero than this."""

setattr(numba.config, "CACHE_DIR", str(machine_code_folder()))  # noqa: B010, numba declares its settings at run time

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """The function as machine code that runs without Python's lock; kept on disk for the next process."""
    return cast(Function, njit(nogil=True, cache=True, boundscheck=False)(function))


def _loading(bits: int, widen: str = "") -> Any:
    def typed(_context: Any, address: Any) -> Any:
        return (types.int64 if widen else types.uint64)(types.int64), generate

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
        value = builder.load(pointer, align=1)
        return getattr(builder, widen)(value, ir.IntType(64)) if bits < 64 else value

    return intrinsic(typed)


def _storing(bits: int) -> Any:
    def typed(_context: Any, address: Any, value: Any) -> Any:
        return types.void(types.int64, types.int64), generate

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
        value = arguments[1] if bits == 64 else builder.trunc(arguments[1], ir.IntType(bits))
        builder.store(value, pointer, align=1)

    return intrinsic(typed)


def _store_double(_context: Any, address: Any, value: Any) -> Any:
    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.DoubleType().as_pointer())
        builder.store(arguments[1], pointer, align=1)

    return types.void(types.int64, types.float64), generate


def _trailing_zeros(_context: Any, word: Any) -> Any:
    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


def _string_stops(_context: Any, address: Any) -> Any:
    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        sixteen = ir.VectorType(ir.IntType(8), 16)
        text = builder.load(builder.inttoptr(arguments[0], sixteen.as_pointer()), align=1)
        quotes, slashes, spaces = (ir.Constant(sixteen, [byte] * 16) for byte in b'"\\ ')
        stops = builder.or_(
            builder.or_(builder.icmp_unsigned("==", text, quotes), builder.icmp_unsigned("==", text, slashes)),
            builder.icmp_unsigned("<", text, spaces),
        )
        return builder.zext(builder.bitcast(stops, ir.IntType(16)), ir.IntType(64))

    return types.uint64(types.int64), generate


def _to_int(_context: Any, word: Any) -> Any:
    def generate(_target: Any, _builder: Any, _signature: Any, arguments: Any) -> Any:
        return arguments[0]

    return types.int64(types.uint64), generate


load_eight: Callable[[int], np.uint64] = _loading(64)
"""The eight bytes at an address as a little-endian uint64."""
load_long: Callable[[int], int] = _loading(64, "sext")
"""The int64 at an address."""
load_code: Callable[[int], int] = _loading(32, "sext")
"""The int32 at an address."""
load_byte: Callable[[int], int] = _loading(8, "zext")
"""The byte at an address."""
store_long: Callable[[int, int], None] = _storing(64)
store_code: Callable[[int, int], None] = _storing(32)
store_byte: Callable[[int, int], None] = _storing(8)
store_double: Callable[[int, float], None] = cast(Any, intrinsic(_store_double))
trailing_zeros: Callable[[np.uint64], np.uint64] = cast(Any, intrinsic(_trailing_zeros))
"""How many zero bits a word ends in; 64 for zero."""
string_stops: Callable[[int], np.uint64] = cast(Any, intrinsic(_string_stops))
"""Of the sixteen bytes at an address, one bit each: whether it is a quote, a backslash or a control character."""
to_int: Callable[[np.uint64], int] = cast(Any, intrinsic(_to_int))
"""The same 64 bits as a signed number."""
