"""What does the app answer over plain HTTP? The timeline's data and files; no page script runs for it.

    /api/timeline/plotly/VERSION/plotly.min.js     plotly.js of the installed package, cached for a year
    /api/timeline/assets/HASH/NAME                 the component's modules and style, cached for a year
    /api/timeline/ID/view?start=&end=&width=&rows= what to draw, as in wire.py
    /api/timeline/ID/QUESTION?...                  the questions of answers.py, as JSON
    /api/timeline/ID/trace                         the profiler's own file
    /api/timeline/ID/tensorboard?with=ID           a zip of the folder that TensorBoard opens, with one run or more

Handlers are plain functions: Starlette runs them in threads, so a query never holds up the page or another session.
"""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from pathlib import Path
from threading import BoundedSemaphore

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from explorer.analysis.timeline_detail import Window, details
from explorer.charts.plotly_script import plotly_script
from explorer.errors import ExplorerError
from explorer.ui.tensorboard import ZIP_NAME, tensorboard_zip
from explorer.ui.timeline.answers import QUESTIONS
from explorer.ui.timeline.asked import Asked, asked_timeline, integer, shown_under
from explorer.ui.timeline.wire import pack_details

PREFIX = "/api/timeline"
ASSETS = Path(__file__).parent / "timeline" / "assets"
WIDEST_PX = 16384
_QUERIES = BoundedSemaphore(2)
"""More at once answer nobody sooner, since they share one interpreter, and a page's script would wait behind all."""
_YEAR = {"Cache-Control": "public, max-age=31536000, immutable"}
_NEVER = {"Cache-Control": "no-store"}
_TYPES = {".js": "text/javascript", ".css": "text/css"}


def timeline_routes() -> list[BaseRoute]:
    """The routes for `st.App(routes=...)`."""
    return [
        Route(f"{PREFIX}/plotly/{{version}}/plotly.min.js", plotly_file),
        Route(f"{PREFIX}/assets/{{digest}}/{{name}}", asset_file),
        Route(f"{PREFIX}/{{timeline_id}}/view", view),
        Route(f"{PREFIX}/{{timeline_id}}/trace", trace_file),
        Route(f"{PREFIX}/{{timeline_id}}/tensorboard", tensorboard_file),
        Route(f"{PREFIX}/{{timeline_id}}/{{question}}", answer),
    ]


def plotly_address() -> str:
    """The address of plotly.js, under the page's own root."""
    return f"{PREFIX}/plotly/{plotly_script()[1]}/plotly.min.js"


def asset_address(name: str) -> str:
    """The address of one of the component's files; it changes whenever any of them does."""
    return f"{PREFIX}/assets/{_assets_digest()}/{name}"


def plotly_file(request: Request) -> Response:
    """plotly.js, compressed once."""
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers = {**_YEAR, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return Response(_packed_plotly(), media_type="text/javascript", headers=headers)
    return FileResponse(plotly_script()[0], media_type="text/javascript", headers=_YEAR)


def asset_file(request: Request) -> Response:
    """One of the component's own files, by its exact name."""
    name = request.path_params["name"]
    if name not in _asset_names():
        return _refused(404, "There is no such file.")
    path = ASSETS / name
    fresh = request.path_params["digest"] == _assets_digest()
    return FileResponse(path, media_type=_TYPES[path.suffix], headers=_YEAR if fresh else _NEVER)


def view(request: Request) -> Response:
    """Rectangles and blocks of the asked rows in the asked window."""
    try:
        asked = asked_timeline(request)
        window = Window(integer(request, "start"), integer(request, "end"), integer(request, "width"))
        if window.end_ns <= window.start_ns or not 0 < window.width_px <= WIDEST_PX:
            return _refused(400, "The window must have a length and a width.")
        with _QUERIES:
            packed = pack_details(details(asked.rows(), window), window, asked.matches())
    except ExplorerError as problem:
        return _refused(_status(problem), str(problem))
    return Response(packed, media_type="application/octet-stream", headers=_NEVER)


def answer(request: Request) -> Response:
    """The JSON answer to one of the questions of answers.py."""
    question = QUESTIONS.get(request.path_params["question"])
    if question is None:
        return _refused(404, "There is no such question.")
    try:
        return JSONResponse(question(asked_timeline(request), request), headers=_NEVER)
    except ExplorerError as problem:
        return _refused(_status(problem), str(problem))


def trace_file(request: Request) -> Response:
    """The trace as the profiler wrote it, for other viewers and for saving."""
    try:
        asked: Asked = asked_timeline(request)
    except ExplorerError as problem:
        return _refused(_status(problem), str(problem))
    path = asked.shown.source.trace_path
    media_type = "application/gzip" if path.suffix == ".gz" else "application/json"
    return FileResponse(path, media_type=media_type, filename=path.name, headers=_NEVER)


def tensorboard_file(request: Request) -> Response:
    """The runs behind the id in the address and those in `with=`, for TensorBoard's profiler plugin."""
    ids = [request.path_params["timeline_id"], *request.query_params.getlist("with")]
    try:
        packed = tensorboard_zip([shown_under(timeline_id).source for timeline_id in ids])
    except ExplorerError as problem:
        return _refused(_status(problem), str(problem))
    headers = {**_NEVER, "Content-Disposition": f'attachment; filename="{ZIP_NAME}"'}
    return Response(packed, media_type="application/zip", headers=headers)


def _status(problem: ExplorerError) -> int:
    return getattr(problem, "http_status", 400)


def _refused(status: int, sentence: str) -> Response:
    return JSONResponse({"problem": sentence}, status_code=status, headers=_NEVER)


@cache
def _packed_plotly() -> bytes:
    return gzip.compress(plotly_script()[0].read_bytes(), 6)


@cache
def _asset_names() -> frozenset[str]:
    return frozenset(path.name for path in ASSETS.iterdir() if path.suffix in _TYPES)


@cache
def _assets_digest() -> str:
    digest = hashlib.sha256()
    for name in sorted(_asset_names()):
        digest.update(name.encode() + (ASSETS / name).read_bytes())
    return digest.hexdigest()[:16]
