"""Which expressions does the gallery compile? Plain PyTorch as models are written in, and the inputs of each.

Shapes: R rows, H hidden size, N heads of D elements (N · D = H). Inputs are random; the branch's are shifted so that
its condition holds.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import torch
import torch.nn.functional as functional

from explorer.errors import SettingsError
from explorer.gallery_settings import EXPRESSION_TITLES, OWN_EXPRESSION, GallerySettings

Inputs = tuple[torch.Tensor, ...]
Function = Callable[..., torch.Tensor]
_EPSILON = 1e-6


def sigmoid_chain(x_RH: torch.Tensor, scale_RH: torch.Tensor, bias_RH: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(x_RH * scale_RH + bias_RH)


def residual_rms_norm(x_RH: torch.Tensor, residual_RH: torch.Tensor, weight_H: torch.Tensor) -> torch.Tensor:
    hidden_RH = x_RH + residual_RH
    variance_R1 = hidden_RH.pow(2).mean(-1, keepdim=True)
    return hidden_RH * torch.rsqrt(variance_R1 + _EPSILON) * weight_H


def head_norm_rotary(
    heads_RND: torch.Tensor, weight_D: torch.Tensor, cos_R1D: torch.Tensor, sin_R1D: torch.Tensor
) -> torch.Tensor:
    variance_RN1 = heads_RND.pow(2).mean(-1, keepdim=True)
    normed_RND = heads_RND * torch.rsqrt(variance_RN1 + _EPSILON) * weight_D
    first, second = normed_RND.chunk(2, -1)
    rotated_RND = torch.cat((-second, first), -1)
    return normed_RND * cos_R1D + rotated_RND * sin_R1D


def swiglu(gate_RH: torch.Tensor, up_RH: torch.Tensor) -> torch.Tensor:
    return functional.silu(gate_RH) * up_RH


def softmax(x_RH: torch.Tensor) -> torch.Tensor:
    shifted_RH = x_RH - x_RH.amax(-1, keepdim=True)
    weights_RH = shifted_RH.exp()
    return weights_RH / weights_RH.sum(-1, keepdim=True)


def layer_norm_gelu(x_RH: torch.Tensor, weight_H: torch.Tensor, bias_H: torch.Tensor) -> torch.Tensor:
    return functional.gelu(functional.layer_norm(x_RH, (x_RH.shape[-1],), weight_H, bias_H))


def cast_chain(x_RH: torch.Tensor) -> torch.Tensor:
    wide_RH = x_RH.to(torch.float64)
    narrow_RH = (wide_RH * 0.5).to(torch.float32)
    return (narrow_RH + 1.0).to(x_RH.dtype)


def matmul_epilogue(x_RH: torch.Tensor, weight_HH: torch.Tensor, bias_H: torch.Tensor) -> torch.Tensor:
    return functional.relu(x_RH @ weight_HH + bias_H)


def item_break(x_RH: torch.Tensor) -> torch.Tensor:
    scaled_RH = x_RH * 2.0
    largest = scaled_RH.abs().max().item()
    return scaled_RH / largest


def branch(x_RH: torch.Tensor) -> torch.Tensor:
    if x_RH.mean() > 0:
        return x_RH * 2.0
    return x_RH - 1.0


def branch_as_where(x_RH: torch.Tensor) -> torch.Tensor:
    return torch.where(x_RH.mean() > 0, x_RH * 2.0, x_RH - 1.0)


def view_chain(x_RH: torch.Tensor) -> torch.Tensor:
    return x_RH.view(x_RH.shape[0], -1, 8).transpose(1, 2).unsqueeze(0)


def layout_copy(x_RH: torch.Tensor) -> torch.Tensor:
    return x_RH.t().contiguous() * 2.0


_FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        function.__name__: function
        for function in (
            *(sigmoid_chain, residual_rms_norm, head_norm_rotary, swiglu, softmax, layer_norm_gelu, cast_chain),
            *(matmul_epilogue, item_break, branch, branch_as_where, view_chain, layout_copy),
        )
    }
)


@dataclass(frozen=True)
class Expression:
    """One expression with its inputs on the device."""

    name: str
    title: str
    function: Function
    inputs: Inputs


def expression_of(name: str, settings: GallerySettings) -> Expression:
    """The expression with fresh inputs; raises SettingsError for a person's own that cannot be imported or called."""
    if name == OWN_EXPRESSION:
        return _own_expression(settings.own_function or "", settings)
    return Expression(name, EXPRESSION_TITLES[name], _FUNCTIONS[name], _inputs(name, settings))


def _inputs(name: str, settings: GallerySettings) -> Inputs:
    rows, hidden = settings.row_count, settings.hidden_size
    head_size = next(size for size in (128, 64, 32, 16, 8) if hidden % size == 0)
    whole, row = (rows, hidden), (hidden,)
    shapes: dict[str, tuple[tuple[int, ...], ...]] = {
        "sigmoid_chain": (whole, whole, whole),
        "residual_rms_norm": (whole, whole, row),
        "head_norm_rotary": (
            *((rows, hidden // head_size, head_size), (head_size,)),
            *((rows, 1, head_size), (rows, 1, head_size)),
        ),
        "swiglu": (whole, whole),
        "layer_norm_gelu": (whole, row, row),
        "matmul_epilogue": (whole, (hidden, hidden), row),
    }
    shift = 1.0 if name in ("branch", "branch_as_where") else 0.0
    return _random(shapes.get(name, (whole,)), settings, shift)


def _random(shapes: tuple[tuple[int, ...], ...], settings: GallerySettings, shift: float = 0.0) -> Inputs:
    generator = torch.Generator(settings.device).manual_seed(settings.seed)
    dtype = getattr(torch, settings.dtype)
    return tuple(
        torch.randn(shape, generator=generator, device=settings.device, dtype=torch.float32).add_(shift).to(dtype)
        for shape in shapes
    )


def _own_expression(name: str, settings: GallerySettings) -> Expression:
    """A person's function, called once: whatever it raises is theirs to read, with its line."""
    function = _own_function(name)
    inputs = _own_inputs(function, settings)
    try:
        out: object = function(*inputs)
    except Exception as problem:  # calling runs a person's code, which may raise anything
        frames = traceback.extract_tb(problem.__traceback__)
        own = [frame for frame in frames if frame.filename == function.__code__.co_filename]
        place = [*frames, *own][-1]  # the call itself, where it never got inside
        where = f"{Path(place.filename).name}:{place.lineno}"
        sizes = " × ".join(map(str, (settings.row_count, settings.hidden_size)))
        raise SettingsError(
            f"{name} raised {type(problem).__name__} at {where} for tensors of {sizes}: {problem}"
        ) from problem
    if not isinstance(out, torch.Tensor):
        raise SettingsError(f"{name} returned {type(out).__name__}; name a function that returns one tensor.")
    return Expression(OWN_EXPRESSION, name, function, inputs)


def _own_function(name: str) -> Function:
    module_name, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        function: Function = getattr(importlib.import_module(module_name), attribute)
    except Exception as problem:  # importing runs a person's module
        raise SettingsError(
            f"{name} cannot be imported ({type(problem).__name__}: {problem}); run the command where the module lies."
        ) from problem
    if not callable(function) or not hasattr(function, "__code__"):
        raise SettingsError(f"{name} is no Python function; name a function of tensors.")
    return function


def _own_inputs(function: Function, settings: GallerySettings) -> Inputs:
    """One tensor of the gallery's size for each positional argument without a default."""
    code = function.__code__
    count = code.co_argcount - len(function.__defaults__ or ())
    return _random(((settings.row_count, settings.hidden_size),) * count, settings)
