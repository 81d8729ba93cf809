"""Which questions can the browser ask about a timeline, and what does each answer hold?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from starlette.requests import Request

from explorer.analysis.timeline_jumps import longest_gap, longest_work, next_match, ordinal_in_step, same_work
from explorer.analysis.timeline_measure import measure, step_sentence
from explorer.analysis.timeline_search import found
from explorer.analysis.timeline_story import story as event_story
from explorer.ui.timeline.asked import Asked, RequestError, integer, position
from explorer.ui.timeline.words import Answer, measured_json, place_json, story_json
from explorer.units import text

_MOST_NAMES = 4096
_MOST_RANKS = 1000


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


def story(asked: Asked, request: Request) -> Answer:
    """Everything about event `event=` of row `row=`."""
    row = asked.row()
    event = position(request, "event", row.count)
    return story_json(event_story(asked.timeline, integer(request, "row"), event))


def step(asked: Asked, request: Request) -> Answer:
    """What step `step=` is, in half a sentence; the whole trace without one."""
    del request
    return {"text": step_sentence(asked.timeline, asked.step())}


def search(asked: Asked, request: Request) -> Answer:
    """Count and total of what `pattern=` finds."""
    searched = asked.search(request.query_params.get("pattern", ""))
    tables = found(asked.timeline, searched.matches)
    return {
        "note": searched.note,
        "found": [
            {
                "table": each.table,
                "count": each.count,
                "text": f"{text(each.count, 'count')} · {text(each.total_ns, 'ns')}",
            }
            for each in tables
        ],
    }


def match(asked: Asked, request: Request) -> Answer:
    """The match of `pattern=` after (`forward=1`) or before the time `after=`."""
    matches = asked.search(request.query_params.get("pattern", "")).matches
    forward = request.query_params.get("forward", "1") == "1"
    return {"place": place_json(next_match(asked.timeline, matches, integer(request, "after"), forward=forward))}


def longest(asked: Asked, request: Request) -> Answer:
    """The `rank=`-th longest `what=` (kernel or gap) that starts between `start=` and `end=`."""
    rank = position(request, "rank", _MOST_RANKS)
    jump = longest_gap if request.query_params.get("what") == "gap" else longest_work
    return {"place": place_json(jump(asked.timeline, rank, integer(request, "start"), integer(request, "end")))}


def measured(asked: Asked, request: Request) -> Answer:
    """Busy, idle by part and kernel count between `start=` and `end=`, by device."""
    start, end = integer(request, "start"), integer(request, "end")
    if end <= start:
        raise RequestError("The interval must have a length.")
    return {"devices": [measured_json(each, end - start) for each in measure(asked.timeline, start, end)]}


def ordinal(asked: Asked, request: Request) -> Answer:
    """The name of a kernel and its place among its like in step `step=`, to find it in another run."""
    row = asked.row()
    event = position(request, "event", row.count)
    if row.table != "work":
        raise RequestError("Only GPU work can be looked for in the other run.")
    work_row = int(row.table_rows(np.array([event]))[0])
    name, place = ordinal_in_step(asked.timeline, work_row, asked.step())
    return {"name": name, "ordinal": place}


def same(asked: Asked, request: Request) -> Answer:
    """The kernel called `name=` that is the `ordinal=`-th of its like in step `step=`."""
    place = same_work(asked.timeline, request.query_params.get("name", ""), integer(request, "ordinal"), asked.step())
    return {"place": place_json(place)}


QUESTIONS: Mapping[str, Callable[[Asked, Request], Answer]] = MappingProxyType(
    {
        "rows": rows,
        "names": names,
        "story": story,
        "step": step,
        "search": search,
        "match": match,
        "longest": longest,
        "measure": measured,
        "ordinal": ordinal,
        "same": same,
    }
)
