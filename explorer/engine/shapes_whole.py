"""Does the function fit into one graph? What explain counts, and what fullgraph=True says."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo

from explorer.engine.shapes_subjects import build_subject
from explorer.shapes_results import GraphBreak, WholeGraph
from explorer.shapes_settings import ShapesSettings
from explorer.torch_trace_log import short_path

_PLACE = re.compile(r'File "([^"]+)", line (\d+)')


def whole_graph(settings: ShapesSettings) -> WholeGraph:
    """Explains the first call of the sequence; nothing is generated and nothing is measured."""
    subject = build_subject(settings, "none", "model")
    arguments = subject.arguments(0, settings.sizes[-1])
    explained = torch._dynamo.explain(subject.plain())(*arguments)
    torch._dynamo.reset()
    refusal, line = _fullgraph_refusal(subject.plain(), subject.arguments(0, settings.sizes[-1]))
    return WholeGraph(
        graph_count=explained.graph_count,
        break_count=explained.graph_break_count,
        # Explain closes its list with the end of the last graph, which is no break.
        breaks=[_break(reason) for reason in explained.break_reasons[: explained.graph_break_count]],
        refusal=refusal,
        refusal_line=line,
    )


def _break(reason: Any) -> GraphBreak:
    frame = reason.user_stack[-1] if reason.user_stack else None
    return GraphBreak(
        compile_id="",
        reason=str(reason.reason).strip().splitlines()[0],
        file=short_path(frame.filename) if frame else "",
        line=frame.lineno if frame else None,
        source=(frame.line or "") if frame else "",
    )


def _fullgraph_refusal(function: Any, arguments: tuple[Any, ...]) -> tuple[str, int | None]:
    try:
        compiled: Callable[..., Any] = torch.compile(function, fullgraph=True, backend="eager")
        compiled(*arguments)
    except torch._dynamo.exc.TorchDynamoException as problem:
        text = str(problem)
        places = _PLACE.findall(text.split("from user code", 1)[-1])
        return text.strip().splitlines()[0], int(places[-1][1]) if places else None
    return "", None
