"""The engines' lists as their authors define them, and padding to the digit."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.capture_sizes import RULES, every_size, pad, powers_of_two, sglang_sizes, total_waste_ratio, vllm_sizes
from explorer.errors import SettingsError

CASE = Path(__file__).parents[2] / "shared" / "cases" / "31-batch-buckets-257"


@pytest.mark.parametrize(("max_size", "count"), [(8, 4), (32, 7), (64, 11), (160, 23), (256, 35), (512, 51)])
def test_vllm_list_has_the_engine_s_length(max_size: int, count: int) -> None:
    sizes = vllm_sizes(max_size)
    assert len(sizes) == count
    assert sizes[-1] == max_size


@pytest.mark.parametrize(
    ("max_num_seqs", "expected"),
    [
        (3, (1, 2, 3, 4)),
        (5, (1, 2, 4, 5, 8)),
        (100, (1, 2, 4, *range(8, 97, 8), 100, *range(104, 201, 8))),
        (300, (1, 2, 4, *range(8, 256, 8), *range(256, 301, 16), 300, *range(304, 513, 16))),
    ],
)
def test_vllm_adds_the_running_limit_itself(max_num_seqs: int, expected: tuple[int, ...]) -> None:
    assert vllm_sizes(max_num_seqs=max_num_seqs) == expected


def test_vllm_token_limit_caps_the_list_and_belongs_to_it() -> None:
    assert vllm_sizes(max_num_seqs=64, batched_token_limit=100)[-2:] == (96, 100)
    assert vllm_sizes(max_num_seqs=64, batched_token_limit=8192)[-1] == 128


def test_vllm_without_any_maximum_is_refused() -> None:
    with pytest.raises(SettingsError, match="--max-num-seqs"):
        vllm_sizes()


@pytest.mark.parametrize(("max_size", "count"), [(8, 4), (32, 8), (64, 12), (160, 24), (256, 36), (512, 52)])
def test_sglang_list_has_the_engine_s_length(max_size: int, count: int) -> None:
    assert len(sglang_sizes(max_size)) == count


def test_sglang_list_ends_with_the_request_pool() -> None:
    assert sglang_sizes(256, request_pool_size=10) == (1, 2, 4, 8, 10)


@pytest.mark.parametrize(
    ("rule", "mean_percent", "worst_percent", "worst_batch"), [("vllm", 4.57, 43.75, 9), ("sglang", 4.23, 37.5, 5)]
)
def test_mean_and_worst_waste_to_256(rule: str, mean_percent: float, worst_percent: float, worst_batch: int) -> None:
    sizes = RULES[rule](256)
    wastes = {batch: pad(batch, sizes).waste_ratio or 0.0 for batch in range(1, 257)}
    assert round(100 * mean(wastes.values()), 2) == mean_percent
    assert round(100 * wastes[worst_batch], 2) == worst_percent == round(100 * max(wastes.values()), 2)


@pytest.mark.skipif(not CASE.exists(), reason="the shared cases are not beside this checkout")
def test_the_public_case_of_257_requests() -> None:
    workload = json.loads((CASE / "workload.json").read_text())
    expected = json.loads((CASE / "expected.json").read_text())["workload.json"]
    for name, sizes in workload["schedules"].items():
        paddings = [pad(batch, sizes) for batch in workload["batches"]]
        assert sum(padding.bucket or 0 for padding in paddings) == expected[name]["padded"]
        assert sum(padding.rows for padding in paddings) == expected[name]["waste"]
    assert tuple(workload["schedules"]["vllm_default_512"]) == vllm_sizes(512)
    assert [pad(batch, vllm_sizes(512)).bucket for batch in workload["batches"]] == expected["vllm_default_512"]["pads"]
    assert total_waste_ratio([pad(batch, vllm_sizes(512)) for batch in workload["batches"]]) == pytest.approx(42 / 2501)


def test_no_graph_is_neither_clipped_nor_counted_as_padding() -> None:
    padding = pad(513, vllm_sizes(512))
    assert (padding.bucket, padding.rows, padding.waste_ratio) == (None, 0, None)
    assert total_waste_ratio([padding]) is None


def test_an_empty_batch_is_refused() -> None:
    with pytest.raises(SettingsError, match="from 1"):
        pad(0, (1, 2))


@given(st.integers(1, 2048), st.sampled_from(sorted(RULES)))
def test_every_list_is_sorted_without_repeats_and_within_its_maximum(max_size: int, rule: str) -> None:
    sizes = RULES[rule](max_size)
    assert list(sizes) == sorted(set(sizes))
    assert 1 <= sizes[0] <= sizes[-1] <= max_size


@given(st.integers(1, 1000))
def test_padding_takes_the_smallest_size_that_holds_the_batch(batch: int) -> None:
    sizes = powers_of_two(1024)
    bucket = pad(batch, sizes).bucket
    assert bucket is not None
    assert batch <= bucket < 2 * batch
    assert pad(batch, every_size(1000)).rows == 0
