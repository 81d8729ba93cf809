"""How does a batch of any size run on graphs that exist for a few sizes only?

    batch of 5 → size 8    tokens   t0 t1 t2 t3 t4  .  .  .    copied; what stands behind them does not matter
                           starts   r0 r1 r2 r3 r4  N  N  N    padded rows write to the null row N
                           logits   l0 l1 l2 l3 l4  .  .  .    their output is dropped

All sizes share one set of input and output buffers, of the largest size, and one memory pool. A batch is made of the
cache's first rows; the null row is the cache's last and belongs to no sequence. Padded rows stand at position 0: what
they read inside a full graph is one token of a row that exists, since a static cache has no page table to point them
elsewhere. With pieces, attention is called on the real rows only.

A full graph's reading length is fixed with it. Under a mask one of T tokens serves every shorter context; flash
attention takes no mask, so it serves exactly T. A pool over sizes and lengths is therefore a product of both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from explorer.engine.graphs import Capture
from explorer.engine.model import Qwen3
from explorer.engine.piecewise import Inputs, Pieces, attend_mixed
from explorer.errors import SettingsError
from explorer.graph_modes import Decision, GraphKind, ResolvedMode, dispatch


@dataclass(frozen=True)
class Batch:
    """`decode_count` rows make their next token and one more row starts with `prompt_count` tokens (0: none)."""

    decode_count: int
    prompt_count: int = 0

    @property
    def token_count(self) -> int:
        return self.decode_count + self.prompt_count


class BucketedStep:
    """Decode and mixed steps on graphs of some sizes; `resolved` says which kind of graph each of them may use."""

    def __init__(
        self, model: Qwen3, largest_size: int, resolved: ResolvedMode, read_lengths: Sequence[int] = ()
    ) -> None:
        self._model = model
        self._resolved = resolved
        cut_tokens = model.policy.cut_tokens
        self._reads_exactly = cut_tokens is not None
        self.read_lengths = sorted(read_lengths) or ([] if cut_tokens is None else [cut_tokens])
        self._null_start = int(model.row_starts_B[-1])
        if largest_size >= len(model.row_starts_B):
            raise SettingsError(
                f"Sizes up to {largest_size:,} need a cache of {largest_size + 1:,} rows, one of them the null row; "
                f"this one has {len(model.row_starts_B):,}."
            )
        weight = model.embed_tokens.weight
        self._inputs = Inputs(
            torch.zeros((largest_size, 1), dtype=torch.int64, device=weight.device),
            torch.zeros(largest_size, dtype=torch.int64, device=weight.device),
            torch.full((largest_size,), self._null_start, dtype=torch.int64, device=weight.device),
        )
        size = (largest_size, model.shape.vocab_size)
        self._logits_BV = torch.empty(size, dtype=weight.dtype, device=weight.device)
        self._full: dict[tuple[int, int | None], Callable[[], object]] = {}
        self._pieces: dict[int, Pieces] = {}

    def warm_up(self, kind: GraphKind, size: int, read_tokens: int | None = None) -> None:
        """Computes, on null rows only, what a graph of that kind and size will record."""
        self._inputs.positions_B[:size].zero_()
        self._inputs.starts_B[:size].fill_(self._null_start)
        if kind == "FULL":
            self._compute(size, read_tokens)
        else:
            Pieces(self._model, self._buffers(size)).plain(attend_mixed(size, 0))

    def capture(self, kind: GraphKind, size: int, capture: Capture, read_tokens: int | None = None) -> int:
        """Records the full graph or the pieces of a size after their warm-up; returns the number of graphs."""
        if kind == "FULL":
            self._full[size, read_tokens], _ = capture(lambda: self._compute(size, read_tokens))
            return 1
        pieces = Pieces(self._model, self._buffers(size))
        pieces.capture(capture)
        self._pieces[size] = pieces
        return pieces.piece_count

    def decide(self, batch: Batch, longest_tokens: int) -> Decision:
        """What a batch runs as whose longest row attends to `longest_tokens` tokens, and why."""
        length = self._length_for(longest_tokens)
        captured: dict[GraphKind, list[int]] = {
            "FULL": [size for size, read_tokens in self._full if read_tokens == length],
            "PIECEWISE": list(self._pieces),
        }
        is_pure_decode = batch.prompt_count == 0
        decision = dispatch(self._resolved, batch.token_count, is_pure_decode=is_pure_decode, captured=captured)
        if is_pure_decode and self._full and not captured["FULL"]:
            lengths = ", ".join(f"{read_tokens:,}" for read_tokens in self.read_lengths)
            missing = f"No full graph reads {longest_tokens:,} tokens a row (they read {lengths}). "
            return replace(decision, reason=missing + decision.reason)
        return decision

    def run(self, batch: Batch, decision: Decision, given: Inputs, longest_tokens: int) -> torch.Tensor:
        """Logits of every token of the batch, the prompt's last, run as decided; the next run overwrites them."""
        exact = longest_tokens if self._reads_exactly else None
        attend = attend_mixed(batch.decode_count, batch.prompt_count, exact)
        if decision.size is None and not batch.prompt_count:
            x_BLE = self._model(given.tokens_BL, given.positions_B, starts_B=given.starts_B, read_tokens=exact)
            return self._model.logits(x_BLE[:, -1])
        if decision.size is None:
            return Pieces(self._model, given).plain(attend)
        self._copy_in(given, decision.size)
        if decision.kind == "FULL":
            self._full[decision.size, self._length_for(longest_tokens)]()
            return self._logits_BV[: batch.token_count]
        return self._pieces[decision.size].replay(attend)[: batch.token_count]

    def decode(self, tokens_BL: torch.Tensor, positions_B: torch.Tensor, longest_tokens: int) -> torch.Tensor:
        """Logits BV of the first rows' next tokens."""
        batch = Batch(len(tokens_BL))
        given = Inputs(tokens_BL, positions_B, self._model.row_starts_B[: len(tokens_BL)])
        return self.run(batch, self.decide(batch, longest_tokens), given, longest_tokens)

    def _compute(self, size: int, read_tokens: int | None) -> None:
        tokens_BL, positions_B, starts_B = self._buffers(size)
        x_BLE = self._model(tokens_BL, positions_B, starts_B=starts_B, read_tokens=read_tokens)
        self._model.logits(x_BLE[:, -1], out=self._logits_BV[:size])

    def _buffers(self, size: int) -> Inputs:
        return Inputs(*(buffer[:size] for buffer in self._inputs))

    def _copy_in(self, given: Inputs, size: int) -> None:
        count = len(given.tokens_BL)
        torch._foreach_copy_([buffer[:count] for buffer in self._inputs], list(given))
        if count < size:
            self._inputs.positions_B[count:size].zero_()
            self._inputs.starts_B[count:size].fill_(self._null_start)

    def _length_for(self, longest_tokens: int) -> int | None:
        """The reading length for such rows; None where every graph reads the whole cache."""
        if not self.read_lengths:
            return None
        if self._reads_exactly:
            return longest_tokens
        return next((length for length in self.read_lengths if length >= longest_tokens), longest_tokens)
