"""Is every failure given the right kind and said in a sentence?"""

from __future__ import annotations

import pytest
import torch

from explorer.engine.failures import failure_of
from explorer.errors import SettingsError

GPU_TEXT = (
    "CUDA out of memory. Tried to allocate 34.00 GiB. GPU 0 has a total capacity of 139.81 GiB of which 20.13 GiB is "
    "free. Including non-PyTorch memory, this process has 119.67 GiB memory in use."
)


def test_gpu_memory_error_says_how_much_was_asked_for_and_where() -> None:
    failure = failure_of(torch.OutOfMemoryError(GPU_TEXT), "correctness")
    assert (failure.kind, failure.stage) == ("out_of_memory", "correctness")
    assert "during correctness when 34.00 GiB more were asked for and 20.13 GiB were free" in failure.message


def test_cpu_memory_error_is_recognised_by_its_text() -> None:
    with pytest.raises(RuntimeError) as raised:
        torch.empty(2**62, dtype=torch.uint8)
    assert failure_of(raised.value, "build").kind == "out_of_memory"


def test_refused_attention_backend_is_unsupported() -> None:
    failure = failure_of(RuntimeError("No available kernel. Aborting execution."), "cold_start")
    assert failure.kind == "unsupported"
    assert "choose auto" in failure.message


def test_explorer_error_is_told_as_it_is() -> None:
    failure = failure_of(SettingsError("No such folder."), "build")
    assert (failure.kind, failure.message) == ("unsupported", "No such folder.")


def test_anything_else_is_a_crash_with_its_first_line() -> None:
    failure = failure_of(ValueError("wrong\nmany lines"), "steady")
    assert failure.kind == "crash"
    assert failure.message == "ValueError during steady: wrong. The traceback is in worker.log."
