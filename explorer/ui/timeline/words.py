"""How do answers about the timeline become JSON with finished texts? Numbers are written here, not in the browser."""

from __future__ import annotations

from typing import Any

from explorer.analysis.timeline_measure import Measured
from explorer.analysis.timeline_places import Place
from explorer.analysis.timeline_story import Entry, Story
from explorer.charts.theme import FAMILY_LABELS, IDLE_LABELS
from explorer.units import UNKNOWN, exact, text

Answer = dict[str, Any]
_KIND_LABELS = {
    "step": "step",
    "layer": "layer",
    "annotation": "mark",
    "gaps": "gap",
    "stream": "GPU work",
    "copies": "copy",
    "operators": "operator",
    "calls": "host call",
}


def story_json(story: Story) -> Answer:
    """A story with its texts; `exact` is for the hover, `reason` says why something is unknown."""
    labels = {**FAMILY_LABELS, **IDLE_LABELS}
    return {
        "name": labels.get(story.name, story.name),
        "kind": _KIND_LABELS[story.kind],
        "colour": story.colour,
        "family": labels.get(story.colour, ""),
        "place": place_json(story.place),
        "launched_by": place_json(story.launched_by),
        "launches": place_json(story.launches),
        "sections": [
            {"title": section.title, "entries": [_entry_json(entry) for entry in section.entries]}
            for section in story.sections
        ],
    }


def place_json(place: Place | None) -> Answer | None:
    """Where an event is."""
    if place is None:
        return None
    return {"row": place.row_index, "event": place.event, "start_ns": place.start_ns, "end_ns": place.end_ns}


def measured_json(measured: Measured, length_ns: int) -> Answer:
    """One device's share of an interval."""
    return {
        "device": measured.device,
        "kernel_count": text(measured.kernel_count, "count"),
        "busy": text(measured.busy_ns, "ns"),
        "busy_share": text(measured.busy_ns / length_ns, "ratio"),
        "idle": text(sum(measured.idle_ns.values()), "ns"),
        "outside": text(measured.outside_ns, "ns") if measured.outside_ns else "",
        "parts": [
            {"part": part, "label": IDLE_LABELS[part], "text": text(value, "ns"), "exact": exact(value, "ns")}
            for part, value in sorted(measured.idle_ns.items(), key=lambda each: -each[1])
        ],
    }


def _entry_json(entry: Entry) -> Answer:
    label = IDLE_LABELS.get(entry.part, entry.label)
    if isinstance(entry.value, str) or entry.value is None:
        return {"label": label, "text": entry.value or UNKNOWN, "exact": "", "reason": entry.reason, "part": entry.part}
    return {
        "label": label,
        "text": text(entry.value, entry.unit),
        "exact": exact(entry.value, entry.unit),
        "reason": "",
        "part": entry.part,
    }
