"""Which timelines can a route show, under which id? Built once a trace, shared by all sessions.

The id of a bundled recording is public and stays the same. Every other id is a random token that one session was
given; it stops working when that session ends, and it cannot be guessed.
"""

from __future__ import annotations

import functools
import hashlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st

from explorer.analysis.timeline_build import Timeline, build_timeline
from explorer.ui.answers import trace_of
from explorer.ui.sources import Source
from explorer.ui.timeline.patterns import Search

KEPT_TIMELINES = 8
"""Timelines kept in memory; one that was dropped is built again when it is asked for."""
KEPT_SEARCHES = 32
_TOKEN_BYTES = 24


@dataclass(frozen=True)
class Shown:
    """What stands behind an id: a source, and the key under which its timeline is kept."""

    key: str
    source: Source


@dataclass
class TimelineStore:
    """Ids and the timelines behind them. Safe to use from any thread."""

    _shown: dict[str, Shown] = field(default_factory=dict)
    _timelines: OrderedDict[str, Timeline] = field(default_factory=OrderedDict)
    _building: dict[str, threading.Lock] = field(default_factory=dict)
    _searches: OrderedDict[tuple[str, str], Search] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def publish(self, source: Source) -> str:
        """The public id of a bundled recording."""
        shown = _shown(source)
        public = f"sample-{hashlib.sha256(shown.key.encode()).hexdigest()[:16]}"
        with self._lock:
            self._shown[public] = shown
        return public

    def lend(self, source: Source) -> str:
        """A new random id of any other source, valid until `revoke`."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        with self._lock:
            self._shown[token] = _shown(source)
        return token

    def revoke(self, tokens: list[str]) -> None:
        """Ends these ids."""
        with self._lock:
            for token in tokens:
                self._shown.pop(token, None)

    def shown(self, timeline_id: str) -> Shown | None:
        """What stands behind an id, or None for one that never was or has ended."""
        with self._lock:
            return self._shown.get(timeline_id)

    def timeline(self, shown: Shown) -> Timeline:
        """The timeline of a source's trace, built by the first who asks while others wait; raises TraceError."""
        with self._lock:
            building = self._building.setdefault(shown.key, threading.Lock())
        with building:
            with self._lock:
                if shown.key in self._timelines:
                    self._timelines.move_to_end(shown.key)
                    return self._timelines[shown.key]
            timeline = build_timeline(trace_of(shown.source))
            with self._lock:
                self._timelines[shown.key] = timeline
                while len(self._timelines) > KEPT_TIMELINES:
                    dropped, _ = self._timelines.popitem(last=False)
                    self._building.pop(dropped, None)
            return timeline

    def remembered(self, key: tuple[str, str], find: Callable[[], Search]) -> Search:
        """The search kept under (trace key, pattern), made when it is new; the latest ones are kept."""
        with self._lock:
            known = self._searches.get(key)
        if known is not None:
            return known
        made = find()
        with self._lock:
            self._searches[key] = made
            while len(self._searches) > KEPT_SEARCHES:
                self._searches.popitem(last=False)
        return made


@functools.cache
def timeline_store() -> TimelineStore:
    """The one store of this server, for pages and routes."""
    return TimelineStore()


def timeline_of(source: Source) -> Timeline:
    """The timeline of a source; raises TraceError when it has no trace that can be read."""
    return timeline_store().timeline(_shown(source))


def timeline_id(source: Source) -> str:
    """The id under which this session may look at a source."""
    if source.kind == "sample":
        return timeline_store().publish(source)
    held, key = _session_tokens(), _shown(source).key
    if key not in held:
        held[key] = timeline_store().lend(source)
    return held[key]


@st.cache_resource(
    scope="session",
    show_spinner=False,
    on_release=lambda held: timeline_store().revoke(list(held.values())),
)
def _session_tokens() -> dict[str, str]:
    """The tokens of this session by source; Streamlit releases them when the session ends."""
    return {}


def _shown(source: Source) -> Shown:
    return Shown(f"{source.source_id} {source.stamp}", source)
