"""Which batch sizes do the engines capture, and to which of them is a batch padded? Plain integers.

The rules are the engines' own (vLLM 0.33, SGLang 0.5.23), reproduced exactly; sizes are rows of a batch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from explorer.errors import SettingsError

LARGEST_SIZE = 65_536


def vllm_sizes(
    max_size: int | None = None, *, max_num_seqs: int | None = None, batched_token_limit: int | None = None
) -> tuple[int, ...]:
    """vLLM's default list up to `max_size`, which follows from `max_num_seqs` where it is not given.

    1, 2, 4, then every 8th below 256, then every 16th. The running limit and the batched-token limit are sizes of
    their own, and the token limit caps the list: 64 sequences and 100 tokens end in 96, 100.
    """
    if max_size is None:
        if max_num_seqs is None:
            raise SettingsError("vLLM's list needs --max, or --max-num-seqs from which the maximum follows.")
        max_size = min(2 * max_num_seqs, 512)
    if batched_token_limit is not None:
        max_size = min(max_size, batched_token_limit)
    sizes = {size for size in (1, 2, 4) if size <= max_size}
    sizes.update(range(8, min(max_size + 1, 256), 8))
    if max_size >= 256:
        sizes.update(range(256, max_size + 1, 16))
    sizes.update(size for size in (max_num_seqs, batched_token_limit) if size is not None and size <= max_size)
    return tuple(sorted(sizes))


def sglang_sizes(max_size: int, *, request_pool_size: int | None = None) -> tuple[int, ...]:
    """SGLang's default list up to `max_size`, limited by the request pool where its size is given.

    1, 2, 4, 8, 12, then every 8th to 256, every 16th below 512, every 32nd from there; the maximum always belongs.
    """
    if request_pool_size is not None:
        max_size = min(max_size, request_pool_size)
    steps = [1, 2, 4, 8, 12, *range(16, 257, 8), *range(272, 512, 16), *range(512, max_size + 1, 32)]
    return tuple(sorted({size for size in steps if size <= max_size} | {max_size}))


def powers_of_two(max_size: int) -> tuple[int, ...]:
    """1, 2, 4, ... up to `max_size`."""
    return tuple(1 << power for power in range(max_size.bit_length()))


def every_size(max_size: int) -> tuple[int, ...]:
    """1, 2, 3, ... `max_size`: no padding, the most graphs."""
    return tuple(range(1, max_size + 1))


RULES: Mapping[str, Callable[[int], tuple[int, ...]]] = MappingProxyType(
    {"vllm": vllm_sizes, "sglang": sglang_sizes, "powers": powers_of_two, "every": every_size}
)


@dataclass(frozen=True)
class Padding:
    """One batch and what is made of it; above the largest size `bucket` is None: no graph, no padding."""

    batch: int
    bucket: int | None

    @property
    def rows(self) -> int:
        """Padded rows."""
        return 0 if self.bucket is None else self.bucket - self.batch

    @property
    def waste_ratio(self) -> float | None:
        """Padded rows / bucket, None where no graph runs."""
        return None if self.bucket is None else self.rows / self.bucket


def pad(batch: int, sizes: Sequence[int]) -> Padding:
    """The smallest of the sorted `sizes` that holds the batch: 257 among vLLM's is 272, 15 rows, 5.51 %."""
    if batch < 1:
        raise SettingsError(f"A batch of {batch} rows cannot be padded; give a whole number from 1.")
    place = bisect_left(sizes, batch)
    return Padding(batch, sizes[place] if place < len(sizes) else None)


def total_waste_ratio(paddings: Sequence[Padding]) -> float | None:
    """Σ padding / Σ bucket over the batches that run as a graph; None when none does."""
    bucket_rows = sum(padding.bucket for padding in paddings if padding.bucket is not None)
    return sum(padding.rows for padding in paddings) / bucket_rows if bucket_rows else None
