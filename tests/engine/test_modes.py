"""Does a cold start add up, whatever else the machine does meanwhile?"""

from __future__ import annotations

import pytest

from explorer.engine import modes
from explorer.engine.workload import build_workload, open_weights
from explorer.settings import RunSettings


@pytest.mark.parametrize(
    ("calls_ns", "compile_ns"),
    [
        pytest.param([100, 20, 10], 90, id="calm"),
        pytest.param([100, 20, 80], 60, id="late repetition"),
        pytest.param([100, 20, 130], 60, id="repetition later than the first call"),
    ],
)
def test_compiling_takes_no_less_than_its_stages(
    monkeypatch: pytest.MonkeyPatch, calls_ns: list[int], compile_ns: int
) -> None:
    settings = RunSettings(mode="compile", batch_size=1, context_tokens=4, cache_tokens=8)
    calls = iter(calls_ns)
    monkeypatch.setattr(modes, "compiled_step", lambda workload: workload.model.next_logits)
    monkeypatch.setattr(modes, "host_ns", lambda *_: next(calls))
    monkeypatch.setattr(modes, "stage_sums", lambda: {"dynamo": 20, "inductor": 40})
    cold_start = modes.prepare(build_workload(settings, open_weights(settings)))[1]
    assert (cold_start.first_call_ns, cold_start.compile_ns) == (100, compile_ns)
    assert cold_start.compile_stage_ns == {"dynamo": 20, "inductor": 40}
