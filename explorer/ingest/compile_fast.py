"""Compiles the fast reader: `python -m explorer.ingest.compile_fast`."""

from __future__ import annotations

import os
from typing import Any, cast

from numba import types

from explorer.ingest.machine_code import write_object
from explorer.ingest.scanner import scan_block
from explorer.ingest.warm import is_compiled


def compile_now() -> None:
    """Leaves the machine code where the next process finds it, unless it is there already."""
    if is_compiled():
        return
    signature, function = (types.int64,) * 6, cast(Any, scan_block)  # numba's own object, typed as what it compiles
    function.compile(signature)
    write_object(function.inspect_llvm(signature), function.overloads[signature].fndesc.llvm_func_name)


if __name__ == "__main__":
    os.nice(10)  # somebody is waiting for the same file to be read the other way
    compile_now()
