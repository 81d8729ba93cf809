"""Do PyTorch's sentences of refusal become plain words, and unknown ones stay as they are?"""

from __future__ import annotations

import pytest

from explorer.engine.probe_reasons import clean_sentence, reason_of


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("Flash Attention does not support non-null attn_mask.", "takes no mask"),
        (
            "Flash attention requires q,k,v to have the same last dimension and to be less than or equal to 256. Got",
            "head sizes must be equal and at most 256",
        ),
        ("head_dim should be no more than 128", "head size at most 128"),
        (
            "Expected query, key and value to all be of dtype: {Half, BFloat16}. Got Query dtype: float",
            "takes only float16, bfloat16",
        ),
        (
            "For dense input, both fused kernels require query, key and value to have the same num_heads. Query",
            "takes no grouped heads",
        ),
        (
            "Flash attention does not support the is_causal flag when seqlen_q != seqlen_k. Got seqlen_q: 1",
            "takes no is_causal with unequal lengths",
        ),
        ("Something that is new in torch 3", "Something that is new in torch 3"),
        ("", "refused without a sentence"),
    ],
)
def test_sentence_becomes_plain_words(sentence: str, words: str) -> None:
    assert reason_of(sentence) == words


def test_error_of_a_compiler_in_another_process_is_its_last_line() -> None:
    raw = "SubprocException: An exception occurred in a subprocess:\n\nTraceback ...\nRuntimeError: no float64 here\n"
    assert clean_sentence(raw) == "RuntimeError: no float64 here"


def test_sentence_loses_its_place_in_the_source() -> None:
    raw = "Takes no mask. (Triggered internally at /build/sdp.cpp:99.)\n traceback"
    assert clean_sentence(raw) == "Takes no mask."
