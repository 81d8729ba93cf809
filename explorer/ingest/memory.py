"""How does compiled code look at eight bytes of text at once?

Addresses instead of arrays: passing arrays between compiled functions costs half the scanner's speed. Nothing checks
bounds here; whoever scans guarantees PADDING_BYTES zero bytes behind the text, and every loop stops at a zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """The function as machine code: nothing is checked and nothing is raised."""
    return cast(Function, njit(boundscheck=False, error_model="numpy")(function))


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


_VECTOR = ir.VectorType(ir.IntType(8), 32)


def _load_vector(builder: Any, address: Any) -> Any:
    return builder.load(builder.inttoptr(address, _VECTOR.as_pointer()), align=1)


def _bits(builder: Any, found: Any) -> Any:
    """One bit for each of a vector's 32 answers."""
    return builder.zext(builder.bitcast(found, ir.IntType(32)), ir.IntType(64))


def _string_stops(_context: Any, address: Any) -> Any:
    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        text = _load_vector(builder, arguments[0])
        quotes, slashes, spaces = (ir.Constant(_VECTOR, [byte] * 32) for byte in b'"\\ ')
        stops = builder.or_(
            builder.or_(builder.icmp_unsigned("==", text, quotes), builder.icmp_unsigned("==", text, slashes)),
            builder.icmp_unsigned("<", text, spaces),
        )
        return _bits(builder, stops)

    return types.uint64(types.int64), generate


def _different(_context: Any, one: Any, other: Any) -> Any:
    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        ones, others = (_load_vector(builder, address) for address in arguments)
        return _bits(builder, builder.icmp_unsigned("!=", ones, others))

    return types.uint64(types.int64, types.int64), generate


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
"""Of the 32 bytes at an address, one bit each: whether it is a quote, a backslash or a control character."""
different: Callable[[int, int], np.uint64] = cast(Any, intrinsic(_different))
"""Of the 32 bytes at two addresses, one bit each: whether they differ."""
to_int: Callable[[np.uint64], int] = cast(Any, intrinsic(_to_int))
"""The same 64 bits as a signed number."""
