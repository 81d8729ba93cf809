"""How is a trace typed as a drawing? One character is 10 us, one run of a character one event.

    steps      000000000111111111      step#0 and step#1
    operators  aaaaaa...bbbb.....      aten::a and aten::b; more such rows nest inside
    host       .AA..!!...BB......      launches A and B, a blocking call between them
    stream 7   ...aaaa.....bbb...      the work that A and B launched

| row | characters |
|---|---|
| `host`, `host 2` (a thread) | letters: launches; `!` synchronise, `$` allocate, `%` copy and wait, `~` another call |
| `stream 7`, `gpu1 stream 7` | letters: kernels, launched by the same letter; `?` a kernel without a launch |
| `operators`, `operators 2`, `compile` | letters: operators; Dynamo's cache look-ups |
| `copies 9` (a stream), `pageable 9` | letters: copies, launched by the same letter |
| `steps`, `layers` | digits |

Runs of one letter pair with its launches in order; a launch with several pieces left over is a graph launch. `K` is
work of an `L`, as in style.md.
"""

from __future__ import annotations

import itertools
import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explorer.ingest import read_trace
from explorer.trace import Trace

CHARACTER_US = 10
CHARACTER_NS = 10_000
PROCESS = 4242
_ROW = re.compile(r"^\s*(?P<name>\S.*?)\s+(?P<cells>\S+)\s*$")
_CALLS = {"!": "cudaDeviceSynchronize", "$": "cudaMalloc", "~": "cudaEventRecord", "%": "cudaMemcpy"}
_COPY_NAMES = {"copies": "Memcpy HtoD (Pinned -> Device)", "pageable": "Memcpy DtoH (Device -> Pageable)"}


@dataclass(frozen=True)
class Run:
    """One event of a drawing; start and end in characters."""

    character: str
    start: int
    end: int


def draw(drawing: str) -> Trace:
    """The trace that a drawing shows, read as any file is."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drawn.json"
        path.write_text(json.dumps(drawn_document(drawing)), encoding="utf-8")
        return read_trace(path)


def drawn_document(drawing: str) -> dict[str, Any]:
    """The drawing as a profiler's JSON document."""
    rows = [(match["name"], match["cells"]) for line in drawing.splitlines() if (match := _ROW.match(line))]
    events = list(_host_events(rows))
    launches: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        if "letter" in event:
            event["args"]["correlation"] = event["args"]["External id"] = 1 + sum(map(len, launches.values()))
            launches.setdefault(event.pop("letter"), []).append(event)
    return {"traceEvents": [*events, *_work_events(rows, launches)]}


def drawn_ranks(*drawings: str) -> Trace:
    """The trace of a file that holds the drawings one after the other, as ranks of one job on one clock."""
    documents = [
        {**drawn_document(drawing), "baseTimeNanoseconds": 0, "distributedInfo": {"rank": rank}}
        for rank, drawing in enumerate(drawings)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drawn.json"
        path.write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
        return read_trace(path)


def runs(cells: str) -> Iterator[Run]:
    """The runs of one character, without the dots."""
    position = 0
    for character, group in itertools.groupby(cells):
        length = len(list(group))
        if character != ".":
            yield Run(character, position, position + length)
        position += length


def _host_events(rows: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    for name, cells in rows:
        kind, _, number = name.partition(" ")
        for run in runs(cells):
            if kind == "host":
                yield _call(run, number or "1")
            elif kind == "operators":
                yield _event("cpu_op", f"aten::{run.character}", run, PROCESS, number or "1")
            elif kind == "compile":
                yield _event("cpu_op", "TorchDynamo Cache Lookup", run, PROCESS, number or "1")
            elif kind in ("steps", "layers"):
                yield _event("user_annotation", f"{kind[:-1]}#{run.character}", run, PROCESS, "1")


def _call(run: Run, thread: str) -> dict[str, Any]:
    if run.character in _CALLS:
        return _event("cuda_runtime", _CALLS[run.character], run, PROCESS, thread)
    call = _event("cuda_runtime", "cudaLaunchKernel", run, PROCESS, thread)
    return {**call, "letter": run.character.upper()}


def _work_events(rows: list[tuple[str, str]], launches: dict[str, list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    taken: dict[str, int] = {}
    works = [
        (run, name)
        for name, cells in rows
        if name.split()[-2:-1] and name.split()[-2] in ("stream", *_COPY_NAMES)
        for run in runs(cells)
    ]
    for run, name in sorted(works, key=lambda work: work[0].start):
        kind, stream = name.split()[-2:]
        device = name.split()[0].removeprefix("gpu") if name.startswith("gpu") else "0"
        category = "kernel" if kind == "stream" else "gpu_memcpy"
        event = _event(category, _COPY_NAMES.get(kind, f"kernel_{run.character}"), run, device, stream)
        event["args"] = {"device": int(device), "stream": int(stream)}
        letter = "L" if run.character == "K" else run.character.upper()
        if letter in launches:
            call = launches[letter][min(taken.get(letter, 0), len(launches[letter]) - 1)]
            taken[letter] = taken.get(letter, 0) + 1
            event["args"]["correlation"] = call["args"]["correlation"]
        yield event


def _event(category: str, name: str, run: Run, process: int | str, thread: str) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": process,
        "tid": int(thread),
        "ts": run.start * CHARACTER_US,
        "dur": (run.end - run.start) * CHARACTER_US,
        "args": {},
    }
