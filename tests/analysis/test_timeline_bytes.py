"""Are the bytes that a kernel must move those of its operator's tensors?"""

from __future__ import annotations

import json
from typing import Any

import pytest

from explorer.analysis.timeline_bytes import moved_bytes
from tests.reading import trace_of_events


def bytes_of(
    name: str, dims: list[Any], types: list[str], strides: list[Any] | None = None, kernels: int = 1
) -> int | None:
    """Moved bytes of one operator that launched that many kernels."""
    place = {"pid": 1, "tid": 1}
    arguments: dict[str, Any] = {"Input Dims": dims, "Input type": types}
    if strides is not None:
        arguments["Input Strides"] = strides
    events = [{"ph": "X", "cat": "cpu_op", "name": name, "ts": 0, "dur": 100, "args": arguments, **place}]
    for number in range(kernels):
        link = {"correlation": number + 1}
        events.append(
            {
                "ph": "X",
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "ts": 10 + 10 * number,
                "dur": 5,
                "args": link,
                **place,
            }
        )
        device = {"device": 0, "stream": 7, **link}
        events.append(
            {
                "ph": "X",
                "cat": "kernel",
                "name": "k",
                "ts": 200 + 10 * number,
                "dur": 5,
                "pid": 0,
                "tid": 7,
                "args": device,
            }
        )
    return moved_bytes(trace_of_events(json.loads(json.dumps(events))), 0)


@pytest.mark.parametrize(
    ("name", "dims", "types", "expected"),
    [
        ("aten::mm", [[2, 3], [3, 5]], ["float", "float"], (6 + 15 + 10) * 4),
        ("aten::bmm", [[7, 2, 3], [7, 3, 5]], ["c10::Half", "c10::Half"], 7 * (6 + 15 + 10) * 2),
        ("aten::addmm", [[5], [2, 3], [3, 5], [], []], ["float"] * 3 + ["Scalar"] * 2, (5 + 6 + 15 + 10) * 4),
        ("aten::add", [[4, 8], [8], []], ["c10::BFloat16", "c10::BFloat16", "Scalar"], (32 + 8 + 32) * 2),
        ("aten::copy_", [[4, 8], [4, 8], []], ["float", "c10::BFloat16", "Scalar"], 32 * 4 + 32 * 2),
        ("aten::silu", [[10]], ["double"], 160),
        ("aten::mul", [[4], [4]], ["float", "c10::complex<float>"], 4 * 4 + 4 * 8 + 4 * 8),
        ("aten::abs", [[4]], ["c10::complex<float>"], 4 * 8 + 4 * 4),
        ("aten::copy_", [[4], [4]], ["c10::BFloat16", "unsigned short"], 4 * 2 + 4 * 2),
        ("triton_poi_fused_0", [[4], [4], []], ["c10::BFloat16", "c10::Float8_e4m3fn", "Scalar"], 4 * 2 + 4),
    ],
)
def test_known_operators(name: str, dims: list[Any], types: list[str], expected: int) -> None:
    assert bytes_of(name, dims, types) == expected


def test_a_dimension_of_stride_0_is_read_once() -> None:
    assert bytes_of("aten::mul", [[4, 8], [4, 8]], ["float", "float"], [[8, 1], [0, 1]]) == (32 + 8 + 32) * 4


def test_generated_kernels_move_all_their_tensors_once() -> None:
    assert bytes_of("triton_poi_fused_add_0", [[4, 8], [4, 8], []], ["float", "float", "Scalar"]) == 256


def test_a_product_with_its_output_given_moves_as_much_as_without() -> None:
    shapes, types = [[1, 8], [8, 4], [1, 4]], ["float", "float", "float"]
    assert bytes_of("aten::mm", shapes, types) == bytes_of("aten::mm", shapes[:2], types[:2]) == (8 + 32 + 4) * 4


@pytest.mark.parametrize("name", ["aten::convolution", "aten::index", "triton_poi_fused_index_add_0"])
def test_other_operators_are_unknown_not_zero(name: str) -> None:
    assert bytes_of(name, [[4, 8], [4, 8]], ["float", "float"]) is None


@pytest.mark.parametrize("name", ["aten::add", "triton_poi_fused_add_0"])
def test_a_tensor_of_an_unknown_type_makes_the_bytes_unknown(name: str) -> None:
    assert bytes_of(name, [[4], [4], []], ["float", "c10::Float4_e2m1fn_x2", "Scalar"]) is None


def test_an_operator_of_several_kernels_is_unknown() -> None:
    assert bytes_of("aten::mm", [[2, 3], [3, 5]], ["float", "float"], kernels=2) is None


def test_shapes_that_do_not_fit_are_unknown_types() -> None:
    assert bytes_of("aten::add", [[[4], [2]], []], ["TensorList", "Scalar"]) is None
