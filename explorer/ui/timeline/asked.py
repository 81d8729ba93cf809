"""What does a request ask for? Its parameters, checked; whatever is wrong becomes a sentence and a status."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from explorer.analysis.timeline_build import Step, Timeline
from explorer.analysis.timeline_rows import Row
from explorer.analysis.timeline_search import Matches
from explorer.errors import ExplorerError
from explorer.ui.timeline.patterns import Search, search
from explorer.ui.timeline.store import Shown, timeline_store

_LARGEST_TIME_NS = 2**60


class RequestError(ExplorerError):
    """A request that names something that is not there."""

    def __init__(self, sentence: str, http_status: int = 400) -> None:
        super().__init__(sentence)
        self.http_status = http_status


@dataclass(frozen=True)
class Asked:
    """The timeline that a request is about, and the request's own parameters."""

    request: Request
    shown: Shown
    timeline: Timeline

    def rows(self) -> list[Row]:
        """The rows named by `rows=0,3,4` (positions in the timeline), all where there is none."""
        named = self.request.query_params.get("rows")
        if named is None:
            return list(self.timeline.rows)
        try:
            return [self.timeline.rows[_position(text, len(self.timeline.rows))] for text in named.split(",") if text]
        except ValueError:
            raise RequestError("rows must be numbers of rows.") from None

    def row(self, parameter: str = "row") -> Row:
        """The row at the position that a parameter names."""
        return self.timeline.rows[position(self.request, parameter, len(self.timeline.rows))]

    def step(self) -> Step | None:
        """The step at the position that `step=` names, None where there is no such parameter."""
        if "step" not in self.request.query_params:
            return None
        return self.timeline.steps[position(self.request, "step", len(self.timeline.steps))]

    def matches(self) -> Matches | None:
        """What `pattern=` finds, or None where nothing is searched."""
        pattern = self.request.query_params.get("pattern")
        return self.search(pattern).matches if pattern else None

    def search(self, pattern: str) -> Search:
        """The search for a pattern in this timeline; the latest ones are remembered."""
        return timeline_store().remembered((self.shown.key, pattern), lambda: search(self.timeline, pattern))


def asked_timeline(request: Request) -> Asked:
    """The timeline behind the id in the address; a 404 for one that never was or has ended."""
    shown = shown_under(request.path_params["timeline_id"])
    return Asked(request, shown, timeline_store().timeline(shown))


def shown_under(timeline_id: str) -> Shown:
    """What stands behind an id; a 404 for one that never was or has ended."""
    shown = timeline_store().shown(timeline_id)
    if shown is None:
        raise RequestError("This view has ended. Reload the page.", 404)
    return shown


def integer(request: Request, name: str) -> int:
    """The whole number in a parameter."""
    text = request.query_params.get(name, "")
    try:
        value = int(text)
    except ValueError:
        raise RequestError(f"{name} must be a whole number, not {text[:40]!r}.") from None
    if abs(value) > _LARGEST_TIME_NS:
        raise RequestError(f"{name} is too large.")
    return value


def position(request: Request, name: str, count: int) -> int:
    """The number in a parameter, from 0 to `count` - 1."""
    value = integer(request, name)
    if not 0 <= value < count:
        raise RequestError(f"{name} is {value}; there are {count}.", 404)
    return value


def _position(text: str, count: int) -> int:
    value = int(text)
    if not 0 <= value < count:
        raise ValueError(text)
    return value
