"""Which mistakes with CUDA graphs go unnoticed, and how are they noticed here? Three made on purpose.

Each works on `y = 2x + 1` over four elements, recorded with x = 1, and compares what a replay left with what an
eager call gives. A capture that fails must leave the process usable.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path

import torch

from explorer.engine.graphs import GraphPool, warm_up_aside
from explorer.sweep_settings import Trap


def step(x: torch.Tensor) -> torch.Tensor:
    """The recorded work."""
    return x * 2 + 1


def walk_into_traps(device: torch.device) -> list[Trap]:
    """The three demonstrations; the failing capture comes last."""
    x = torch.ones(4, device=device)
    warm_up_aside(lambda: step(x))
    replay, y = GraphPool().capture(lambda: step(x))
    return [_rebind(x, y, replay), _hold(x, y, replay), _synchronise(x)]


def is_alive(device: torch.device) -> bool:
    """Whether an eager call still works in this process."""
    return _first(torch.full((4,), 7.0, device=device) + 1) == 8.0


def can_capture(device: torch.device) -> bool:
    """Whether work can still be recorded and replayed in this process."""
    x = torch.full((4,), 7.0, device=device)
    try:
        replay, y = GraphPool().capture(lambda: x + 1)
        replay()
    except RuntimeError:
        return False
    return _first(y) == 8.0


def _rebind(x: torch.Tensor, y: torch.Tensor, replay: Callable[[], object]) -> Trap:
    rebound = torch.full_like(x, 5.0)
    replay()
    found, expected = _first(y), _first(step(rebound))
    x.copy_(rebound)
    replay()
    repaired = _first(y) == expected
    return Trap(
        name="rebinding an input",
        done="x = torch.full((4,), 5.0) between two replays, instead of x.copy_(...)",
        found=found,
        expected=expected,
        is_caught=found != expected and repaired,
        explanation=(
            "A graph reads the memory that it was recorded with. Binding the name to another tensor leaves that memory "
            "as it was, so the replay computes the old inputs again, without an error. Copying into the recorded "
            "tensor is followed."
        ),
    )


def _hold(x: torch.Tensor, y: torch.Tensor, replay: Callable[[], object]) -> Trap:
    x.fill_(5.0)
    replay()
    held, expected = y, _first(y)
    x.fill_(7.0)
    replay()
    found = _first(held)
    return Trap(
        name="holding an output across replays",
        done="held = y after one replay, read after the next",
        found=found,
        expected=expected,
        is_caught=found != expected,
        explanation=(
            "A graph writes its outputs to the same memory every time. What was kept from one replay is overwritten by "
            "the next; a clone is not."
        ),
    )


def _synchronise(x: torch.Tensor) -> Trap:
    def look_at_a_value() -> torch.Tensor:
        z = x * 2
        if z.sum().item() > 0:
            z = z + 1
        return z

    error, line = None, None
    try:
        GraphPool().capture(look_at_a_value)
    except RuntimeError as refused:
        cause = _first_cause(refused)
        error = f"{type(refused).__name__}: {(str(cause).strip().splitlines() or ['no message'])[0]}"
        line = _line_here(cause)
    return Trap(
        name="a synchronising call inside a capture",
        done="if z.sum().item() > 0 while recording",
        found=None,
        expected=None,
        is_caught=error is not None,
        explanation=(
            "While work is recorded nothing runs, so there is no value to wait for: .item(), a print of a tensor, a "
            "copy to the host or a branch on a value ends the capture. The process goes on."
        ),
        error=error,
        error_line=line,
    )


def _first_cause(error: BaseException) -> BaseException:
    """The error that came first: ending the failed capture raises another one on top of it."""
    while error.__context__ is not None:
        error = error.__context__
    return error


def _line_here(error: BaseException) -> str | None:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == __file__]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: {frames[-1].line}" if frames else None


def _first(values: torch.Tensor) -> float:
    return float(values[0].item())
