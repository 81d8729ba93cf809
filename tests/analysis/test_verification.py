"""Does the card say in words where the error is rounding, and keep the steady step apart?"""

from __future__ import annotations

from typing import Any

import pytest

from explorer.analysis.verification import growth_words, steady_of
from explorer.charts.layer_errors import LayerErrors, layer_errors
from explorer.charts.theme import theme_named
from explorer.facts import Correctness, Facts


def checked(**fields: Any) -> Correctness:
    return Correctness(
        **{
            "logits_error_ratio": 0.015,
            "kv_cache_error_ratio": 0.01,
            "token_agreement_ratio": 1.0,
            "compared_token_count": 8,
            "error_limit_ratio": 0.05,
            "passed": True,
            "layer_error_ratios": [0.004, 0.012, 0.018],
            **fields,
        }
    )


def test_an_older_recording_says_that_layers_were_not_compared() -> None:
    assert "older" in growth_words(checked(layer_error_ratios=[]))


def test_growing_slowly_is_rounding() -> None:
    assert growth_words(checked()) == "The error grows from 0.40 % to 1.8 % over 3 layers: rounding."


def test_the_first_layer_that_is_off_is_named_with_where_to_look() -> None:
    words = growth_words(checked(layer_error_ratios=[0.004, 0.012, 0.25], first_diverging_layer=2, passed=False))
    assert "Up to layer 1 it is rounding" in words
    assert "layer 1's attention or MLP" in words
    assert "25 %" in words


def test_the_first_layer_of_all_points_at_tokens_and_positions() -> None:
    words = growth_words(checked(layer_error_ratios=[0.9, 0.9, 0.9], first_diverging_layer=0, passed=False))
    assert "the tokens, the positions" in words


def test_logits_alone_point_behind_the_last_keys_and_values() -> None:
    assert "the last layer's attention or MLP" in growth_words(checked(logits_error_ratio=0.3, passed=False))


def test_steady_percentiles_and_rate() -> None:
    steady = steady_of(Facts(steady_latencies_ns=list(range(1, 102)), tokens_per_step=2))
    assert steady is not None
    assert (steady.p50_ns, steady.p90_ns, steady.p99_ns) == (51, 91, 100)
    assert steady.tokens_per_s == pytest.approx(2 / 51e-9)
    assert steady_of(Facts()) is None


def test_the_figure_holds_every_layer_and_marks_the_diverging_one() -> None:
    runs = [LayerErrors("A", (0.0, 0.01), 0.05), LayerErrors("B", (0.01, float("inf")), 0.05, 1)]
    figure = layer_errors(runs, theme_named("light"))
    a, b = figure.data
    (allowed,) = [one for one in figure.layout.annotations if one.text == "5.0 % allowed"]
    assert 10**allowed.y == pytest.approx(0.05)
    assert list(a.y) == [1e-9, 0.01]
    assert list(b.y) == [0.01, 10.0]
    assert list(b.marker.symbol) == ["circle", "x"]
    assert [a.line.dash, b.line.dash] == ["solid", "dash"]
