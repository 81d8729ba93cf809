"""How does a process run the compiled scanner without a compiler in it? By loading the object file that was made once.

A process that imports the compiler starts half a second later and is 60 MB larger, so only `compile_fast` does. The
file is one a machine's kind of processor, since it uses what that one can do.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

from llvmlite import binding

from explorer.ingest.warm import machine_code_folder

ENTRY = "scan_block"
_ARGUMENT_COUNT = 6
_LOADING = Lock()


def object_path() -> Path:
    """Where this machine's object file is or will be."""
    host = f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
    return machine_code_folder() / f"{hashlib.sha256(host.encode()).hexdigest()[:16]}.o"


def write_object(module_text: str, symbol: str) -> None:
    """Makes the object file of LLVM's text of a module, in which `symbol` is the scanner's entry."""
    module = binding.parse_assembly(module_text)
    module.get_function(symbol).name = ENTRY
    path = object_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_bytes(_target_machine().emit_object(module))
    draft.replace(path)


def _target_machine() -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=3, jit=True
    )


@functools.cache
def _loaded() -> tuple[Any, Any]:
    """The loaded object file, which must stay alive, and its entry as a function."""
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _target_machine())
    engine.add_object_file(binding.ObjectFileRef.from_data(object_path().read_bytes()))
    engine.finalize_object()
    longs = [ctypes.c_int64] * _ARGUMENT_COUNT
    signature = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *longs)
    return engine, signature(engine.get_function_address(ENTRY))


def load_scan_block() -> Callable[..., int]:
    """`scanner.scan_block`, which runs without Python's lock; the object file must be there."""
    with _LOADING:  # a cache lets two threads load at once, and LLVM does not
        _, entry = _loaded()

    def scan_block(*arguments: int) -> int:
        status, failure = ctypes.c_int64(), ctypes.c_void_p()
        raised = entry(ctypes.addressof(status), ctypes.addressof(failure), *arguments)
        assert raised == 0, "compiled code never raises"
        return status.value

    return scan_block
