"""How does a big trace for benchmarks come about? Repeated steps of operators, launches, kernels and flow arrows.

    python tests/benchmarks/generate.py 1000000 big.json

writes a document of that many events, about 330 bytes each, as a profiler of 2025 formats them. Names and shapes vary
as in a transformer's step; times are nanoseconds as decimals of microseconds since boot.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

EVENTS_PER_KERNEL = 5
KERNELS_PER_STEP = 1726
_START_US = 5_127_258_674_058
_KERNELS = tuple(
    name.format(size)
    for size in range(24)
    for name in (
        "nvjet_sm90_tst_{0}x64_64x16_2x1_v_bz_TNN",
        "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, "
        "c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, {0}ul> >(int, at::native::"
        "BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16>, std::array<char*, {0}ul>)",
        "triton_per_fused__to_copy__unsafe_view_add_mean_mul_pow_rsqrt_{0}",
    )
)
_OPERATORS = ("aten::mm", "aten::mul", "aten::add", "aten::pow", "aten::mean", "aten::silu", "aten::copy_", "aten::cat")
_HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [
    {"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150109880320, "computeMajor": 9, "computeMinor": 0}
  ],
  "record_shapes": 1,
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": [
  {
    "name": "process_name", "ph": "M", "ts": 5127258674058.418, "pid": 0, "tid": 0,
    "args": {
      "name": "python"
    }
  }"""


def events(count: int) -> Iterator[str]:
    """About `count` events as text, each beginning with its comma."""
    now_ns = _START_US * 1000
    for number in range(count // EVENTS_PER_KERNEL):
        if number % KERNELS_PER_STEP == 0:
            yield _step(number // KERNELS_PER_STEP, now_ns)
        yield _kernel_and_its_launch(number, now_ns)
        now_ns += 9_000 + 37 * (number % 101)


def _us(time_ns: int) -> str:
    return f"{time_ns // 1000}.{time_ns % 1000:03d}"


def _step(index: int, now_ns: int) -> str:
    return f""",
  {{
    "ph": "X", "cat": "user_annotation", "name": "step#{index}", "pid": 417, "tid": 417,
    "ts": {_us(now_ns - 500)}, "dur": {_us(KERNELS_PER_STEP * 10_800)},
    "args": {{
      "External id": {900_000_000 + index},"Record function id": 0, "Ev Idx": {index}
    }}
  }}"""


def _kernel_and_its_launch(number: int, now_ns: int) -> str:
    kernel, operator = _KERNELS[number * 7 % len(_KERNELS)], _OPERATORS[number % len(_OPERATORS)]
    launch_ns, work_ns, rows = now_ns + 2_300, now_ns + 7_100 + number % 13, 1 << (number % 11)
    duration_ns = 1_200 + 311 * (number % 23)
    return f""",
  {{
    "ph": "X", "cat": "cpu_op", "name": "{operator}", "pid": 417, "tid": 417,
    "ts": {_us(now_ns)}, "dur": {_us(7_900)},
    "args": {{
      "External id": {number + 1},"Record function id": 0, "Concrete Inputs": ["", ""], "Input type": ["c10::BFloat16", "c10::BFloat16"], "Input Strides": [[1024, 1], [1, 1024]], "Input Dims": [[{rows}, 1024], [1024, 3072]], "Ev Idx": {number}
    }}
  }},
  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 417, "tid": 417,
    "ts": {_us(launch_ns)}, "dur": {_us(4_100)},
    "args": {{
      "External id": {number + 1},"cbid": 211, "correlation": {number + 1}
    }}
  }},
  {{
    "ph": "s", "id": {number + 1}, "pid": 417, "tid": 417, "ts": {_us(launch_ns)},
    "cat": "ac2g", "name": "ac2g"
  }},
  {{
    "ph": "X", "cat": "kernel", "name": "{kernel}", "pid": 0, "tid": 7,
    "ts": {_us(work_ns)}, "dur": {_us(duration_ns)},
    "args": {{
      "External id": {number + 1},
      "queued": 0, "device": 0, "context": 1,
      "stream": 7, "correlation": {number + 1},
      "registers per thread": 32,
      "shared memory": 0,
      "blocks per SM": 0.{number % 1000:03d}576,
      "warps per SM": 0.060606,
      "grid": [{rows}, 1, 1],
      "block": [128, 1, 1],
      "est. achieved occupancy %": {number % 64}
    }}
  }},
  {{
    "ph": "f", "id": {number + 1}, "pid": 0, "tid": 7, "ts": {_us(work_ns)},
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  }}"""  # noqa: E501, one event as the profiler writes it


def write_trace(path: Path, event_count: int) -> None:
    """Writes a document of about that many events."""
    with path.open("w", encoding="utf-8") as file:
        file.write(_HEAD)
        for text in events(event_count):
            file.write(text)
        file.write('\n  ],\n  "traceName": "generated"\n}\n')


if __name__ == "__main__":
    write_trace(Path(sys.argv[2]), int(sys.argv[1]))
