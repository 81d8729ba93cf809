"""How fast is a trace read, against the tools that people have? Seconds and peak memory, all in one run on one machine.

    python tests/benchmarks/ingest.py
    python tests/benchmarks/ingest.py --events 100000 --without hta tb
    python tests/benchmarks/ingest.py --trace FILE --trace-processor PATH/TO/trace_processor_shell

HTA and torch-tb-profiler are installed into environments of their own, in `--folder`, on first use. Every reading is a
process of its own; its seconds start after its imports, its memory is the process' peak. CPU seconds stand beside wall
seconds, since another load on the machine changes only these.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.generate import write_trace

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


@dataclass(frozen=True)
class Measured:
    """One reading of one file."""

    seconds: float
    cpu_s: float
    peak_bytes: int


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


def measure(tool: str, path: Path, folder: Path) -> Measured | str:
    """Seconds and memory of one reading, or why it failed."""
    imports, work = _READINGS[tool]
    script = _OURS.format(imports=imports, work=work)
    worker = subprocess.Popen(
        [python_of(tool, folder), "-c", script, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])} if tool not in _PACKAGES else None,
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


def compare(path: Path, event_count: int, tools: Sequence[str], asked: argparse.Namespace) -> None:
    """Prints one table for one file."""
    print(f"\n{path.name}: {event_count:,} events, {path.stat().st_size / 1e6:.1f} MB")
    print(f"{'':26}{'s':>8}{'CPU s':>8}{'CPU s/M':>9}{'MB':>7}{'MB/M':>7}   of HTA")
    found = {tool: measure(tool, path, asked.folder) for tool in tools}
    if asked.trace_processor:
        found["perfetto"] = measure_perfetto(asked.trace_processor, path)
    slowest = found.get("hta")
    for tool, one in found.items():
        if isinstance(one, str):
            print(f"{tool:26}failed: {one}")
            continue
        millions = event_count / 1e6
        ratio = f"1/{slowest.cpu_s / one.cpu_s:.1f}" if isinstance(slowest, Measured) else ""
        print(
            f"{tool:26}{one.seconds:8.2f}{one.cpu_s:8.2f}{one.cpu_s / millions:9.2f}"
            f"{one.peak_bytes / 1e6:7.0f}{one.peak_bytes / 1e6 / millions:7.0f}   {ratio}"
        )


def main() -> None:
    """Measures every tool on every file."""
    parser = argparse.ArgumentParser(description="Compares readers of traces.")
    parser.add_argument("--events", type=int, nargs="*", default=[100_000, 1_000_000, 3_000_000])
    parser.add_argument("--trace", type=Path, action="append", default=[])
    parser.add_argument("--without", nargs="*", default=[], choices=list(_READINGS))
    parser.add_argument("--trace-processor", type=Path)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "explorer-benchmark")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "explorer.ingest.compile_fast"], check=True)
    tools = [tool for tool in _READINGS if tool not in asked.without]
    for count in asked.events:
        path = asked.folder / f"generated-{count}.json"
        if not path.exists():
            write_trace(path, count)
        compare(path, count, tools, asked)
    for path in asked.trace:
        counted = subprocess.run([sys.executable, "-c", _COUNT, str(path)], capture_output=True, text=True, check=True)
        compare(path, json.loads(counted.stdout), tools, asked)


_COUNT = "import sys; from pathlib import Path; from explorer.ingest import read_trace; " \
         "print(read_trace(Path(sys.argv[1])).source.event_count)"  # fmt: skip

if __name__ == "__main__":
    main()
