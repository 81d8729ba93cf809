"""How are a gigabyte's events read in a second or two? One compiled pass over each block, from text to columns.

Whatever is unusual (numbers as strings, negative durations, begin and end events, broken text) is REFUSED: the
tolerant reader then takes the whole file. So accepting something wrongly is a bug here, and refusing never is.
"""

from __future__ import annotations

import numpy as np

from explorer.ingest.categories import FIRST_WORK_KIND
from explorer.ingest.digits import parse_float
from explorer.ingest.event_scan import (
    ARGS,
    BLOCK,
    CAT,
    COMMUNICATOR,
    COPIED_BYTES,
    DEVICE,
    DUR,
    GRID,
    INPUT_DIMS,
    INPUT_STRIDES,
    INPUT_TYPES,
    KERNEL_FILE,
    NAME,
    OCCUPANCY,
    PH,
    PID,
    QUEUE,
    REGISTERS,
    SHARED_MEMORY,
    STREAM,
    TID,
    TS,
    end_of,
    forget_spans,
    scan_event,
    start_of,
)
from explorer.ingest.interning import FULL, code_of_token
from explorer.ingest.json_scan import CLOSE_BRACKET, COMMA, OPEN_BRACE, QUOTE, skip_space
from explorer.ingest.memory import compiled, load_byte, load_long, store_byte, store_double, store_long
from explorer.ingest.rows import (
    CATEGORY_COUNTS,
    HOST_CODES_AT,
    HOST_COUNT,
    HOST_KINDS,
    HOST_LONGS_AT,
    KIND_ROOM,
    KINDS,
    METADATA_AT,
    METADATA_COUNT,
    METADATA_ROOM,
    NOT_KEPT,
    OCCUPANCY_AT,
    ROW_ROOM,
    UNKNOWN_CATEGORY,
    UNRESOLVED,
    WORK_CODES_AT,
    WORK_COUNT,
    WORK_KINDS,
    WORK_LONGS_AT,
)
from explorer.ingest.writing import (
    LONG_COLUMN,
    OK,
    is_null,
    is_odd_label,
    write_common,
    write_integer,
    write_label,
    write_token,
)

MORE_TEXT, LIST_CLOSED, ROWS_FULL, TOKENS_FULL, NEW_CATEGORY, REFUSED = 0, 1, 2, 3, 4, 5
"""Why a scan returned. After ROWS_FULL, TOKENS_FULL and NEW_CATEGORY it goes on with the same event."""

_COMPLETE, _METADATA, _BEGIN, _END = 88, 77, 66, 69
_CODE_COLUMN = 4 * ROW_ROOM
"""Bytes from one column of codes to the next."""


@compiled
def _add_host(spans: int, kind: int, tokens: int, rows: int) -> int:
    row = load_long(rows + HOST_COUNT)
    if row == ROW_ROOM:
        return ROWS_FULL
    codes = load_long(rows + HOST_CODES_AT) + 4 * row
    full = write_token(spans, NAME, tokens, codes)
    full |= write_label(spans, PID, tokens, codes + _CODE_COLUMN)
    full |= write_label(spans, TID, tokens, codes + 2 * _CODE_COLUMN)
    full |= write_token(spans, INPUT_DIMS, tokens, codes + 3 * _CODE_COLUMN)
    full |= write_token(spans, INPUT_STRIDES, tokens, codes + 4 * _CODE_COLUMN)
    full |= write_token(spans, INPUT_TYPES, tokens, codes + 5 * _CODE_COLUMN)
    full |= write_token(spans, KERNEL_FILE, tokens, codes + 6 * _CODE_COLUMN)
    if full != OK:
        return TOKENS_FULL
    store_byte(load_long(rows + HOST_KINDS) + row, kind)
    if not write_common(spans, load_long(rows + HOST_LONGS_AT) + 8 * row):
        return REFUSED
    store_long(rows + HOST_COUNT, row + 1)
    return OK


@compiled
def _add_work(spans: int, kind: int, tokens: int, rows: int) -> int:
    row = load_long(rows + WORK_COUNT)
    if row == ROW_ROOM:
        return ROWS_FULL
    if is_odd_label(spans, DEVICE) or is_odd_label(spans, STREAM) or is_odd_label(spans, QUEUE):
        return REFUSED
    for key in (DEVICE, STREAM, QUEUE):
        if start_of(spans, key) != 0 and is_null(spans, key):
            return REFUSED
    codes = load_long(rows + WORK_CODES_AT) + 4 * row
    queue = QUEUE if start_of(spans, QUEUE) != 0 else TID
    full = write_token(spans, NAME, tokens, codes)
    full |= write_label(spans, PID, tokens, codes + _CODE_COLUMN)
    full |= write_label(spans, DEVICE if start_of(spans, DEVICE) != 0 else PID, tokens, codes + 2 * _CODE_COLUMN)
    full |= write_label(spans, STREAM if start_of(spans, STREAM) != 0 else queue, tokens, codes + 3 * _CODE_COLUMN)
    full |= write_token(spans, GRID, tokens, codes + 4 * _CODE_COLUMN)
    full |= write_token(spans, BLOCK, tokens, codes + 5 * _CODE_COLUMN)
    full |= write_label(spans, COMMUNICATOR, tokens, codes + 6 * _CODE_COLUMN)
    if full != OK:
        return TOKENS_FULL
    store_byte(load_long(rows + WORK_KINDS) + row, kind)
    longs = load_long(rows + WORK_LONGS_AT) + 8 * row
    is_plain = write_common(spans, longs)
    is_plain &= write_integer(spans, REGISTERS, longs + 4 * LONG_COLUMN)
    is_plain &= write_integer(spans, SHARED_MEMORY, longs + 5 * LONG_COLUMN)
    is_plain &= write_integer(spans, COPIED_BYTES, longs + 6 * LONG_COLUMN)
    occupancy = parse_float(start_of(spans, OCCUPANCY), end_of(spans, OCCUPANCY))
    if not is_plain or occupancy == np.inf:
        return REFUSED
    store_double(load_long(rows + OCCUPANCY_AT) + 8 * row, occupancy)
    store_long(rows + WORK_COUNT, row + 1)
    return OK


@compiled
def _add_metadata(event: int, behind: int, rows: int) -> int:
    row = load_long(rows + METADATA_COUNT)
    if row == METADATA_ROOM:
        return ROWS_FULL
    place = load_long(rows + METADATA_AT) + 16 * row
    store_long(place, event)
    store_long(place + 8, behind)
    store_long(rows + METADATA_COUNT, row + 1)
    return OK


@compiled
def _phase(spans: int) -> int:
    """The event's phase letter; 0 for what the tolerant reader has to decide."""
    start = start_of(spans, PH)
    if start == 0 or load_byte(start) != QUOTE or end_of(spans, PH) != start + 3:
        return 0
    letter, category, arguments = load_byte(start + 1), start_of(spans, CAT), start_of(spans, ARGS)
    if letter in (_BEGIN, _END) or (letter == _COMPLETE and category == 0):
        return 0
    if category != 0 and load_byte(category) != QUOTE:
        return 0
    if arguments != 0 and load_byte(arguments) != OPEN_BRACE and load_byte(arguments) != 110:
        return 0
    return letter


@compiled
def _is_complete(spans: int) -> bool:
    """Whether an event has a time, a duration, a name and a plain process and thread."""
    if start_of(spans, TS) == 0 or start_of(spans, DUR) == 0:
        return False
    if is_null(spans, NAME) or is_null(spans, PID) or is_null(spans, TID):
        return False
    return not (is_odd_label(spans, PID) or is_odd_label(spans, TID))


@compiled
def _add_event(event: int, behind: int, spans: int, tokens: int, rows: int) -> int:
    """Writes the event's row, if any table takes it; a status of those above, OK when it is done."""
    letter = _phase(spans)
    if letter == 0:
        return REFUSED
    key = CAT if start_of(spans, CAT) != 0 else PH
    category = code_of_token(start_of(spans, key), end_of(spans, key) - start_of(spans, key), tokens)
    if category == FULL:
        return TOKENS_FULL
    kind = UNRESOLVED
    if category < load_long(rows + KIND_ROOM):
        kind = load_byte(load_long(rows + KINDS) + category)
        kind = kind - 256 if kind >= 128 else kind
    if kind == UNRESOLVED:
        store_long(rows + UNKNOWN_CATEGORY, category)
        return NEW_CATEGORY
    status = OK
    if letter == _COMPLETE and kind != NOT_KEPT:
        if not _is_complete(spans):
            return REFUSED
        if kind < FIRST_WORK_KIND:
            status = _add_host(spans, kind, tokens, rows)
        else:
            status = _add_work(spans, kind, tokens, rows)
    elif letter == _METADATA:
        status = _add_metadata(event, behind, rows)
    if status == OK:
        count = load_long(rows + CATEGORY_COUNTS) + 8 * category
        store_long(count, load_long(count) + 1)
    return status


@compiled
def scan_block(address: int, end: int, is_first: bool, spans: int, tokens: int, rows: int) -> tuple[int, int, bool]:
    """(why it stopped, where to go on, whether that is the list's first event).

    `address` is behind the list's `[` or behind an event; `end` is the end of the text so far, with zeros behind it.
    `spans` is the address of SPANS_BYTES bytes, `tokens` and `rows` those of the layouts of a TokenTable and of
    RowBuffers.
    """
    while True:
        here = skip_space(address)
        byte = load_byte(here)
        if here >= end:
            return MORE_TEXT, address, is_first
        if byte == CLOSE_BRACKET:
            return LIST_CLOSED, here + 1, is_first
        if not is_first:
            if byte != COMMA:
                return REFUSED, here, is_first
            here = skip_space(here + 1)
            byte = load_byte(here)
        if byte != OPEN_BRACE:
            return (MORE_TEXT if here >= end else REFUSED), address, is_first
        forget_spans(spans)
        behind = scan_event(here, spans)
        if behind < 0:
            return (MORE_TEXT if -behind >= end else REFUSED), address, is_first
        status = _add_event(here, behind, spans, tokens, rows)
        if status != OK:
            return status, address, is_first
        address, is_first = behind, False
