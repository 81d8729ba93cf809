"""What did a run pay before its first answer, and after how many steps is that paid back?

From facts.json alone: building, loading the compiler, the first call with the compiler's stages told apart, capturing,
warming up. The correctness check and the calibration are ours and no part of a start. What of compiling no stage
explains is "compiling, rest": guards, loading of code, first launches. Older recordings know no stages.
"""

from __future__ import annotations

import math
import statistics

from explorer.facts import Facts

RUN_START_LABELS = {
    "build": "build and load",
    "import": "import",
    "dynamo": "Dynamo",
    "aot_autograd": "AOTAutograd",
    "inductor": "Inductor",
    "kernels": "kernels",
    "autotune": "autotune",
    "compile": "compiling",
    "compile_rest": "compiling, rest",
    "first_call": "first call, rest",
    "capture": "capture",
    "warm_up": "warm-up",
}


def run_start_parts(facts: Facts) -> dict[str, int]:
    """The cold start of a run by part, ns; parts that did not take place are left out."""
    cold = facts.cold_start
    first_ns = cold.first_call_ns if cold else None
    stages = cold.compile_stage_ns if cold else {}
    staged_ns = sum(stages.values())
    # Older recordings on a busy machine may say less than their stages took.
    compile_ns = max((cold.compile_ns if cold else None) or 0, staged_ns)
    parts = {
        "build": facts.stage_ns.get("build"),
        "import": cold.compiler_import_ns if cold else None,
        **{stage: time_ns or None for stage, time_ns in stages.items()},
        "compile_rest" if stages else "compile": compile_ns - staged_ns or None,
        "first_call": None if first_ns is None else first_ns - compile_ns,
        "capture": cold.capture_ns if cold else None,
        "warm_up": facts.stage_ns.get("warm_up"),
    }
    return {part: time_ns for part, time_ns in parts.items() if time_ns is not None}


def first_answer_ns(facts: Facts) -> int | None:
    """Building and the first call, ns: the time to the first token; None where a run did not come so far."""
    cold = facts.cold_start
    build_ns, first_ns = facts.stage_ns.get("build"), cold.first_call_ns if cold else None
    if build_ns is None or first_ns is None or cold is None:
        return None
    return build_ns + (cold.compiler_import_ns or 0) + first_ns


def step_ns(facts: Facts) -> float | None:
    """Median latency of a steady step, ns; None without any."""
    return statistics.median(facts.steady_latencies_ns) if facts.steady_latencies_ns else None


def run_payback_count(slow: Facts, fast: Facts) -> int | None:
    """Steps after which `fast` has made up for its longer start; None when it never does or that is unknown."""
    step_slow, step_fast = step_ns(slow), step_ns(fast)
    start_slow, start_fast = run_start_parts(slow), run_start_parts(fast)
    if step_slow is None or step_fast is None or step_fast >= step_slow or not start_slow or not start_fast:
        return None
    longer_ns = sum(start_fast.values()) - sum(start_slow.values())
    return max(0, math.ceil(longer_ns / (step_slow - step_fast)))
