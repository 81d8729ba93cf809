"""What will a run cost, before it starts: memory needed against memory free, and time seen before?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from explorer.model_shapes import BYTES_OF_DTYPE, MODEL_SHAPES
from explorer.settings import RunSettings
from explorer.ui.chips import device_name
from explorer.ui.sources import Source

_LOGIT_BYTES = 4
_ALIKE = ("model", "device", "mode", "phase", "compile_scope", "autotune")
"""Settings without which a run's time says nothing of another's."""
_BY_WEIGHT = ("dtype", "batch_size", "context_tokens", "attention", "joined_projections")
"""Settings that change a run's time, first those that change it most."""


@dataclass(frozen=True)
class Cost:
    """Memory in bytes, None where the shape is unknown; `seen_ns` is how long the most similar run, `seen`, took."""

    weight_bytes: int | None
    cache_bytes: int | None
    needed_bytes: int | None
    seen_ns: int | None
    seen_compile_ns: int | None
    seen: str = ""


def estimate(settings: RunSettings, sources: Iterable[Source], device: str) -> Cost:
    """The least that a run needs: weights, their float32 reference, KV cache and logits. `device` is the GPU's name."""
    seen = most_similar(settings, sources, device)
    seen_ns = sum(seen.facts.stage_ns.values()) if seen and seen.facts else None
    compile_ns = seen.facts.cold_start.compile_ns if seen and seen.facts and seen.facts.cold_start else None
    if settings.weights_folder:
        return Cost(None, None, None, seen_ns, compile_ns, _name(seen))
    shape = MODEL_SHAPES[settings.model]
    weights = shape.weight_bytes(settings.dtype)
    cache = shape.kv_bytes_per_token(settings.dtype) * settings.cache_tokens * settings.batch_size
    tokens = settings.batch_size * (settings.context_tokens if settings.phase == "prefill" else 1)
    activations = tokens * (shape.mlp_size * BYTES_OF_DTYPE[settings.dtype] + shape.vocab_size * _LOGIT_BYTES)
    reference = shape.weight_bytes("float32")
    return Cost(weights, cache, weights + reference + cache + activations, seen_ns, compile_ns, _name(seen))


def most_similar(settings: RunSettings, sources: Iterable[Source], device: str) -> Source | None:
    """Of the finished runs that compile and run alike, the one with most in common, the weightiest first."""
    similar = [source for source in sources if _is_similar(settings, source)]
    return max(similar, key=lambda source: _likeness(settings, source, device), default=None)


def _name(source: Source | None) -> str:
    """What ran and on what: another batch, context or GPU takes another time."""
    if source is None or source.settings is None:
        return ""
    settings = source.settings
    return f"batch {settings.batch_size:,}, context {settings.context_tokens:,} on {device_name(source)}"


def _is_similar(settings: RunSettings, source: Source) -> bool:
    its = source.settings
    return (
        source.kind != "upload"
        and source.state == "finished"
        and its is not None
        and all(getattr(settings, name) == getattr(its, name) for name in _ALIKE)
    )


def _likeness(settings: RunSettings, source: Source, device: str) -> tuple[bool | float, ...]:
    """The same device, then one setting after the other, then when it was measured.

    A processor's name is not known here, so of its runs those that were not bundled count as this machine's.
    """
    is_here = device_name(source) == device or (settings.device == "cpu" and source.kind == "run")
    shared = (getattr(settings, name) == getattr(source.settings, name) for name in _BY_WEIGHT)
    return (is_here, *shared, source.facts.started_unix_s if source.facts else 0.0)
