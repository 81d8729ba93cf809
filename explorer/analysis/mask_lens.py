"""Who sees whom? Which keys each query may attend to under a mask, `is_causal` or both, and what to beware of.

    is_causal, 2 queries, 5 keys      what a cache needs
    # . . . .                         # # # # .
    # # . . .                         # # # # #
    aligned upper left                aligned lower right

In a boolean `attn_mask` True attends; in `key_padding_mask` of nn.MultiheadAttention True ignores.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from explorer.units import significant

Visible = npt.NDArray[np.bool_]
"""Queries × keys; True where the query sees the key."""

_MOSTLY = 0.5


@dataclass(frozen=True)
class Lens:
    """One picture. `is_kept` marks the queries whose output is used (all but in the square trick)."""

    title: str
    visible: Visible
    sentence: str
    warnings: tuple[str, ...] = ()
    is_kept: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))

    @property
    def seen_counts(self) -> npt.NDArray[np.int64]:
        """Keys that each query sees."""
        return np.asarray(self.visible.sum(axis=1), np.int64)

    @property
    def empty_query_count(self) -> int:
        """Queries that see no key."""
        return int((self.seen_counts == 0).sum())

    @property
    def kept_queries(self) -> npt.NDArray[np.bool_]:
        return self.is_kept if len(self.is_kept) else np.ones(len(self.visible), np.bool_)

    @property
    def wasted_pair_count(self) -> int:
        """Query-key pairs computed for queries whose output is thrown away."""
        return int(self.visible[~self.kept_queries].sum())


def upper_left(query_count: int, key_count: int) -> Visible:
    """What `is_causal` means in scaled_dot_product_attention: query i sees keys 0 to i."""
    return np.tri(query_count, key_count, 0, dtype=np.bool_)


def lower_right(query_count: int, key_count: int) -> Visible:
    """What queries at the end of a cache need: the last query sees every key."""
    return np.tri(query_count, key_count, key_count - query_count, dtype=np.bool_)


def mean_attended_index(visible: Visible) -> list[float | None]:
    """The mean index of the keys that each query attends to under equal scores; None for a query that sees none."""
    keys = np.arange(visible.shape[1])
    return [float(keys[row].mean()) if row.any() else None for row in visible]


def attended_by_additive(mask: npt.NDArray[np.floating]) -> Visible:
    """Queries × keys that an additive mask leaves with a weight under equal scores.

    A query whose entries are all equal and finite attends evenly to every key, however low they are; all −inf is
    nothing.
    """
    highest = mask.max(axis=1, keepdims=True)
    # exp() of a difference beyond this is 0 in float32
    return np.asarray(np.isfinite(highest) & (mask >= np.where(np.isfinite(highest), highest, 0) - 100))


def causal_lens(query_count: int, key_count: int) -> Lens:
    """`is_causal` as PyTorch means it, with a warning where the lengths differ."""
    visible = upper_left(query_count, key_count)
    return Lens(
        "is_causal",
        visible,
        f"What is_causal does: aligned upper left. The first query sees 1 of {key_count:,} keys. {_looks_at(visible)}",
        causal_warnings(query_count, key_count),
    )


def causal_warnings(query_count: int, key_count: int) -> tuple[str, ...]:
    """What to beware of when `is_causal` is set; nothing for equal lengths."""
    if query_count == key_count:
        return ()
    seen = min(query_count, key_count)
    share = _percent(seen / key_count)
    who = "the only query" if query_count == 1 else "the last query"
    return (
        f"is_causal with {query_count:,} queries and {key_count:,} keys is aligned upper left: {who} sees {seen:,} of "
        f"{key_count:,} keys ({share}). A cache needs lower right: pass a mask or torch.nn.attention.bias."
        "causal_lower_right, or leave is_causal out for a single query.",
    )


def cache_lens(query_count: int, key_count: int) -> Lens:
    """The mask that new queries at the end of a cache need."""
    visible = lower_right(query_count, key_count)
    return Lens(
        "lower right",
        visible,
        f"What a cache needs: aligned lower right. The last query sees all {key_count:,} keys. {_looks_at(visible)}",
    )


def square_lens(query_count: int, key_count: int) -> Lens:
    """Extend run as a causal square: the real queries stand in the last rows, the others are uninitialised."""
    visible = upper_left(key_count, key_count)
    is_kept = np.arange(key_count) >= key_count - query_count
    lens = Lens("the square trick", visible, "", (), is_kept)
    wasted, computed = lens.wasted_pair_count, int(visible.sum())
    sentence = (
        f"The square trick: real queries in the last {query_count:,} rows; {key_count - query_count:,} rows of work "
        f"are thrown away, {wasted:,} of {computed:,} pairs ({_percent(wasted / computed)})."
    )
    return Lens(lens.title, visible, sentence, (), is_kept)


def boolean_lens(visible: Visible, *, is_causal: bool = False) -> Lens:
    """A boolean `attn_mask` as scaled_dot_product_attention reads it: True attends."""
    key_count = visible.shape[1]
    lens = Lens("boolean mask", visible, "")
    low, high = int(lens.seen_counts.min()), int(lens.seen_counts.max())
    seen = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    sentence = f"True attends: each query sees {seen} of {key_count:,} keys."
    warnings = mask_warnings(visible) + (both_warnings() if is_causal else ())
    return Lens(lens.title, visible, sentence, warnings)


def mask_warnings(visible: Visible) -> tuple[str, ...]:
    """What looks wrong about a boolean mask: a padding mask passed as it is, and queries that see nothing."""
    found = []
    share = float(visible.mean())
    if _keeps_only_the_tail(visible):
        found.append(
            "The mask keeps exactly the tail of the keys, as a key_padding_mask does: there True means ignore, here "
            f"True attends. Every query sees {int(visible[0].sum()):,} of {visible.shape[1]:,} keys; pass the opposite."
        )
    elif share < _MOSTLY and not _is_causal_like(visible):
        found.append(
            f"The mask is mostly False: {_percent(share)} of its pairs attend. In attn_mask True attends; in "
            "key_padding_mask it ignores."
        )
    empty = int((~visible.any(axis=1)).sum())
    if empty:
        found.append(
            f"{empty:,} of {len(visible):,} queries see no key. Their output depends on the version and on how minus "
            "infinity is written (0, NaN, or the mean of all values for a finite minimum): do not use it."
        )
    return tuple(found)


def both_warnings() -> tuple[str, ...]:
    """A mask and `is_causal` in one call."""
    return (
        "A mask and is_causal together raise an error in most versions: write the causal part into the mask instead.",
    )


def padding_lenses(key_count: int, padded_count: int) -> tuple[Lens, Lens]:
    """(the mask that keeps the real keys, the same as a `key_padding_mask` passed as it is), one query."""
    keep = np.arange(key_count)[None, :] < key_count - padded_count
    right, wrong = boolean_lens(keep), boolean_lens(~keep)
    passed = "key_padding_mask passed as it is"
    sentence = f"A {passed}: the query sees {padded_count:,} of {key_count:,} keys, the padding."
    return right, Lens(passed, wrong.visible, sentence, wrong.warnings)


def _looks_at(visible: Visible) -> str:
    """Where the last query looks if all scores are equal."""
    place = mean_attended_index(visible)[-1]
    return "" if place is None else f"Under equal scores it looks at key {significant(place, 2)} on average."


def _percent(ratio: float) -> str:
    """Three digits: here an eighth is 12.5 %."""
    return f"{significant(ratio * 100)} %"


def left_padded_lens(key_count: int, padded_count: int, *, is_additive: bool = False) -> Lens:
    """A causal mask over a row that is padded at its left: the padded queries are left with no key at all.

    Written as an additive mask with the lowest finite number, those queries attend evenly to every key instead.
    """
    visible = upper_left(key_count, key_count) & (np.arange(key_count) >= padded_count)
    empty = int((~visible.any(axis=1)).sum())
    if not is_additive:
        sentence = f"Padding at the left under a causal mask: {empty:,} queries see nothing."
        return Lens("left padding", visible, sentence, mask_warnings(visible))
    added = np.where(visible, 0.0, float(np.finfo(np.float32).min))
    sentence = f"The same as an additive mask of the lowest number: {empty:,} queries attend evenly to every key."
    warning = f"{sentence} Their output is the mean of all values, padding and future included: do not use it."
    return Lens("left padding, additive", attended_by_additive(added), sentence, (warning,) if empty else ())


def _keeps_only_the_tail(visible: Visible) -> bool:
    """All queries see the same keys, and those are the last ones and not all."""
    first = visible[0]
    if not (visible == first).all() or first.all() or not first.any():
        return False
    return bool(first[int(first.argmax()) :].all() and not first[0])


def _is_causal_like(visible: Visible) -> bool:
    """Past padding at the left, each query sees one key more than the one before it: half is False by right."""
    first = int(visible.any(axis=0).argmax())
    seen = visible[visible.any(axis=1), first:]
    one_more = (np.diff(seen.sum(axis=1)) == 1).all()
    return bool(len(seen) > 1 and one_more and (seen[:, :-1] >= seen[:, 1:]).all())
