"""How does one way of compiling meet the sequence? `python -m explorer.engine.shapes_child RECORDING ASKED ANSWER`.

A process of its own: nothing that was compiled before is left, its caches are where its environment says, and what it
learns is written to ANSWER after every call, so that a failure loses nothing. ASKED is a Variant as JSON, or a word.
"""

from __future__ import annotations

import time

_STARTED_NS = time.perf_counter_ns()
import importlib  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
from dataclasses import asdict  # noqa: E402
from pathlib import Path  # noqa: E402
from types import TracebackType  # noqa: E402

import torch  # noqa: E402

from explorer.engine.shapes_missing import missing_of  # noqa: E402
from explorer.recording import open_recording, write_json  # noqa: E402
from explorer.shapes_results import EAGER, WHOLE_GRAPH  # noqa: E402
from explorer.shapes_settings import ShapesSettings, Variant  # noqa: E402


def main(arguments: list[str]) -> int:
    """Answers what is asked; what it raises is written down by `_record_uncaught` and ends it with code 1."""
    folder, asked, answer = Path(arguments[0]), arguments[1], Path(arguments[2])
    settings = open_recording(folder).experiment_settings()
    assert isinstance(settings, ShapesSettings)
    torch.set_grad_enabled(False)
    torch.set_float32_matmul_precision("highest")
    if asked == WHOLE_GRAPH:
        whole = importlib.import_module("explorer.engine.shapes_whole").whole_graph(settings)
        write_json(answer, asdict(whole))
        return 0
    is_eager = asked == EAGER
    variant = Variant(dynamic="false", scope="model", cache="cold") if is_eager else Variant(**json.loads(asked))
    _record_uncaught(variant, answer)
    # Dynamo comes in here, after the hook: importing it already makes the folder of its cache.
    calls = importlib.import_module("explorer.engine.shapes_calls")
    if settings.backend == "inductor" and not is_eager:
        # Seconds that would otherwise fall into the first call and hide what compiling takes there.
        stages = importlib.import_module("explorer.engine.compiler_stages")
        stages.import_compiler(torch.device(settings.device))
    caller = calls.Caller(settings, variant, lambda result: write_json(answer, asdict(result)))
    caller.note(import_ns=time.perf_counter_ns() - _STARTED_NS)
    caller.build()
    caller.call_eagerly()
    if not is_eager:
        caller.call_compiled()
        caller.call_again()
    return 0


def _record_uncaught(variant: Variant, answer: Path) -> None:
    """Makes an exception that nobody handles add what was missing to the answer; Python then exits with code 1."""

    def record(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        sys.__excepthook__(kind, error, trace)
        if isinstance(error, Exception):
            written = json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else {}
            write_json(answer, {"variant": asdict(variant), **written, "missing": asdict(missing_of(error))})

    sys.excepthook = record


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
