"""Which CUDA graph does an engine run for a batch, and why that one? vLLM's modes and decisions, with their reasons.

A mode is a pair, for pure decode and for mixed batches (vLLM 0.33):

    NONE                  none       none
    PIECEWISE             piecewise  piecewise   attention is called between the pieces
    FULL                  full       full        one graph, attention inside
    FULL_DECODE_ONLY      full       none
    FULL_AND_PIECEWISE    full       piecewise

What a full graph may hold depends on the attention backend: its split of the batch is part of what is recorded. A
batch above the largest captured size has no graph; any other one runs its full graph where there is one, else its
pieces, else no graph.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from explorer.capture_sizes import pad
from explorer.errors import SettingsError

GraphMode = Literal["NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"]
GraphKind = Literal["NONE", "PIECEWISE", "FULL"]
AttentionSupport = Literal["NEVER", "UNIFORM_SINGLE_TOKEN_DECODE", "UNIFORM_BATCH", "ALWAYS"]

GRAPH_MODES: tuple[GraphMode, ...] = get_args(GraphMode)
SUPPORT_LEVELS: tuple[AttentionSupport, ...] = get_args(AttentionSupport)
"""From the least that a full graph may hold to the most."""

PAIRS: Mapping[GraphMode, tuple[GraphKind, GraphKind]] = MappingProxyType(
    {
        "NONE": ("NONE", "NONE"),
        "PIECEWISE": ("PIECEWISE", "PIECEWISE"),
        "FULL": ("FULL", "FULL"),
        "FULL_DECODE_ONLY": ("FULL", "NONE"),
        "FULL_AND_PIECEWISE": ("FULL", "PIECEWISE"),
    }
)
"""(graph of a pure decode, graph of a mixed batch)."""

BACKEND_SUPPORT: Mapping[str, AttentionSupport] = MappingProxyType(
    {
        "FlashAttention 3": "ALWAYS",
        "Triton": "ALWAYS",
        "FlexAttention": "ALWAYS",
        "FlashAttention 2": "UNIFORM_BATCH",
        "FlashMLA": "UNIFORM_BATCH",
        "FlashInfer": "UNIFORM_SINGLE_TOKEN_DECODE",
    }
)
"""vLLM's attention backends; FlashInfer's level depends on the GPU and is mostly this one."""

OWN_SUPPORT: AttentionSupport = "UNIFORM_SINGLE_TOKEN_DECODE"
"""This product's engine: SDPA is called once for the rows that decode and once for a new prompt, so a recorded graph
knows how many tokens belong to which."""


@dataclass(frozen=True)
class ResolvedMode:
    """The mode that an engine really uses, and every reason why it is not the one asked for."""

    requested: GraphMode
    mode: GraphMode
    reasons: tuple[str, ...] = ()

    @property
    def decode(self) -> GraphKind:
        return PAIRS[self.mode][0]

    @property
    def mixed(self) -> GraphKind:
        return PAIRS[self.mode][1]


@dataclass(frozen=True)
class Decision:
    """What one batch runs as: the kind of graph, the size that it is padded to (None: no graph), and why."""

    kind: GraphKind
    size: int | None
    reason: str


def resolve_mode(
    requested: GraphMode, support: AttentionSupport, *, is_cut_at_attention: bool = True, query_tokens: int = 1
) -> ResolvedMode:
    """The mode that the attention backend allows, in vLLM's order of tests.

    `is_cut_at_attention`: pieces exist (vLLM compiles them). `query_tokens`: tokens a row in a decode, more than one
    with speculative decoding. Raises SettingsError where vLLM refuses: FULL on a backend that supports no full graph,
    and any mode with pieces where the step is not cut.
    """
    mode, reasons = requested, []
    level = SUPPORT_LEVELS.index(support)
    if PAIRS[mode][1] == "FULL" and support != "ALWAYS":
        if support == "NEVER":
            raise SettingsError(
                f"{mode} records attention of mixed batches, and this attention backend supports no full graph "
                "(NEVER); choose PIECEWISE, with the step cut at attention."
            )
        mode = "FULL_AND_PIECEWISE" if is_cut_at_attention else "FULL_DECODE_ONLY"
        reasons.append(f"The attention backend supports {support}, not mixed batches in one graph, so {mode} is used.")
    limit = SUPPORT_LEVELS.index("UNIFORM_BATCH" if query_tokens > 1 else "UNIFORM_SINGLE_TOKEN_DECODE")
    if PAIRS[mode][0] == "FULL" and level < limit:
        mode = "PIECEWISE" if is_cut_at_attention else "NONE"
        rows = "one token a row" if query_tokens == 1 else f"{query_tokens} tokens a row"
        reasons.append(f"The attention backend supports {support}, no full graph of a decode with {rows}: {mode}.")
    if "PIECEWISE" in PAIRS[mode] and not is_cut_at_attention:
        raise SettingsError(f"{mode} needs the step cut at attention; turn piecewise compilation on or choose NONE.")
    return ResolvedMode(requested, mode, tuple(reasons))


def dispatch(
    mode: ResolvedMode, token_count: int, *, is_pure_decode: bool, captured: Mapping[GraphKind, Collection[int]]
) -> Decision:
    """What a batch of `token_count` tokens runs as, given the sizes captured of each kind.

    As vLLM decides: above the largest size none; else the full graph of the padded size, else its pieces, else none.
    """
    batch = "a pure decode" if is_pure_decode else "a mixed batch"
    wanted = mode.decode if is_pure_decode else mode.mixed
    sizes = sorted({size for kind_sizes in captured.values() for size in kind_sizes})
    if mode.mode == "NONE" or not sizes:
        return Decision("NONE", None, f"{mode.mode}: nothing is captured.")
    bucket = pad(token_count, sizes).bucket
    if bucket is None:
        return Decision("NONE", None, f"{token_count:,} tokens are more than the largest captured size, {sizes[-1]:,}.")
    if wanted == "NONE":
        return Decision("NONE", None, f"{mode.mode} has no graph for {batch}.")
    tokens = "1 token" if token_count == 1 else f"{token_count:,} tokens"
    padded = f"{batch[0].upper()}{batch[1:]} of {tokens} runs at size {bucket:,}"
    if wanted == "FULL" and bucket in captured.get("FULL", ()):
        return Decision("FULL", bucket, f"{padded}, whose full graph is captured.")
    if bucket in captured.get("PIECEWISE", ()):
        why = "whose pieces are captured" if wanted == "PIECEWISE" else "which has pieces but no full graph"
        return Decision("PIECEWISE", bucket, f"{padded}, {why}.")
    return Decision(
        "NONE", None, f"{batch[0].upper()}{batch[1:]} of {tokens}: size {bucket:,} has no {wanted.lower()} graph."
    )
