"""How does Qwen3 turn tokens into logits? The whole model in plain PyTorch, to be read in one sitting.

Modules and weights are named as in Hugging Face. A tensor's name ends in the letters of its axes:

    B rows          L new tokens a row     T tokens attended to     S tokens a row that the cache has room for
    E hidden size   H query heads          K KV heads               D head size
    M MLP size      V vocabulary           N = B·L new tokens       C = B·S cache slots

One call handles B rows that may stand at different positions (a ragged batch). New keys and values go to *slots* of
a static cache, `slot = row · S + position`, and then

    decode   (L = 1)  each row's query reads its own tokens 0..position, by a mask or by a cut view of the cache
    prefill  (L > 1)  each row starts at position 0 and its queries read the new keys and values, causally

Normalisation is written in plain operations, as Hugging Face does: what fuses them is for the reader to see.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from explorer.engine.attention import AttentionPolicy, attend, under_backend
from explorer.engine.modules import Embedding, Linear, RMSNorm
from explorer.model_shapes import ModelShape


class StepInputs(NamedTuple):
    """What all layers of one step share: rotary angles, where to write, what to read.

    Decode reads the first `read_tokens` cached tokens of each row, all that the cache has room for when None.
    """

    cos_BL1D: torch.Tensor
    sin_BL1D: torch.Tensor
    slots_N: torch.Tensor
    mask_B11S: torch.Tensor | None
    read_tokens: int | None = None


LayerRunner = Callable[[nn.Module, torch.Tensor, StepInputs], torch.Tensor]


class Attention(nn.Module):
    """Grouped-query attention with q/k norm, rotary positions and its layer's part of the cache."""

    k_cache_CKD: torch.Tensor
    v_cache_CKD: torch.Tensor
    cache_row_count: int

    def __init__(self, shape: ModelShape, policy: AttentionPolicy, joined: bool) -> None:
        super().__init__()
        self.head_size = shape.head_size
        self.query_size = shape.query_head_count * shape.head_size
        self.kv_size = shape.kv_head_count * shape.head_size
        self.policy = policy
        self.joined = joined
        if joined:
            self.qkv_proj = Linear(shape.hidden_size, self.query_size + 2 * self.kv_size)
        else:
            self.q_proj = Linear(shape.hidden_size, self.query_size)
            self.k_proj = Linear(shape.hidden_size, self.kv_size)
            self.v_proj = Linear(shape.hidden_size, self.kv_size)
        self.o_proj = Linear(self.query_size, shape.hidden_size)
        self.q_norm = RMSNorm(shape.head_size, shape.norm_epsilon)
        self.k_norm = RMSNorm(shape.head_size, shape.norm_epsilon)

    def forward(
        self, q_BLHD: torch.Tensor, k_BLKD: torch.Tensor, v_BLKD: torch.Tensor, step: StepInputs
    ) -> torch.Tensor:
        """Writes the new keys and values and reads what the queries attend to, BLHD."""
        self.write(k_BLKD, v_BLKD, step.slots_N)
        return self.read(q_BLHD, k_BLKD, v_BLKD, step)

    def queries_keys_values(
        self, x_BLE: torch.Tensor, step: StepInputs
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries BLHD, keys and values BLKD of the new tokens, normalised and turned to their positions."""
        q_BLHD, k_BLKD, v_BLKD = self._project(x_BLE)
        return rotated(self.q_norm(q_BLHD), step), rotated(self.k_norm(k_BLKD), step), v_BLKD

    def write(self, k_BLKD: torch.Tensor, v_BLKD: torch.Tensor, slots_N: torch.Tensor) -> None:
        """Puts the new tokens' keys and values into the cache."""
        self.k_cache_CKD.index_copy_(0, slots_N, k_BLKD.flatten(0, 1))
        self.v_cache_CKD.index_copy_(0, slots_N, v_BLKD.flatten(0, 1))

    def read(self, q_BLHD: torch.Tensor, k_BLKD: torch.Tensor, v_BLKD: torch.Tensor, step: StepInputs) -> torch.Tensor:
        """Attention BLHD of the new queries: over the cache in decode, over the new keys and values in prefill."""
        is_prefill = True if q_BLHD.shape[1] > 1 else False  # noqa: SIM210  # bool() stays open under torch.compile
        if not is_prefill:
            k_BLKD = self._cached(self.k_cache_CKD, q_BLHD.shape[0], step.read_tokens)
            v_BLKD = self._cached(self.v_cache_CKD, q_BLHD.shape[0], step.read_tokens)
        return attend(
            q_BLHD,
            k_BLKD,
            v_BLKD,
            mask_B11T=step.mask_B11S,
            is_causal=is_prefill,
            repeats_heads=self.policy.repeats_heads,
        )

    def _project(self, x_BLE: torch.Tensor) -> list[torch.Tensor]:
        if self.joined:
            parts = self.qkv_proj(x_BLE).split([self.query_size, self.kv_size, self.kv_size], dim=-1)
        else:
            parts = (self.q_proj(x_BLE), self.k_proj(x_BLE), self.v_proj(x_BLE))
        return [part.view(*part.shape[:-1], -1, self.head_size) for part in parts]

    def _cached(self, cache_CKD: torch.Tensor, row_count: int, read_tokens: int | None) -> torch.Tensor:
        if row_count < self.cache_row_count:
            cache_CKD = cache_CKD[: row_count * (len(cache_CKD) // self.cache_row_count)]
        cache_BSKD = cache_CKD.view(row_count, -1, *cache_CKD.shape[1:])
        return cache_BSKD if read_tokens is None else cache_BSKD[:, :read_tokens]


class MLP(nn.Module):
    """SwiGLU: down(silu(gate(x)) · up(x))."""

    def __init__(self, shape: ModelShape, joined: bool) -> None:
        super().__init__()
        self.joined = joined
        if joined:
            self.gate_up_proj = Linear(shape.hidden_size, 2 * shape.mlp_size)
        else:
            self.gate_proj = Linear(shape.hidden_size, shape.mlp_size)
            self.up_proj = Linear(shape.hidden_size, shape.mlp_size)
        self.down_proj = Linear(shape.mlp_size, shape.hidden_size)

    def forward(self, x_BLE: torch.Tensor) -> torch.Tensor:
        if self.joined:
            gate_BLM, up_BLM = self.gate_up_proj(x_BLE).chunk(2, dim=-1)
        else:
            gate_BLM, up_BLM = self.gate_proj(x_BLE), self.up_proj(x_BLE)
        out_BLE: torch.Tensor = self.down_proj(functional.silu(gate_BLM) * up_BLM)
        return out_BLE


class DecoderLayer(nn.Module):
    """Attention and MLP, each on a normalised input and added to the residual."""

    def __init__(self, shape: ModelShape, policy: AttentionPolicy, joined: bool) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(shape.hidden_size, shape.norm_epsilon)
        self.self_attn = Attention(shape, policy, joined)
        self.post_attention_layernorm = RMSNorm(shape.hidden_size, shape.norm_epsilon)
        self.mlp = MLP(shape, joined)

    def forward(self, x_BLE: torch.Tensor, step: StepInputs) -> torch.Tensor:
        q_BLHD, k_BLKD, v_BLKD = self.before_attention(x_BLE, step)
        return self.after_attention(x_BLE, self.self_attn(q_BLHD, k_BLKD, v_BLKD, step))

    def before_attention(
        self, x_BLE: torch.Tensor, step: StepInputs
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """What attention takes: queries BLHD, keys and values BLKD."""
        return self.self_attn.queries_keys_values(self.input_layernorm(x_BLE), step)

    def after_attention(self, x_BLE: torch.Tensor, out_BLHD: torch.Tensor) -> torch.Tensor:
        """The layer's output, from its input and what attention gave."""
        attended_BLE: torch.Tensor = x_BLE + self.self_attn.o_proj(out_BLHD.flatten(2))
        out_BLE: torch.Tensor = attended_BLE + self.mlp(self.post_attention_layernorm(attended_BLE))
        return out_BLE


class Qwen3(nn.Module):
    """Qwen3 with a static KV cache; weights come from `weights.py`, the cache from `allocate_cache`.

    `run_layer` and `layer_scope` are seams: the first may be a compiled function, the second may annotate each layer
    for the profiler.
    """

    inverse_frequencies: torch.Tensor
    row_starts_B: torch.Tensor
    cache_positions_S: torch.Tensor

    def __init__(self, shape: ModelShape, policy: AttentionPolicy | None = None, joined: bool = False) -> None:
        super().__init__()
        self.shape = shape
        self.policy = policy or AttentionPolicy()
        self.embed_tokens = Embedding(shape.vocab_size, shape.hidden_size)
        self.layers = nn.ModuleList(DecoderLayer(shape, self.policy, joined) for _ in range(shape.layer_count))
        self.norm = RMSNorm(shape.hidden_size, shape.norm_epsilon)
        if not shape.tied_embeddings:
            self.lm_head = Linear(shape.hidden_size, shape.vocab_size)
        self.run_layer: LayerRunner = run_layer
        self.layer_scope: Callable[[int], AbstractContextManager[Any]] = no_scope

    def allocate_cache(self, row_count: int, cache_tokens: int) -> None:
        """Makes an empty cache for `row_count` rows of `cache_tokens` tokens, at the weights' dtype and device."""
        weight = self.embed_tokens.weight
        size = (row_count * cache_tokens, self.shape.kv_head_count, self.shape.head_size)
        for attention in self.attentions():
            for name in ("k_cache_CKD", "v_cache_CKD"):
                cache = torch.zeros(size, dtype=weight.dtype, device=weight.device)
                attention.register_buffer(name, cache, persistent=False)
            attention.cache_row_count = row_count
        positions = torch.arange(cache_tokens, device=weight.device)
        self.register_buffer("cache_positions_S", positions, persistent=False)
        starts = torch.arange(row_count, device=weight.device) * cache_tokens
        self.register_buffer("row_starts_B", starts, persistent=False)
        exponents = torch.arange(0, self.shape.head_size, 2, dtype=torch.float32, device=weight.device)
        frequencies = 1.0 / self.shape.rope_theta ** (exponents / self.shape.head_size)
        self.register_buffer("inverse_frequencies", frequencies, persistent=False)

    def attentions(self) -> list[Attention]:
        """The attention part of every layer, which holds that layer's cache."""
        return [module for module in self.modules() if isinstance(module, Attention)]

    def forward(
        self,
        tokens_BL: torch.Tensor,
        positions_B: torch.Tensor,
        first_row: int = 0,
        *,
        starts_B: torch.Tensor | None = None,
        read_tokens: int | None = None,
    ) -> torch.Tensor:
        """Normalised hidden states BLE of new tokens whose first stands at `positions_B` in its row.

        L > 1 is a prefill and takes positions 0. Rows go to the cache from `first_row` on, or to the slots from
        `starts_B` on where those are given. A decode of b rows reads the first b rows of the cache, and of each the
        first `read_tokens`.
        """
        x_BLE = self.embed_tokens(tokens_BL)
        if starts_B is None:
            starts_B = self.row_starts_B[first_row : first_row + len(tokens_BL)]
        step = self.step_inputs(tokens_BL, positions_B, starts_B, read_tokens)
        with under_backend(self.policy.backend):
            for index, layer in enumerate(self.layers):
                with self.layer_scope(index):
                    x_BLE = self.run_layer(layer, x_BLE, step)
        normalised_BLE: torch.Tensor = self.norm(x_BLE)
        return normalised_BLE

    def logits(self, x_BLE: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        """Logits of hidden states, V in place of E; written into `out` where it is given."""
        head = self.embed_tokens if self.shape.tied_embeddings else self.lm_head
        if out is not None:
            return torch.matmul(x_BLE, head.weight.t(), out=out)
        return functional.linear(x_BLE, head.weight)

    def next_logits(self, tokens_BL: torch.Tensor, positions_B: torch.Tensor) -> torch.Tensor:
        """Logits BV for the token after the last new one: the step that is measured."""
        return self.logits(self(tokens_BL, positions_B)[:, -1])

    def step_inputs(
        self,
        tokens_BL: torch.Tensor,
        positions_B: torch.Tensor,
        starts_B: torch.Tensor,
        read_tokens: int | None = None,
    ) -> StepInputs:
        """What all layers share in a step of these tokens; arguments as in `forward`."""
        token_count = tokens_BL.shape[1]
        read_tokens = self.policy.cut_tokens if read_tokens is None else read_tokens
        positions_BL = positions_B.unsqueeze(1) + self.cache_positions_S[:token_count]
        angles_BLh = positions_BL.unsqueeze(-1).to(torch.float32) * self.inverse_frequencies
        angles_BL1D = torch.cat((angles_BLh, angles_BLh), dim=-1).unsqueeze(2)
        dtype = self.embed_tokens.weight.dtype
        mask_B11S = None
        if token_count == 1 and self.policy.cut_tokens is None:
            read_positions_T = self.cache_positions_S if read_tokens is None else self.cache_positions_S[:read_tokens]
            mask_B11S = (read_positions_T <= positions_B.unsqueeze(1))[:, None, None]
        return StepInputs(
            cos_BL1D=angles_BL1D.cos().to(dtype),
            sin_BL1D=angles_BL1D.sin().to(dtype),
            slots_N=(positions_BL + starts_B.unsqueeze(1)).flatten(),
            mask_B11S=mask_B11S,
            read_tokens=read_tokens,
        )


def rotated(x_BLHD: torch.Tensor, step: StepInputs) -> torch.Tensor:
    """Rotary position embedding: pairs (i, i + D/2) turned by the position's angles."""
    first, second = x_BLHD.chunk(2, dim=-1)
    return x_BLHD * step.cos_BL1D + torch.cat((-second, first), dim=-1) * step.sin_BL1D


def run_layer(layer: nn.Module, x_BLE: torch.Tensor, step: StepInputs) -> torch.Tensor:
    """One layer, called plainly."""
    out_BLE: torch.Tensor = layer(x_BLE, step)
    return out_BLE


def no_scope(_layer_index: int) -> AbstractContextManager[None]:
    """No annotation around a layer: annotating costs time, so only profiled steps do it."""
    return contextlib.nullcontext()
