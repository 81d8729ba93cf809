"""Which keys of an event does anybody look at? Everything else is skipped without becoming an object.

Values stay raw: numbers keep their digits, strings are decoded once a word, and a number written as a string or a
string where a number belongs is no error yet.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, field

NOTHING = Raw(b"")


class Arguments(msgspec.Struct, gc=False):
    """The `args` of an event."""

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
    name: Raw = NOTHING  # of process_name and thread_name metadata
    labels: Raw = NOTHING  # of process_labels metadata


class Event(msgspec.Struct, gc=False):
    """One entry of `traceEvents`."""

    ph: str | None = None
    cat: str | None = None
    name: Raw = NOTHING
    pid: Raw = NOTHING
    tid: Raw = NOTHING
    ts: Raw = NOTHING
    dur: Raw = NOTHING
    args: Arguments | None = None
