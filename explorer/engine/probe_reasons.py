"""What does PyTorch's sentence of refusal mean in plain words?

The sentence decides, and it is always shown beside the words: a sentence that no row knows is its own explanation.
Sentences as in torch 2.9 to 2.14 (aten/src/ATen/native/transformers/sdp_utils*).
"""

from __future__ import annotations

import re

NOT_IN_THIS_BUILD = "not given by this build"

_MEANINGS: tuple[tuple[str, str], ...] = (
    (r"No viable backend|not compiled with|not given by this build", NOT_IN_THIS_BUILD),
    (r"does not support non-null attn_mask", "takes no mask"),
    (r"is_causal flag when seqlen_q != seqlen_k", "takes no is_causal with unequal lengths"),
    (
        r"same last dimension and to be less than or equal to (?P<limit>\d+)",
        "head sizes must be equal and at most {limit}",
    ),
    (r"same last dimension", "keys and values must have the same head size"),
    (r"head_dim should be no more than (?P<limit>\d+)", "head size at most {limit}"),
    (r"(?:divisible by|multiple of) (?P<step>\d+)", "head size must be a multiple of {step}"),
    (r"of dtype: \{(?P<dtypes>[^}]*)\}", "takes only {dtypes}"),
    (r"batch_size and num_heads|same num_heads|head_count", "takes no grouped heads"),
    (r"have the same batch_size", "needs one number of rows for queries, keys and values"),
    (r"last dimension of the input to have stride 1", "the last dimension must be contiguous"),
    (r"following attn mask shapes|attn_mask.*(?:shape|dim)", "takes masks of 2 or 4 dimensions only"),
    (r"dropout probability resolution", "takes dropout in sixteenths only"),
    (r"with dropout", "takes no dropout with one query"),
    (r"dropout", "takes no dropout"),
    (r"sequence length 1", "takes no single key"),
    (r"zero seq_len", "takes no empty sequence"),
    (r"4 dimensional", "needs four dimensions"),
    (r"only supports gpu architectures", "not for this GPU's generation"),
    (r"not deterministic", "is not deterministic, and determinism was asked for"),
    (r"runtime disabled", "switched off in this process"),
    (r"Explicit attn_mask should not be set when is_causal", "a mask and is_causal exclude each other"),
    (r"out of memory|[Tt]ried to allocate|can't allocate", "ran out of memory"),
    (r"No available kernel", "refuses these tensors"),
)
_PLACES = r"\(Triggered internally at|\(function \w+\)"
_LONGEST = 400
_DTYPE_NAMES = (("BFloat16", "bfloat16"), ("Half", "float16"), ("Float", "float32"), ("Double", "float64"))


def reason_of(sentence: str) -> str:
    """The first failing condition in plain words; the sentence itself where no row knows it."""
    for pattern, meaning in _MEANINGS:
        found = re.search(pattern, sentence)
        if found:
            given = {name: _plain(text) for name, text in found.groupdict().items()}
            return meaning.format(**given)
    return sentence or "refused without a sentence"


def clean_sentence(text: str) -> str:
    """PyTorch's sentence without the place in its source, its function and without a traceback behind it.

    A compiler in another process says only that something happened there; what did stands in the last line.
    """
    lines = [line.strip() for line in re.split(_PLACES, text)[0].splitlines() if line.strip()] or [""]
    return (lines[-1] if lines[0].endswith("in a subprocess:") else lines[0])[:_LONGEST]


def _plain(text: str) -> str:
    for theirs, ours in _DTYPE_NAMES:
        text = re.sub(rf"\b(?:c10::)?{theirs}\b", ours, text)
    return text
