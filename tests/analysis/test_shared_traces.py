"""Do all shared traces give the figures that a separate program computed, to the nanosecond?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.analysis.idle import PARTS
from explorer.analysis.machine_output import report_object
from explorer.analysis.metrics import METRIC_KEYS
from explorer.analysis.windows import WindowKind
from explorer.trace import Trace
from tests.goldens.make_steps import GOLDEN, figures_of
from tests.shared import expected_of_traces, needs_shared, read_json, shared_traces

SAMPLES = sorted((Path(__file__).parents[2] / "traces" / "samples").glob("*/trace.json.gz"))
TRACES = pytest.mark.parametrize("path", shared_traces(), ids=lambda path: path.name.removesuffix(".json.gz"))
Read = Callable[[Path], Trace]


@needs_shared
@TRACES
def test_whole_trace_agrees_with_the_separate_program(path: Path, read: Read) -> None:
    expected = expected_of_traces()[path.name]

    devices = {one["device"]: one["metrics"] for one in report_object(read(path), "trace")["devices"]}

    assert devices.keys() == expected.keys()
    for device, metrics in expected.items():
        assert {key: devices[device][key] for key in metrics} == metrics


@needs_shared
@TRACES
def test_figures_over_steps_are_those_once_looked_at(path: Path, read: Read) -> None:
    assert figures_of(read(path)) == read_json(GOLDEN)[path.name]


@pytest.mark.parametrize("path", [*shared_traces(), *SAMPLES], ids=lambda path: f"{path.parent.name}-{path.name}")
@pytest.mark.parametrize("window", ["trace", "steps"])
def test_parts_add_up_to_idle_in_every_window(path: Path, window: WindowKind, read: Read) -> None:
    found = report_object(read(path), window)

    for device in found["devices"]:
        for metrics in [device["metrics"], *(step["metrics"] for step in device.get("steps", []))]:
            assert tuple(metrics) == METRIC_KEYS
            assert sum(metrics[f"{part}_ns"] for part in PARTS) == metrics["idle_ns"]
            assert metrics["busy_ns"] + metrics["idle_ns"] == metrics["span_ns"]
            assert min(metrics.values()) >= 0


@needs_shared
@TRACES
def test_steps_add_up_to_their_device(path: Path, read: Read) -> None:
    for device in report_object(read(path), "steps")["devices"]:
        for key, total in device["metrics"].items():
            if "steps" in device:
                assert sum(step["metrics"][key] for step in device["steps"]) == total
