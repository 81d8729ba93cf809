"""How is a Trace written as a profiler's JSON again, in the words that torch-tb-profiler knows?

Written from the tables and not copied from the file: so repaired uploads open too, steps are called `ProfilerStep#N`,
runtime calls have the category of 2021 (without it every operator's device time is 0 there), and the GPU shadows of
annotations, which that plugin counts as steps once more, are not in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from explorer.trace import Trace

_BATCH_ROWS = 20_000
_MOST_DEVICES = 64
"""The plugin keeps one slot a device and has this many."""


def document_texts(trace: Trace) -> Iterator[str]:
    """The JSON document piece by piece."""
    devices = {scope: number for number, scope in enumerate(trace.devices()[:_MOST_DEVICES])}
    yield '{"schemaVersion": 1,\n"deviceProperties": '
    yield json.dumps(_device_properties(trace, devices))
    if trace.source.rank is not None:
        info = {"backend": "nccl", "rank": trace.source.rank, "world_size": trace.source.world_size or 1}
        yield f',\n"distributedInfo": {json.dumps(info)}'
    yield ',\n"traceEvents": [\n'
    separator = ""
    for event in _events(trace, devices):
        yield separator + json.dumps(event, separators=(",", ":"))
        separator = ",\n"
    yield "\n]}\n"


def _device_properties(trace: Trace, devices: dict[str, int]) -> list[dict[str, Any]]:
    names = trace.source.device_names or ("GPU",) * len(devices)
    return [{"id": number, "name": names[min(number, len(names) - 1)]} for number in devices.values()]


def _events(trace: Trace, devices: dict[str, int]) -> Iterator[dict[str, Any]]:
    external_ids = trace.operators["external_id"]
    for row in _rows(trace.annotations):
        name = f"ProfilerStep#{row['index']}" if row["kind"] == "step" else row["name"]
        yield _host_event(row, "user_annotation", name)
    for place, row in enumerate(_rows(trace.operators)):
        yield _host_event(row, "cpu_op", row["name"], **_operator_arguments(row, place))
    for row in _rows(trace.calls):
        operator = row["operator_row"]
        external = 0 if operator is None else _external_id(external_ids, operator)
        yield _host_event(
            row, "Runtime", row["name"], **{"correlation": row["correlation"] or 0, "External id": external}
        )
    for row in _rows(trace.work):
        if row["device"] in devices:
            external = 0 if row["operator_row"] is None else _external_id(external_ids, row["operator_row"])
            yield _work_event(row, devices[row["device"]], external)


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
        yield from batch.to_pylist()


def _external_id(external_ids: pa.ChunkedArray, row: int) -> int:
    """The operator's own id; where the file gave none, its row stands for it."""
    given = external_ids[row].as_py()
    return int(given) if given is not None else row + 1


def _us(time_ns: int) -> float:
    return time_ns / 1000


def _host_event(row: dict[str, Any], category: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": row["process"],
        "tid": row["thread"],
        "ts": _us(row["start_ns"]),
        "dur": _us(row["end_ns"] - row["start_ns"]),
        "args": arguments,
    }


def _operator_arguments(row: dict[str, Any], place: int) -> dict[str, Any]:
    arguments: dict[str, Any] = {"External id": row["external_id"] if row["external_id"] is not None else place + 1}
    for key, column in (("Input Dims", "input_dims"), ("Input type", "input_types")):
        if row[column]:
            try:
                arguments[key] = json.loads(row[column])
            except ValueError:  # not a list: the plugin does without
                continue
    return arguments


def _work_event(row: dict[str, Any], device: int, external_id: int) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "device": device,
        "stream": row["stream"] or "0",
        "correlation": row["correlation"] or 0,
        "External id": external_id,
        "bytes": row["copied_bytes"],
        "registers per thread": row["registers_per_thread"],
        "shared memory": row["shared_memory_bytes"],
        "grid": _sizes(row["grid"]),
        "block": _sizes(row["block"]),
    }
    if row["occupancy_ratio"] is not None:
        arguments["est. achieved occupancy %"] = row["occupancy_ratio"] * 100
    return {
        "ph": "X",
        "cat": {"kernel": "Kernel", "memcpy": "gpu_memcpy", "memset": "gpu_memset"}[row["kind"]],
        "name": row["name"],
        "pid": device,
        "tid": f"stream {row['stream'] or 0}",
        "ts": _us(row["start_ns"]),
        "dur": _us(row["end_ns"] - row["start_ns"]),
        "args": {key: value for key, value in arguments.items() if value is not None},
    }


def _sizes(text: str | None) -> list[int] | None:
    if not text or not all(part.isdigit() for part in text.split(",")):
        return None
    return [int(part) for part in text.split(",")]
