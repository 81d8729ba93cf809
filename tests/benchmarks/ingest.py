"""How fast is a trace read, against the tools that people have? Seconds and peak memory, all in one run on one machine.

    python tests/benchmarks/ingest.py
    python tests/benchmarks/ingest.py --events 100000 --traces --without hta tb
    python tests/benchmarks/ingest.py --traces FILE --trace-processor PATH/TO/trace_processor_shell

HTA and torch-tb-profiler are installed into environments of their own, in `--folder`, on first use. Every reading is a
process of its own; its seconds start after its imports, its memory is the process' peak, imports and all. Short
readings, of every tool alike, are repeated in up to five rounds, so that a slow minute of the machine meets all of
them, and each tool's fastest counts.

The limits (ingest_limits.py) are judged by wall seconds, since waiting is what people do. CPU seconds stand beside
them: two threads read, and another load on the machine changes CPU seconds less. Exits 1 when a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.generate import write_trace
from tests.benchmarks.ingest_limits import Measured, verdicts
from tests.shared import SHARED

_REAL = (SHARED / "traces" / "v100_rank1_large_memory_nccl.json.gz",)
_MOST_READINGS, _WORTH_REPEATING_S = 5, 12.0
_LONGEST_COMPILATION_S = 120.0
_OURS = """
import sys, time
from pathlib import Path
{imports}
began, cpu = time.perf_counter(), time.process_time()
{work}
print("measured", time.perf_counter() - began, time.process_time() - cpu)
"""
_REPORT = "report_object({trace}, 'trace')"
_IMPORTS = "from explorer.analysis.machine_output import report_object"
_READINGS = {
    "explorer, fast": (
        f"{_IMPORTS}\nfrom explorer.ingest.fast import load_machine_code, read_documents_fast\n"
        "from explorer.ingest.open import open_source\nfrom explorer.ingest.reading import trace_of_documents\n"
        "load_machine_code()",
        "path = Path(sys.argv[1])\n"
        + _REPORT.format(trace="trace_of_documents(path, read_documents_fast(open_source(path)), '')"),
    ),
    "explorer, tolerant": (
        f"{_IMPORTS}\nfrom explorer.ingest.tolerant import read_documents\n"
        "from explorer.ingest.open import open_source\nfrom explorer.ingest.reading import trace_of_documents",
        "path = Path(sys.argv[1])\n"
        + _REPORT.format(trace="trace_of_documents(path, read_documents(open_source(path)), '')"),
    ),
    "explorer, fresh": (
        f"{_IMPORTS}\nfrom explorer.ingest import read_trace",
        _REPORT.format(trace="read_trace(Path(sys.argv[1]))"),
    ),
    "explorer, again": (
        f"{_IMPORTS}\nfrom explorer.ingest import open_trace\nopen_trace(Path(sys.argv[1]))",
        _REPORT.format(trace="open_trace(Path(sys.argv[1]))"),
    ),
    "explorer, opening again": (
        "from explorer.ingest import open_trace\nopen_trace(Path(sys.argv[1]))",
        "open_trace(Path(sys.argv[1]))",
    ),
    "hta": (
        "from hta.common.trace import Trace",
        "trace = Trace(trace_files={0: sys.argv[1]}, trace_dir='/')\ntrace.parse_traces(use_multiprocessing=False)",
    ),
    "tb": (
        "import tempfile\nfrom torch_tb_profiler.profiler.data import RunProfileData\n"
        "from torch_tb_profiler.io.cache import Cache",
        "data = RunProfileData.parse('worker', None, sys.argv[1], tempfile.mkdtemp())",
    ),
}
_PACKAGES = {
    "hta": ("HolisticTraceAnalysis==0.5.0", "pandas==2.3.3"),
    "tb": ("torch-tb-profiler==0.4.3", "tensorboard==2.21.0", "pandas==2.3.3"),
}


def python_of(tool: str, folder: Path) -> str:
    """The interpreter that a tool runs under; makes and fills its environment on first use."""
    if tool not in _PACKAGES:
        return sys.executable
    environment = folder / tool
    python = environment / "bin" / "python"
    if not (environment / "ready").exists():
        venv.create(environment, with_pip=True, clear=True)
        alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *_PACKAGES[tool]], check=True, env=alone)
        (environment / "ready").touch()
    return str(python)


def measure(tools: Sequence[str], path: Path, folder: Path) -> dict[str, Measured | str]:
    """Seconds and memory of every tool's fastest reading, or why it failed."""
    fastest: dict[str, Measured] = {}
    failed: dict[str, str] = {}
    spent = dict.fromkeys(tools, 0.0)
    for _ in range(_MOST_READINGS):
        for tool in [tool for tool in tools if tool not in failed and spent[tool] < _WORTH_REPEATING_S]:
            one = _measure_fresh(path, folder) if tool == "explorer, fresh" else _measure_once(tool, path, folder)
            if isinstance(one, str):
                failed[tool] = one
                continue
            spent[tool] += one.seconds
            fastest[tool] = min(fastest.get(tool, one), one, key=lambda reading: reading.seconds)
    return {tool: failed[tool] if tool in failed else fastest[tool] for tool in tools}


def _measure_fresh(path: Path, folder: Path) -> Measured | str:
    """A reading before anything was compiled; waits for the compiler that it starts, for the sake of the next one."""
    with tempfile.TemporaryDirectory() as empty:
        found = _measure_once("explorer, fresh", path, folder, EXPLORER_MACHINE_CODE=empty)
        until = time.monotonic() + _LONGEST_COMPILATION_S
        while not list(Path(empty).glob("*/*.o")) and time.monotonic() < until:
            time.sleep(0.5)
    return found


def _measure_once(tool: str, path: Path, folder: Path, **environment: str) -> Measured | str:
    imports, work = _READINGS[tool]
    script = _OURS.format(imports=imports, work=work)
    ours = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment}
    worker = subprocess.Popen(
        [python_of(tool, folder), "-c", script, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ours if tool not in _PACKAGES else None,
    )
    assert worker.stdout
    assert worker.stderr
    said, complaint = worker.stdout.read(), worker.stderr.read()
    _, status, usage = os.wait4(worker.pid, 0)
    worker.returncode = os.waitstatus_to_exitcode(status)
    found = [line.split() for line in said.splitlines() if line.startswith("measured")]
    if not found:
        return (complaint.strip().splitlines() or ["no output"])[-1][:90]
    return Measured(float(found[0][1]), float(found[0][2]), usage.ru_maxrss * 1024)


def measure_perfetto(shell: Path, path: Path) -> Measured | str:
    """Perfetto's load, by its own shell."""
    query = Path(tempfile.gettempdir()) / "one.sql"
    query.write_text("select count(*) from slice;", encoding="utf-8")
    worker = subprocess.Popen(
        [str(shell), "-q", str(query), str(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert worker.stdout
    before = os.times()
    worker.stdout.read()
    _, status, usage = os.wait4(worker.pid, 0)
    seconds = os.times().elapsed - before.elapsed
    if status != 0:
        return f"exit status {status}"
    return Measured(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def compare(path: Path, event_count: int, tools: Sequence[str], asked: argparse.Namespace) -> bool:
    """Prints one table for one file and its limits below; whether all of them are met."""
    print(f"\n{path.name}: {event_count:,} events, {path.stat().st_size / 1e6:.1f} MB")
    print(f"{'':26}{'s':>8}{'CPU s':>8}{'s/M':>8}{'MB':>7}{'MB/M':>7}{'HTA s/s':>9}{'CPU s/s':>9}")
    found = measure(tools, path, asked.folder)
    if asked.trace_processor:
        found["perfetto"] = measure_perfetto(asked.trace_processor, path)
    slowest = found.get("hta")
    for tool, one in found.items():
        if isinstance(one, str):
            print(f"{tool:26}failed: {one}")
            continue
        ratios = ""
        if isinstance(slowest, Measured):
            ratios = f"{slowest.seconds / one.seconds:9.1f}{slowest.cpu_s / one.cpu_s:9.1f}"
        millions = event_count / 1e6
        print(
            f"{tool:26}{one.seconds:8.3f}{one.cpu_s:8.3f}{one.seconds / millions:8.2f}"
            f"{one.peak_bytes / 1e6:7.0f}{one.peak_bytes / 1e6 / millions:7.0f}{ratios}"
        )
    judged = list(verdicts({tool: one for tool, one in found.items() if isinstance(one, Measured)}, event_count))
    for verdict in judged:
        print(verdict.text)
    return all(verdict.is_met for verdict in judged) and not any(isinstance(one, str) for one in found.values())


def main() -> int:
    """Measures every tool on every file; the exit code."""
    parser = argparse.ArgumentParser(description="Compares readers of traces.")
    parser.add_argument("--events", type=int, nargs="*", default=[100_000, 1_000_000, 3_000_000])
    parser.add_argument("--traces", type=Path, nargs="*", default=[path for path in _REAL if path.exists()])
    parser.add_argument("--without", nargs="*", default=[], choices=list(_READINGS))
    parser.add_argument("--trace-processor", type=Path)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "explorer-benchmark")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("EXPLORER_CACHE", str(asked.folder / "cache"))
    subprocess.run([sys.executable, "-m", "explorer.ingest.compile_fast"], check=True)
    tools = [tool for tool in _READINGS if tool not in asked.without]
    all_met = True
    for count in asked.events:
        path = asked.folder / f"generated-{count}.json"
        if not path.exists():
            write_trace(path, count)
        all_met &= compare(path, count, tools, asked)
    for path in map(Path.resolve, asked.traces):
        counted = subprocess.run([sys.executable, "-c", _COUNT, str(path)], capture_output=True, text=True, check=True)
        all_met &= compare(path, json.loads(counted.stdout), tools, asked)
    return 0 if all_met else 1


_COUNT = "import sys; from pathlib import Path; from explorer.ingest import read_trace; " \
         "print(read_trace(Path(sys.argv[1])).source.event_count)"  # fmt: skip

if __name__ == "__main__":
    sys.exit(main())
