"""Which keys of an event does anybody look at? Everything else is skipped without becoming an object.

`Event` is what profilers write; `Phased` is the same told apart by its phase, so that of flow arrows and counters
nothing but the category is looked at. `LooseEvent` takes the same keys with values of any kind (numbers as strings,
floats as ids, lists as names), and `event_of` makes an Event of it.
"""

from __future__ import annotations

import json
import math
from typing import Any, ClassVar, Union

import msgspec
from msgspec import Raw, field

NOTHING = Raw(b"")
Label = int | str | None
"""A process, thread, device or stream: a number or a text."""
Tick = int | float | str | None
"""A number of microseconds; a text holds the digits of one that a float would round."""


class Arguments(msgspec.Struct, gc=False):
    """The `args` of an event."""

    correlation: int | None = None
    external_id: int | None = field(default=None, name="External id")
    external_id_2021: int | None = field(default=None, name="external id")
    input_dims: Raw = field(default=NOTHING, name="Input Dims")
    input_strides: Raw = field(default=NOTHING, name="Input Strides")
    input_types: Raw = field(default=NOTHING, name="Input type")
    kernel_file: str | None = None
    device: Label = None
    stream: Label = None
    queue: Label = field(default=None, name="sycl queue")
    grid: Raw = NOTHING
    block: Raw = NOTHING
    registers: int | None = field(default=None, name="registers per thread")
    shared_memory: int | None = field(default=None, name="shared memory")
    occupancy: float | None = field(default=None, name="est. achieved occupancy %")
    copied_bytes: int | None = field(default=None, name="bytes")
    communicator: Raw = field(default=NOTHING, name="Comms Id")
    name: str | None = None  # of process_name and thread_name metadata
    labels: str | None = None  # of process_labels metadata


class _Values(msgspec.Struct, gc=False):
    cat: str | None = None
    name: str | None = None
    pid: Label = None
    tid: Label = None
    ts: Tick = None
    dur: Tick = None
    args: Arguments | None = None


class Event(_Values, gc=False):
    """One entry of `traceEvents`."""

    ph: str | None = None


class Complete(_Values, gc=False, tag_field="ph", tag="X"):
    """An event with a start and a duration."""

    ph: ClassVar[str] = "X"


class Metadata(_Values, gc=False, tag_field="ph", tag="M"):
    """The name of a process or a thread."""

    ph: ClassVar[str] = "M"


class _Counted(msgspec.Struct, gc=False):
    cat: str | None = None
    ph: ClassVar[str]


_COUNTED = tuple(
    msgspec.defstruct(f"Counted{number}", (), bases=(_Counted,), namespace={"ph": phase}, gc=False, tag_field="ph",
                      tag=phase)
    for number, phase in enumerate("BEiICbnesStTfFpPNODVvRc")
)  # fmt: skip
"""All other phases of the format."""
Phased = Complete | Metadata | _Counted
PHASED: Any = Union[(Complete, Metadata, *_COUNTED)]
"""What a decoder is asked for to get `Phased`."""


class LooseArguments(msgspec.Struct, gc=False):
    """As Arguments, with values of any kind."""

    correlation: Raw = NOTHING
    external_id: Raw = field(default=NOTHING, name="External id")
    external_id_2021: Raw = field(default=NOTHING, name="external id")
    input_dims: Raw = field(default=NOTHING, name="Input Dims")
    input_strides: Raw = field(default=NOTHING, name="Input Strides")
    input_types: Raw = field(default=NOTHING, name="Input type")
    kernel_file: Raw = NOTHING
    device: Raw = NOTHING
    stream: Raw = NOTHING
    queue: Raw = field(default=NOTHING, name="sycl queue")
    grid: Raw = NOTHING
    block: Raw = NOTHING
    registers: Raw = field(default=NOTHING, name="registers per thread")
    shared_memory: Raw = field(default=NOTHING, name="shared memory")
    occupancy: Raw = field(default=NOTHING, name="est. achieved occupancy %")
    copied_bytes: Raw = field(default=NOTHING, name="bytes")
    communicator: Raw = field(default=NOTHING, name="Comms Id")
    name: Raw = NOTHING
    labels: Raw = NOTHING


class LooseEvent(msgspec.Struct, gc=False):
    """As Event, with values of any kind."""

    ph: str | None = None
    cat: str | None = None
    name: Raw = NOTHING
    pid: Raw = NOTHING
    tid: Raw = NOTHING
    ts: Raw = NOTHING
    dur: Raw = NOTHING
    args: LooseArguments | None = None


def event_of(loose: LooseEvent) -> Event:
    """The event as far as its values can be understood; what cannot is taken as missing."""
    return Event(
        ph=loose.ph,
        cat=loose.cat,
        name=_text(loose.name),
        pid=_text(loose.pid),
        tid=_text(loose.tid),
        ts=_text(loose.ts),
        dur=_text(loose.dur),
        args=None if loose.args is None else _arguments_of(loose.args),
    )


def _arguments_of(loose: LooseArguments) -> Arguments:
    return Arguments(
        correlation=_whole(loose.correlation),
        external_id=_whole(loose.external_id),
        external_id_2021=_whole(loose.external_id_2021),
        input_dims=loose.input_dims,
        input_strides=loose.input_strides,
        input_types=loose.input_types,
        kernel_file=_text(loose.kernel_file),
        device=_text(loose.device),
        stream=_text(loose.stream),
        queue=_text(loose.queue),
        grid=loose.grid,
        block=loose.block,
        registers=_whole(loose.registers),
        shared_memory=_whole(loose.shared_memory),
        occupancy=_number(loose.occupancy),
        copied_bytes=_whole(loose.copied_bytes),
        communicator=loose.communicator,
        name=_text(loose.name),
        labels=_text(loose.labels),
    )


def _text(token: Raw) -> str | None:
    text = bytes(token).decode("utf-8", "backslashreplace")
    if text in ("", "null"):
        return None
    return str(json.loads(text, strict=False)) if text[0] == '"' else text


def _whole(token: Raw) -> int | None:
    text = _text(token)
    try:
        return None if text is None else int(text)
    except ValueError:
        number = _number(token)
        return None if number is None else int(number)


def _number(token: Raw) -> float | None:
    text = _text(token)
    try:
        number = math.nan if text is None else float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
