"""What is called with one size after another: the model's step, or one of a few telling expressions?

A subject gives the plain function, the function in compiled form, and the arguments of the call with a given size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import nn

from explorer.capture_sizes import pad, vllm_sizes
from explorer.engine.attention import under_backend
from explorer.engine.model import StepInputs, run_layer
from explorer.engine.workload import Workload, build_workload, open_weights
from explorer.settings import CompileScope
from explorer.shapes_settings import MODEL_SUBJECT, STEPWISE, Dynamic, ShapesSettings

Compile = Callable[[Callable[..., Any]], Callable[..., Any]]
_WIDTH = 64
"""Columns of an expression's input; its rows are the size."""


class Subject(Protocol):
    """One thing to be compiled."""

    is_stepwise: bool

    def plain(self) -> Callable[..., torch.Tensor]:
        """The function without torch.compile, with state of its own."""

    def compiled(self, compile_function: Compile) -> Callable[..., torch.Tensor]:
        """The function under torch.compile, with state of its own."""

    def arguments(self, index: int, size: int) -> tuple[Any, ...]:
        """What the call number `index` is given at that size."""


def padded_size(size: int, dynamic: Dynamic, largest: int) -> int:
    """The size that is really called: the next of vLLM's sizes under buckets."""
    if dynamic != "buckets":
        return size
    bucket = pad(size, _buckets(largest)).bucket
    return size if bucket is None else bucket


def build_subject(settings: ShapesSettings, dynamic: Dynamic, scope: CompileScope) -> Subject:
    """The subject that the settings name, on their device."""
    if settings.subject == MODEL_SUBJECT:
        return ModelSubject(settings, dynamic, scope)
    return ExpressionSubject(settings, dynamic)


class ModelSubject:
    """The model's step at a size: so many rows of a decode, or so many tokens of one prompt."""

    is_stepwise = False

    def __init__(self, settings: ShapesSettings, dynamic: Dynamic, scope: CompileScope) -> None:
        self._axis = settings.axis
        self._dynamic = dynamic
        self._scope = scope
        self._workload = _workload(settings, dynamic)

    def plain(self) -> Callable[..., torch.Tensor]:
        self._workload.model.run_layer = run_layer
        return self._workload.model.next_logits

    def compiled(self, compile_function: Compile) -> Callable[..., torch.Tensor]:
        model = self._workload.model
        if self._scope == "model":
            return compile_function(model.next_logits)
        model.run_layer = self._compiled_layer(compile_function)
        return model.next_logits

    def arguments(self, index: int, size: int) -> tuple[Any, ...]:
        del index  # every call at a size is the same step
        workload = self._workload
        if self._axis == "length":
            return _marked(workload.tokens_BL[:, :size].clone(), self._dynamic, 1), workload.positions_B.clone()
        rows = (workload.tokens_BL[:size].clone(), workload.positions_B[:size].clone())
        return tuple(_marked(row, self._dynamic, 0) for row in rows)

    def _compiled_layer(self, compile_function: Compile) -> Callable[..., torch.Tensor]:
        backend = self._workload.settings.attention

        def layer_under_backend(layer: nn.Module, x_BLE: torch.Tensor, step: StepInputs) -> torch.Tensor:
            # Inside the compiled function: a compiled one keeps the backend it was compiled under.
            with under_backend(backend):
                return run_layer(layer, x_BLE, step)

        compiled = compile_function(layer_under_backend)
        if self._dynamic != "mark_dynamic":
            return compiled

        def marked_layer(layer: nn.Module, x_BLE: torch.Tensor, step: StepInputs) -> torch.Tensor:
            dimension = 0 if self._axis == "batch" else 1
            for tensor in (x_BLE, step.cos_BL1D, step.sin_BL1D):
                _marked(tensor, "mark_dynamic", dimension)
            _marked(step.slots_N, "mark_dynamic", 0)
            if step.mask_B11S is not None:
                _marked(step.mask_B11S, "mark_dynamic", 0)
            return compiled(layer, x_BLE, step)  # type: ignore[no-any-return]

        return marked_layer


class ExpressionSubject:
    """A small function of a tensor with as many rows as the size, float values seeded by the call's number."""

    def __init__(self, settings: ShapesSettings, dynamic: Dynamic) -> None:
        self._name = settings.subject
        self._seed = settings.seed
        self._device = torch.device(settings.device)
        self._dtype = getattr(torch, settings.dtype)
        self._dynamic = dynamic
        self._largest = padded_size(max(settings.sizes), dynamic, max(settings.sizes))
        self.is_stepwise = settings.subject in STEPWISE

    def plain(self) -> Callable[..., torch.Tensor]:
        return _expression(self._name, self._device)

    def compiled(self, compile_function: Compile) -> Callable[..., torch.Tensor]:
        return compile_function(_expression(self._name, self._device))

    def arguments(self, index: int, size: int) -> tuple[Any, ...]:
        generator = torch.Generator().manual_seed(self._seed + index)
        # Rows are cut from one draw, so that those of a padded call begin with those of the call itself.
        rows = torch.randn(self._largest, _WIDTH, generator=generator)[:size].clone()
        marked = _marked(rows.to(self._device, self._dtype), self._dynamic, 0)
        return (marked, index) if self._name == "position_argument" else (marked,)


class PositionAttribute(nn.Module):
    """Keeps its position as a Python int, which Dynamo guards by value."""

    def __init__(self) -> None:
        super().__init__()
        self.position = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.position += 1
        return x * 2 + self.position


class PositionBuffer(nn.Module):
    """Keeps its position as a tensor, which Dynamo does not look into."""

    position: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("position", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.position.add_(1)
        return x * 2 + self.position


def position_argument(x: torch.Tensor, position: int) -> torch.Tensor:
    """The same with the position handed in; the first is 0, as the others count from 1."""
    return x * 2 + (position + 1)


def scale_relu(x: torch.Tensor) -> torch.Tensor:
    """Two elementwise operators."""
    return (x * 2).relu()


def item_branch(x: torch.Tensor) -> torch.Tensor:
    """Leaves the graph: a Python branch needs the tensor's value."""
    y = (x * 2).relu()
    if y.sum().item() > 0:
        y = y + 1
    return y.sum(-1)


def _expression(name: str, device: torch.device) -> Callable[..., torch.Tensor]:
    functions: dict[str, Callable[..., torch.Tensor]] = {
        "scale_relu": scale_relu,
        "item_branch": item_branch,
        "position_argument": position_argument,
    }
    if name in functions:
        return functions[name]
    modules: dict[str, type[nn.Module]] = {"position_attribute": PositionAttribute, "position_buffer": PositionBuffer}
    return modules[name]().to(device)


def _marked(tensor: torch.Tensor, dynamic: Dynamic, dimension: int) -> torch.Tensor:
    if dynamic == "mark_dynamic":
        torch._dynamo.mark_dynamic(tensor, dimension)
    return tensor


def _workload(settings: ShapesSettings, dynamic: Dynamic) -> Workload:
    """The model with a cache for the largest call, padded rows included, and a row more.

    A call that fills the cache reads it whole, which is a path of its own: Dynamo would compile it apart.
    """
    largest = max(padded_size(size, dynamic, max(settings.sizes)) for size in settings.sizes)
    fields = settings.run_settings().to_json()
    if settings.axis == "batch":
        fields["batch_size"] = largest + 1
    run_settings = type(settings.run_settings()).from_json(fields)
    return build_workload(run_settings, open_weights(run_settings))


def _buckets(largest: int) -> tuple[int, ...]:
    return vllm_sizes(1 << (largest - 1).bit_length())
