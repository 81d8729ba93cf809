"""How is a step cut at attention, each piece between two attention calls being a graph of its own?

    piece 0       embedding, angles, slots; layer 0 up to its queries, keys and values
    attention 0   outside: writes them to the cache, reads the cache
    piece 1       layer 0 from its output projection on; layer 1 up to its queries, keys and values
    ...
    piece 28      layer 27 from its output projection on; norm and logits

28 layers make 29 pieces and 28 attention calls. A piece sees tokens and nothing of which rows they belong to, so one
set of pieces serves a decode and a mixed batch of as many tokens; what differs is attention, and that is called
plainly, on the real tokens only. This is what vLLM's PIECEWISE does; its pieces keep no output alive, ours do.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch

from explorer.engine.attention import under_backend
from explorer.engine.graphs import Capture, require_shape
from explorer.engine.model import Attention, DecoderLayer, Qwen3, StepInputs

QueriesKeysValues = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
Attend = Callable[[Attention, QueriesKeysValues, StepInputs, torch.Tensor], None]
"""Called between two pieces; writes attention's output BLHD into the last argument, where the next piece reads it."""
RunPiece = Callable[[int, Callable[[], Any]], Any]
"""(index of the piece, its work) → its outputs: calls the work, records it, or replays what was recorded."""


class Inputs(NamedTuple):
    """A step's inputs: tokens, position of each row's first, and the cache slot where its row starts."""

    tokens_BL: torch.Tensor
    positions_B: torch.Tensor
    starts_B: torch.Tensor


def first_piece(
    model: Qwen3, tokens_BL: torch.Tensor, positions_B: torch.Tensor, starts_B: torch.Tensor
) -> tuple[torch.Tensor, QueriesKeysValues, StepInputs]:
    """Hidden states BLE, what the first layer's attention takes, and what all layers share."""
    x_BLE: torch.Tensor = model.embed_tokens(tokens_BL)
    step = model.step_inputs(tokens_BL, positions_B, starts_B)
    return x_BLE, _layer(model, 0).before_attention(x_BLE, step), step


def piece_between(
    layer: DecoderLayer, following: DecoderLayer, x_BLE: torch.Tensor, attended_BLHD: torch.Tensor, step: StepInputs
) -> tuple[torch.Tensor, QueriesKeysValues]:
    """One layer's second half and the next one's first: hidden states and what the next attention takes."""
    x_BLE = layer.after_attention(x_BLE, attended_BLHD)
    return x_BLE, following.before_attention(x_BLE, step)


def last_piece(model: Qwen3, layer: DecoderLayer, x_BLE: torch.Tensor, attended_BLHD: torch.Tensor) -> torch.Tensor:
    """Logits BV after each row's last token."""
    x_BLE = model.norm(layer.after_attention(x_BLE, attended_BLHD))
    return model.logits(x_BLE[:, -1])


@dataclass(frozen=True)
class PieceFunctions:
    """The three functions that make up every step: all pieces between share one."""

    first: Callable[..., Any] = first_piece
    between: Callable[..., Any] = piece_between
    last: Callable[..., Any] = last_piece


def compiled_functions(mode: str | None) -> PieceFunctions:
    """The same under torch.compile, one compilation a function: layers of one shape share it."""
    first, between, last = (
        torch.compile(function, fullgraph=True, dynamic=False, mode=mode)
        for function in (first_piece, piece_between, last_piece)
    )
    return PieceFunctions(first, between, last)


def attend_all(attention: Attention, new: QueriesKeysValues, step: StepInputs, attended_BLHD: torch.Tensor) -> None:
    """Every row's attention, as the uncut step computes it."""
    with under_backend(attention.policy.backend):
        attended_BLHD.copy_(attention(*new, step))


def attend_mixed(decode_count: int, prompt_count: int, read_tokens: int | None = None) -> Attend:
    """Attention of a flat batch of tokens BL, L = 1: rows that decode, then one row's new prompt, then padding.

    Padded tokens are written (to the slots that they were given) and never read, and their output stays what it was.
    `read_tokens` replaces the length that the pieces were made with.
    """

    def attend(attention: Attention, new: QueriesKeysValues, step: StepInputs, attended_BLHD: torch.Tensor) -> None:
        q_BLHD, k_BLKD, v_BLKD = new
        if read_tokens is not None:
            step = step._replace(read_tokens=read_tokens)
        attention.write(k_BLKD, v_BLKD, step.slots_N)
        with under_backend(attention.policy.backend):
            if decode_count:
                mask_B11T = None if step.mask_B11S is None else step.mask_B11S[:decode_count]
                # A decode reads the cache, so its keys and values are not looked at.
                out_BLHD = attention.read(q_BLHD[:decode_count], k_BLKD, v_BLKD, step._replace(mask_B11S=mask_B11T))
                attended_BLHD[:decode_count].copy_(out_BLHD)
            if prompt_count:
                prompt = slice(decode_count, decode_count + prompt_count)
                q_1LHD, k_1LKD, v_1LKD = (tensor[prompt].transpose(0, 1) for tensor in new)
                out_1LHD = attention.read(q_1LHD, k_1LKD, v_1LKD, step._replace(mask_B11S=None))
                attended_BLHD[prompt].copy_(out_1LHD.transpose(0, 1))

    return attend


def no_scope(_name: str) -> AbstractContextManager[Any]:
    """No annotation: only profiled steps name their pieces."""
    return contextlib.nullcontext()


class Pieces:
    """A step's pieces over fixed input buffers: called plainly until `capture`, replayed afterwards.

    `scope` is a seam: it may annotate `piece#i` and `attention#i` for the profiler.
    """

    def __init__(self, model: Qwen3, inputs: Inputs, functions: PieceFunctions | None = None) -> None:
        self._model = model
        self._functions = functions or PieceFunctions()
        self._inputs = inputs
        self._replays: list[Callable[[], object]] = []
        self._outputs: list[Any] = []
        self.scope: Callable[[str], AbstractContextManager[Any]] = no_scope
        shape, weight = model.shape, model.embed_tokens.weight
        size = (*inputs.tokens_BL.shape, shape.query_head_count, shape.head_size)
        self._attended_BLHD = torch.zeros(size, dtype=weight.dtype, device=weight.device)

    @property
    def piece_count(self) -> int:
        return len(self._replays)

    def capture(self, capture: Capture) -> None:
        """Records every piece; attention is called by nobody, since recording computes nothing."""
        replays: list[Callable[[], object]] = []

        def record(_index: int, work: Callable[[], Any]) -> Any:
            replay, outputs = capture(work)
            replays.append(replay)
            self._outputs.append(outputs)
            return outputs

        self._walk(self._inputs, record, lambda *_: None)
        self._replays = replays

    def plain(self, attend: Attend = attend_all, inputs: Inputs | None = None) -> torch.Tensor:
        """Logits of a step whose pieces are called without their graphs: the same kernels in the same order."""
        return self._walk(inputs or self._inputs, lambda _index, work: work(), attend)

    def replay(self, attend: Attend = attend_all) -> torch.Tensor:
        """Logits for what the input buffers hold; the next replay overwrites them."""

        def replayed(index: int, _work: Callable[[], Any]) -> Any:
            self._replays[index]()
            return self._outputs[index]

        return self._walk(self._inputs, replayed, attend)

    def _walk(self, inputs: Inputs, run: RunPiece, attend: Attend) -> torch.Tensor:
        model, attended_BLHD = self._model, self._attended_BLHD
        x_BLE, new, step = self._run_piece(run, 0, partial(self._functions.first, model, *inputs))
        for index in range(model.shape.layer_count):
            layer = _layer(model, index)
            with self.scope(f"attention#{index}"):
                attend(layer.self_attn, new, step, attended_BLHD)
            if index + 1 < model.shape.layer_count:
                following = _layer(model, index + 1)
                between = partial(self._functions.between, layer, following, x_BLE, attended_BLHD, step)
                x_BLE, new = self._run_piece(run, index + 1, between)
        last = partial(self._functions.last, model, layer, x_BLE, attended_BLHD)
        logits_BV: torch.Tensor = self._run_piece(run, model.shape.layer_count, last)
        return logits_BV

    def _run_piece(self, run: RunPiece, index: int, work: Callable[[], Any]) -> Any:
        with self.scope(f"piece#{index}"):
            return run(index, work)


class PiecewiseStep:
    """A step as pieces and attention calls: new inputs are copied into the pieces' own buffers, then replayed."""

    def __init__(
        self, model: Qwen3, tokens_BL: torch.Tensor, positions_B: torch.Tensor, functions: PieceFunctions | None = None
    ) -> None:
        self._inputs = Inputs(tokens_BL.clone(), positions_B.clone(), model.row_starts_B[: len(tokens_BL)])
        self.pieces = Pieces(model, self._inputs, functions)

    def note(self) -> str:
        """What the step was cut into, for the reader of a recording."""
        count = self.pieces.piece_count
        return f"The step was recorded as {count} graphs, with {count - 1} attention calls between them."

    def captured(self, tokens_BL: torch.Tensor, positions_B: torch.Tensor) -> torch.Tensor:
        """The step without its graphs."""
        return self.pieces.plain(inputs=Inputs(tokens_BL, positions_B, self._inputs.starts_B))

    def __call__(self, tokens_BL: torch.Tensor, positions_B: torch.Tensor) -> torch.Tensor:
        require_shape(self._inputs.tokens_BL, tokens_BL)
        # Both inputs in one kernel, as for a whole graph.
        torch._foreach_copy_([self._inputs.tokens_BL, self._inputs.positions_B], [tokens_BL, positions_B])
        return self.pieces.replay()


def _layer(model: Qwen3, index: int) -> DecoderLayer:
    layer = model.layers[index]
    assert isinstance(layer, DecoderLayer)
    return layer
