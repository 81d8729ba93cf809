"""Which model, cache and inputs does this run measure?

Every step of a run is made at the same position: row r always has `context_tokens` tokens before it, and a step
writes its token's keys and values over those of the step before. So all steps do the same work, a graph and a
compiled function see one shape, and latencies may be compared with each other. (A prefill starts at position 0.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from explorer.engine.attention import policy_for
from explorer.engine.costs import first_position, kv_cache_bytes, new_tokens_per_row
from explorer.engine.environment import free_memory_bytes
from explorer.engine.failures import OutOfMemoryError
from explorer.engine.model import Qwen3
from explorer.engine.weights import FolderWeights, RandomWeights, WeightSource, build_model
from explorer.model_shapes import MODEL_SHAPES, ModelShape
from explorer.settings import RunSettings

Step = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""(tokens BL, position of the first in each row B) → logits BV of the token after the last."""

_PREFILL_TOKENS_AT_ONCE = 16384


@dataclass(frozen=True)
class Workload:
    """A built model with a filled cache, and the inputs of its steps."""

    settings: RunSettings
    source: WeightSource
    model: Qwen3
    context_BT: torch.Tensor
    tokens_BL: torch.Tensor
    positions_B: torch.Tensor

    @property
    def device(self) -> torch.device:
        return self.tokens_BL.device


def open_weights(settings: RunSettings) -> WeightSource:
    """The weights that the settings name; raises SettingsError for a folder that cannot be used."""
    device, dtype = torch.device(settings.device), getattr(torch, settings.dtype)
    if settings.weights_folder is not None:
        return FolderWeights(Path(settings.weights_folder), dtype, device)
    return RandomWeights(MODEL_SHAPES[settings.model], settings.seed, dtype, device)


def build_workload(settings: RunSettings, source: WeightSource) -> Workload:
    """Builds the model, its cache and its inputs, and fills the cache for a decode run."""
    _require_memory(settings, source.shape)
    model = build_model(source, policy_for(settings), settings.joined_projections)
    model.allocate_cache(settings.batch_size, settings.cache_tokens)
    context_BT, tokens_BL = _inputs(settings, source.shape)
    if settings.phase == "decode":
        fill_context(model, context_BT)
    positions_B = torch.full((settings.batch_size,), first_position(settings), device=tokens_BL.device)
    return Workload(settings, source, model, context_BT, tokens_BL, positions_B)


def fill_context(model: Qwen3, context_BT: torch.Tensor) -> None:
    """Prefills the cache a few rows at a time, which bounds the memory that activations take."""
    row_count, token_count = context_BT.shape
    rows_at_once = max(1, _PREFILL_TOKENS_AT_ONCE // token_count)
    read_tokens = 1 if token_count == 1 else None  # one token is computed as a decode: it reads itself alone
    for first in range(0, row_count, rows_at_once):
        tokens_BL = context_BT[first : first + rows_at_once]
        positions_B = torch.zeros(len(tokens_BL), dtype=torch.int64, device=tokens_BL.device)
        model(tokens_BL, positions_B, first, read_tokens=read_tokens)


def _inputs(settings: RunSettings, shape: ModelShape) -> tuple[torch.Tensor, torch.Tensor]:
    """(context before the step BT, the step's tokens BL), from the seed; made on the CPU to be equal everywhere."""
    generator = torch.Generator().manual_seed(settings.seed)
    size = (settings.batch_size, settings.context_tokens + 1)
    tokens = torch.randint(shape.vocab_size, size, generator=generator).to(settings.device)
    if settings.phase == "decode":
        return tokens[:, :-1].contiguous(), tokens[:, -1:].contiguous()
    return tokens[:, :0], tokens[:, : new_tokens_per_row(settings)].contiguous()


def _require_memory(settings: RunSettings, shape: ModelShape) -> None:
    """Raises OutOfMemoryError when weights and cache alone exceed what is free."""
    weight_bytes = shape.weight_bytes(settings.dtype)
    cache_bytes = kv_cache_bytes(shape, settings)
    free_bytes = free_memory_bytes(torch.device(settings.device))
    if free_bytes is None or weight_bytes + cache_bytes <= free_bytes:
        return
    raise OutOfMemoryError(
        f"{shape.name} needs {weight_bytes // 2**20:,} MiB for weights and {cache_bytes // 2**20:,} MiB for the KV "
        f"cache, and {free_bytes // 2**20:,} MiB are free. Choose a smaller model, batch or cache."
    )
