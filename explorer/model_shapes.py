"""Which models can be run, and what are their sizes?

Qwen3's, with weights of a seed or of a folder, and a tiny one of the same make for a CPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Dtype = Literal["bfloat16", "float16", "float32"]
BYTES_OF_DTYPE: Mapping[str, int] = MappingProxyType({"bfloat16": 2, "float16": 2, "float32": 4})


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    """The sizes of one decoder-only transformer, named as in this field; counts and elements, no bytes."""

    name: str
    layer_count: int
    hidden_size: int
    query_head_count: int
    kv_head_count: int
    head_size: int
    mlp_size: int
    vocab_size: int
    rope_theta: float = 1e6
    norm_epsilon: float = 1e-6
    tied_embeddings: bool = True

    @property
    def parameter_count(self) -> int:
        """Number of weights, as the engine allocates them (a tied embedding counts once)."""
        query_size = self.query_head_count * self.head_size
        kv_size = self.kv_head_count * self.head_size
        attention = self.hidden_size * (2 * query_size + 2 * kv_size) + 2 * self.head_size
        mlp = 3 * self.hidden_size * self.mlp_size
        layer = attention + mlp + 2 * self.hidden_size
        embeddings = self.vocab_size * self.hidden_size * (1 if self.tied_embeddings else 2)
        return self.layer_count * layer + embeddings + self.hidden_size

    def weight_bytes(self, dtype: Dtype) -> int:
        """Bytes of all weights at that dtype."""
        return self.parameter_count * BYTES_OF_DTYPE[dtype]

    def weight_read_bytes(self, dtype: Dtype) -> int:
        """Bytes of weights that a decode step reads: all but an untied embedding table, of which it gathers rows."""
        table = 0 if self.tied_embeddings else self.vocab_size * self.hidden_size
        return (self.parameter_count - table) * BYTES_OF_DTYPE[dtype]

    def kv_bytes_per_token(self, dtype: Dtype) -> int:
        """Bytes of the keys and values of one token over all layers."""
        return 2 * self.layer_count * self.kv_head_count * self.head_size * BYTES_OF_DTYPE[dtype]


def _qwen3(name: str, layers: int, hidden: int, heads: int, mlp: int, tied: bool) -> ModelShape:
    return ModelShape(
        name=name,
        layer_count=layers,
        hidden_size=hidden,
        query_head_count=heads,
        kv_head_count=8,
        head_size=128,
        mlp_size=mlp,
        vocab_size=151936,
        tied_embeddings=tied,
    )


TINY = ModelShape(
    name="tiny",
    layer_count=4,
    hidden_size=128,
    query_head_count=4,
    kv_head_count=2,
    head_size=32,
    mlp_size=384,
    vocab_size=1024,
)

MODEL_SHAPES: Mapping[str, ModelShape] = MappingProxyType(
    {
        shape.name: shape
        for shape in (
            TINY,
            _qwen3("qwen3-0.6b", 28, 1024, 16, 3072, True),
            _qwen3("qwen3-1.7b", 28, 2048, 16, 6144, True),
            _qwen3("qwen3-4b", 36, 2560, 32, 9728, True),
            _qwen3("qwen3-8b", 36, 4096, 32, 12288, False),
        )
    }
)
