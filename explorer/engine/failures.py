"""What kind of failure was that, and how is it said in a sentence or two?

The kinds are those of `recording.Failure`. Texts of PyTorch are matched by fragments that have been stable from
torch 2.9 on; what is not recognised is a crash whose traceback stands in worker.log.
"""

from __future__ import annotations

import re

import torch

from explorer.errors import ExplorerError
from explorer.facts import Failure

_UNSUPPORTED_TEXTS = (
    (
        "No available kernel",
        "The attention backend that was asked for refuses these inputs on this device; choose auto.",
    ),
    ("No working C++ compiler found", "torch.compile needs a C++ compiler for the CPU; install g++ or choose eager."),
    ("Failed to find C compiler", "Triton needs a C compiler; install gcc or choose a mode that does not compile."),
    ("Cannot find a working triton", "torch.compile needs Triton for this GPU; install it or choose an eager mode."),
    ("not implemented for", "This device has no kernel for the chosen dtype."),
    ("capturing", "The step could not be captured as a CUDA graph; choose a mode without one."),
)
_ASKED = re.compile(r"[Tt]ried to allocate ([\d.]+ \w+)")
_FREE = re.compile(r"of which ([\d.]+ \w+) is free")


class OutOfMemoryError(ExplorerError):
    """Known before trying: the device cannot hold what these settings need."""


def failure_of(error: BaseException, stage: str) -> Failure:
    """The Failure to record for an error that ended a run at `stage`."""
    if _is_out_of_memory(error):
        return Failure(stage=stage, kind="out_of_memory", message=_memory_message(error, stage))
    if isinstance(error, ExplorerError):
        return Failure(stage=stage, kind="unsupported", message=str(error))
    first_line = (str(error).strip().splitlines() or ["no message"])[0]
    for fragment, meaning in _UNSUPPORTED_TEXTS:
        if isinstance(error, RuntimeError) and fragment in str(error):
            return Failure(stage=stage, kind="unsupported", message=f"{meaning} PyTorch said: {first_line}")
    message = f"{type(error).__name__} during {stage}: {_ended(first_line)} The traceback is in worker.log."
    return Failure(stage=stage, kind="crash", message=message)


def _ended(sentence: str) -> str:
    return sentence if sentence[-1:] in ".!?" else f"{sentence}."


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, (OutOfMemoryError, torch.OutOfMemoryError, MemoryError)):
        return True
    # The CPU's allocator and CUDA calls outside PyTorch's allocator raise a plain RuntimeError.
    texts = ("can't allocate memory", "CUDA error: out of memory")
    return isinstance(error, RuntimeError) and any(text in str(error) for text in texts)


def _memory_message(error: BaseException, stage: str) -> str:
    if isinstance(error, ExplorerError):
        return str(error)
    asked, free = _ASKED.search(str(error)), _FREE.search(str(error))
    parts = [f"Memory ran out during {stage}"]
    if asked:
        parts.append(f" when {asked[1]} more were asked for")
    if free:
        parts.append(f" and {free[1]} were free")
    return "".join(parts) + ". Choose a smaller model, batch or cache."
