"""How does one way of compiling meet the sequence? `python -m explorer.engine.shapes_child RECORDING VARIANT ANSWER`.

A process of its own: nothing that was compiled before is left, its caches are where its environment says, and what it
learns is written to ANSWER after every call, so that a failure loses nothing. VARIANT is a Variant as JSON.
"""

from __future__ import annotations

import time

_STARTED_NS = time.perf_counter_ns()
import json  # noqa: E402
import sys  # noqa: E402
from dataclasses import asdict, replace  # noqa: E402
from pathlib import Path  # noqa: E402
from types import TracebackType  # noqa: E402

import torch  # noqa: E402
import torch._dynamo  # noqa: E402

_IMPORT_NS = time.perf_counter_ns() - _STARTED_NS

from explorer.engine.shapes_calls import Caller  # noqa: E402
from explorer.engine.shapes_missing import missing_of  # noqa: E402
from explorer.engine.shapes_whole import whole_graph  # noqa: E402
from explorer.recording import open_recording, write_json  # noqa: E402
from explorer.shapes_results import WHOLE_GRAPH, VariantResult  # noqa: E402
from explorer.shapes_settings import ShapesSettings, Variant  # noqa: E402


def main(arguments: list[str]) -> int:
    """Makes one variant; what it raises is written down by `_record_uncaught` and ends it with code 1."""
    folder, asked, answer = Path(arguments[0]), arguments[1], Path(arguments[2])
    settings = open_recording(folder).experiment_settings()
    assert isinstance(settings, ShapesSettings)
    torch.set_grad_enabled(False)
    torch.set_float32_matmul_precision("highest")
    torch._dynamo.config.recompile_limit = settings.recompile_limit
    if asked == WHOLE_GRAPH:
        write_json(answer, asdict(whole_graph(settings)))
        return 0
    caller = Caller(settings, Variant(**json.loads(asked)), lambda result: write_json(answer, asdict(result)))
    caller.note(import_ns=_IMPORT_NS)
    _record_uncaught(caller)
    caller.build()
    caller.call_eagerly()
    caller.call_compiled()
    caller.call_again()
    return 0


def _record_uncaught(caller: Caller) -> None:
    """Makes an exception that nobody handles leave what was missing in the answer; Python then exits with code 1."""

    def record(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        sys.__excepthook__(kind, error, trace)
        if isinstance(error, Exception):
            result: VariantResult = replace(caller.result, missing=missing_of(error))
            caller.write(result)

    sys.excepthook = record


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
