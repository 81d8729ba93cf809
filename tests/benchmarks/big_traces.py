"""Which recordings do the timeline's benchmarks look at? Written here, of any size, the same for the same seed.

    python tests/benchmarks/big_traces.py FOLDER [KERNELS]

Steps of 1,700 kernels each with its launch, in FOLDER/samples/: an eager run that waits for its host, and one that
hardly does. Every kernel has one of eight real names, so that the families and their shares look like a decode step.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from explorer.facts import Facts, facts_to_json
from explorer.recording import create_recording, write_json
from explorer.settings import Mode, RunSettings

KERNELS_A_STEP = 1700
_NAMES = (
    "nvjet_sm90_tst_128x8_64x12_2x1_v_bz_TNT",
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float>>",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>",
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>",
    "pytorch_flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>>",
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast>",
    "triton_red_fused_add_mean_mul_pow_rsqrt_3",
    "void at::native::index_elementwise_kernel<128, 4, at::native::index_copy_kernel_impl>",
)
_SHARES = (0.14, 0.42, 0.13, 0.12, 0.03, 0.1, 0.04, 0.02)
_BATCH = 100_000


def write_recording(folder: Path, kernel_count: int, mode: Mode, *, idle_ns: int, seed: int) -> None:
    """One recording with that many kernels and about that much idle time after each."""
    settings = RunSettings(model="qwen3-0.6b", device="cuda", mode=mode)
    recording = create_recording(folder, settings)
    write_json(folder / "facts.json", facts_to_json(Facts(state="finished", settings_title=settings.title)))
    with gzip.open(recording.trace_path, "wb", compresslevel=1) as file:
        for text in _events(kernel_count, idle_ns, np.random.default_rng(seed)):
            file.write(text.encode())


def _events(kernel_count: int, idle_ns: int, random: np.random.Generator) -> Iterator[str]:
    kind = random.choice(len(_NAMES), kernel_count, p=_SHARES)
    duration = np.where(kind == 0, random.integers(3000, 9000, kernel_count), random.integers(900, 2600, kernel_count))
    start = np.cumsum(duration + random.integers(idle_ns // 2, idle_ns * 3 // 2, kernel_count)) - duration + 50_000
    call = start - random.integers(6000, 9000, kernel_count)
    call_ns = np.minimum(random.integers(2500, 4500, kernel_count), start - call - 300)
    yield '{"schemaVersion": 1, "baseTimeNanoseconds": 1747102400123456000, "traceEvents": [\n'
    for first in range(0, kernel_count, _BATCH):
        rows = range(first, min(first + _BATCH, kernel_count))
        yield "".join(_pair(i, _NAMES[kind[i]], start[i], duration[i], call[i], call_ns[i]) for i in rows)
    steps = range(0, kernel_count, KERNELS_A_STEP)
    for number, first in enumerate(steps):
        last = min(first + KERNELS_A_STEP, kernel_count) - 1
        begin, length = call[first] - 2000, call[last] + call_ns[last] - call[first] + 2500
        yield _event("user_annotation", f"step#{number}", 1, 1, begin, length, "{}") + (
            "" if last == kernel_count - 1 else ",\n"
        )
    yield "]}"


def _pair(i: int, name: str, start: int, duration: int, call: int, call_ns: int) -> str:
    link = f'{{"correlation": {i + 1}}}'
    extra = f'{{"correlation": {i + 1}, "device": 0, "stream": 7, "grid": [8, 1, 1], "block": [128, 1, 1]}}'
    launch = _event("cuda_runtime", "cudaLaunchKernel", 1, 1, call, call_ns, link)
    return f"{launch},\n{_event('kernel', name, 0, 7, start, duration, extra)},\n"


def _event(category: str, name: str, process: int, thread: int, start: int, duration: int, arguments: str) -> str:
    begin, length = (f"{time // 1000}.{time % 1000:03d}" for time in (start, duration))
    return (
        f'{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": {process}, "tid": {thread}, '
        f'"ts": {begin}, "dur": {length}, "args": {arguments}}}'
    )


def write_pair(folder: Path, kernel_count: int) -> None:
    """`folder/samples` with an eager and a CUDA-graph-like recording of that many kernels each, and empty `runs`."""
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    write_recording(folder / "samples" / "1-eager", kernel_count, "eager", idle_ns=20_000, seed=1)
    write_recording(folder / "samples" / "2-graph", kernel_count, "compile_cuda_graph", idle_ns=1_000, seed=2)


if __name__ == "__main__":
    write_pair(Path(sys.argv[1]), int(float(sys.argv[2])) if len(sys.argv) > 2 else 1_000_000)
