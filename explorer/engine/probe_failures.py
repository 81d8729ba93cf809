"""What may go wrong inside one call without ending the probe, and how is it said?"""

from __future__ import annotations

import gc

import torch

from explorer.engine.failures import failure_of
from explorer.engine.probe_reasons import clean_sentence, reason_of

CALL_ERRORS = (RuntimeError, ValueError, TypeError, AssertionError, MemoryError, ImportError)
"""What PyTorch, Triton's compiler and the allocators raise for inputs that they do not take (torch's own errors, out of
memory included, are RuntimeErrors). Anything else is a bug of ours and ends the probe."""


def explain(problem: BaseException) -> tuple[str, str]:
    """(reason in plain words, PyTorch's sentence) of a call that raised; frees what the call still held."""
    sentence = clean_sentence(str(problem)) or type(problem).__name__
    if failure_of(problem, "calls").kind == "out_of_memory":
        problem.__traceback__ = None
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return "ran out of memory", sentence
    return reason_of(sentence), sentence
