"""Which questions can the browser ask about a timeline, and what does each answer hold?"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from starlette.requests import Request

from explorer.ui.timeline.asked import Asked, RequestError

Answer = dict[str, Any]
_MOST_NAMES = 4096


def rows(asked: Asked, request: Request) -> Answer:
    """Every row with its palette, the steps, and the time that the trace spans."""
    del request
    timeline = asked.timeline
    return {
        "start_ns": timeline.start_ns,
        "end_ns": timeline.end_ns,
        "steps": [{"label": step.label, "start_ns": step.start_ns, "end_ns": step.end_ns} for step in timeline.steps],
        "rows": [
            {
                "key": row.name.key,
                "kind": row.name.kind,
                "label": row.name.label,
                "group": row.name.group,
                "depth": row.name.depth,
                "table": row.table,
                "palette": row.palette,
                "count": row.count,
            }
            for row in timeline.rows
        ],
    }


def names(asked: Asked, request: Request) -> Answer:
    """The names behind `codes=1,5,9` of `table=`."""
    table = request.query_params.get("table", "")
    words = next((row.names.words for row in asked.timeline.rows if row.table == table), None)
    if words is None:
        raise RequestError("This trace has no such table.", 404)
    try:
        codes = [int(text) for text in request.query_params.get("codes", "").split(",") if text][:_MOST_NAMES]
        return {"names": {str(code): words[code] for code in codes if code >= 0}}
    except (ValueError, IndexError):
        raise RequestError("codes must be numbers of names.") from None


QUESTIONS: MappingProxyType[str, Callable[[Asked, Request], Answer]] = MappingProxyType(
    {
        "rows": rows,
        "names": names,
    }
)
